// `tollgate journal`: who did what.
import type { Command } from 'commander';
import { type JournalFilter, readJournal } from '../admin/journal.js';
import { id } from './arguments.js';
import { operate } from './operator.js';
import { printing } from './output.js';

export function addJournalCommand(program: Command): void {
  printing(
    program
      .command('journal')
      .description('show who did what, the newest first')
      .option('--merchant <id>', 'only of this merchant', id)
      .option('--token <id>', 'only of this token', id)
      .option('--limit <count>', 'how many at most', id, 50),
    async (filter: JournalFilter) => ({
      rows: await operate((database) => readJournal(database, filter)),
    }),
  );
}
