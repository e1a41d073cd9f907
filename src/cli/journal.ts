// `tollgate journal`: who did what.
import { type Command, Option } from 'commander';
import { withDatabase } from '../gateway/connection.js';
import { readSettings } from '../gateway/settings.js';
import { readJournal } from '../journal/journal.js';
import { id } from './arguments.js';
import { printTable } from './output.js';

export function addJournalCommand(program: Command): void {
  program
    .command('journal')
    .description('show who did what, the newest first')
    .option('--merchant <id>', 'only of this merchant', id)
    .option('--token <id>', 'only of this token', id)
    .option('--limit <count>', 'how many at most', id, 50)
    .addOption(new Option('--json', 'print JSON'))
    .action(async (options) => {
      const { merchant: merchantId, token: tokenId, limit } = options;
      const entries = await withDatabase(readSettings(), (database) =>
        readJournal(database, { merchantId, tokenId, limit }),
      );
      printTable(options, entries);
    });
}
