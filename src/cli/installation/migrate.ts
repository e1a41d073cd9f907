// `tollgate migrate`: brings the schema of the database up to date.
import type { Command } from 'commander';
import { connect } from '../../gateway/database/connection.js';
import { readSettings } from '../../gateway/settings/settings.js';
import { Database } from '../../postgres/database.js';
import { migrate } from '../../postgres/schema.js';
import { printing } from '../output.js';

export function addMigrateCommand(program: Command): void {
  printing(
    program.command('migrate').description('bring the schema of the database up to date'),
    async () => {
      const settings = readSettings();
      const connection = await connect(settings, 'migrating');
      const database = new Database(connection.logins.migrating, { maxConnections: 1, patient: true });
      try {
        const { version, applied } = await migrate(database);
        const sentence =
          applied.length === 0
            ? `The schema is current, version ${version}.`
            : `Applied ${applied.join(', ')}: schema ready, version ${version}.`;
        return { value: { version, applied }, sentence };
      } finally {
        await database.close();
        await connection.close();
      }
    },
  );
}
