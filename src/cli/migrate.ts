// `tollgate migrate`: brings the schema of the database up to date.
import type { Command } from 'commander';
import { connect } from '../gateway/connection.js';
import { migrateDatabase } from '../gateway/migration.js';
import { readSettings } from '../gateway/settings.js';
import { Database } from '../postgres/database.js';
import { printing } from './output.js';

export function addMigrateCommand(program: Command): void {
  printing(
    program.command('migrate').description('bring the schema of the database up to date'),
    async () => {
      const settings = readSettings();
      const connection = await connect(settings, 'migrating');
      const database = new Database(connection.logins.migrating, { maxConnections: 1, patient: true });
      try {
        const { applied, sealedUsers } = await migrateDatabase(settings, database);
        const sentence = applied.length === 0 ? 'The schema is current.' : `Applied ${applied.join(', ')}.`;
        const sealed = sealedUsers.length === 0 ? '' : ` Users sealed: ${sealedUsers.join(', ')}.`;
        return {
          value: { applied, ...(sealedUsers.length > 0 && { sealedUsers }) },
          sentence: `${sentence}${sealed}`,
        };
      } finally {
        await database.close();
        await connection.close();
      }
    },
  );
}
