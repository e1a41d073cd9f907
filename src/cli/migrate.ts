// `tollgate migrate`: brings the schema of the database up to date.
import type { Command } from 'commander';
import { connect } from '../gateway/connection.js';
import { readSettings } from '../gateway/settings.js';
import { Database } from '../postgres/database.js';
import { migrate } from '../postgres/migrations.js';
import { printing } from './output.js';

export function addMigrateCommand(program: Command): void {
  printing(
    program.command('migrate').description('bring the schema of the database up to date'),
    async () => {
      const connection = await connect(readSettings());
      const database = new Database(connection.url, { maxConnections: 1, patient: true });
      try {
        const applied = await migrate(database);
        const sentence = applied.length === 0 ? 'The schema is current.' : `Applied ${applied.join(', ')}.`;
        return { value: { applied }, sentence };
      } finally {
        await database.close();
        await connection.close();
      }
    },
  );
}
