// `tollgate directdebit`: files for the banks, and what comes back from them.
import type { Command } from 'commander';
import {
  type DirectEntryView,
  type DirectEntryWish,
  setDirectEntry,
  showDirectEntry,
} from '../../directdebit/direct-entry-tasks.js';
import {
  exportDirectDebits,
  importDirectDebitReturns,
  listDirectDebitFiles,
  showDirectDebitStatus,
} from '../../directdebit/directdebit-tasks.js';
import type { ImportResult } from '../../directdebit/files/returns-file.js';
import { id, wholeNumber } from '../arguments.js';
import { operate, operateWithKey } from '../operator.js';
import { type Output, printing } from '../output.js';
import { ProgressBar } from '../progress-bar.js';

function disputeDays(text: string): number {
  return wholeNumber(text, 3650);
}

function clearingDays(text: string): number {
  return wholeNumber(text, 30);
}

export function addDirectDebitCommands(program: Command): void {
  const directdebit = program
    .command('directdebit')
    .description('direct debit: files for the banks, and what they return');
  addSettings(directdebit);
  addExport(directdebit);
  addImport(directdebit);
  printing(
    directdebit
      .command('files')
      .description('list the files that were made for the bank, the newest first, and when their items clear')
      .requiredOption('--merchant <id>', 'the merchant', id)
      .option('--limit <count>', 'how many at most', id, 50),
    async ({ merchant, limit }: { merchant: number; limit: number }) => ({
      rows: await operate((database) => listDirectDebitFiles(database, merchant, limit)),
    }),
  );
  printing(
    directdebit
      .command('status')
      .description('show how many items wait, are being cleared, are cleared and were returned')
      .option('--merchant <id>', 'only this merchant', id),
    async ({ merchant }) => ({
      rows: await operate((database) => showDirectDebitStatus(database, merchant)),
    }),
  );
}

function addSettings(directdebit: Command): void {
  printing(
    directdebit
      .command('set')
      .description('say how a merchant lodges with its bank; without it the simulated bank takes its items')
      .requiredOption('--merchant <id>', 'the merchant', id)
      .requiredOption('--bank <letters>', 'the three letters of the bank, such as CBA')
      .requiredOption('--user-name <name>', 'the user name that the bank knows, up to 26 characters')
      .requiredOption('--user-id <digits>', 'the APCA user ID, six digits')
      .option('--description <text>', 'what the file is for, up to 12 characters', 'PAYMENTS')
      .requiredOption('--trace-bsb <bsb>', 'the BSB of the merchant’s own account')
      .requiredOption('--trace-account <number>', 'the number of the merchant’s own account')
      .requiredOption('--remitter <name>', 'the name on the customer’s statement, up to 16 characters')
      .option('--clearing-days <days>', 'business days until an item counts as cleared', clearingDays)
      .option('--dispute-days <days>', 'days during which a return is taken', disputeDays)
      .option('--simulated', 'let the simulated bank take the files all the same'),
    async ({ merchant, ...wish }: DirectEntryWish & { merchant: number }) =>
      entryShown(await operate((database, operator) => setDirectEntry(database, operator, merchant, wish))),
  );
  printing(
    directdebit
      .command('show')
      .description('show how a merchant lodges with its bank')
      .requiredOption('--merchant <id>', 'the merchant', id),
    async ({ merchant }) => entryShown(await operate((database) => showDirectEntry(database, merchant))),
  );
}

function entryShown(entry: DirectEntryView): Output {
  const takenBy = entry.simulated ? 'the simulated bank' : entry.bank;
  return {
    value: entry,
    sentence:
      `Merchant ${entry.merchant} lodges as ${entry.userName} (${entry.userId}) with ${takenBy}; ` +
      `items clear after ${entry.clearingDays} business days and can be returned for ${entry.disputeDays} days.`,
  };
}

function addExport(directdebit: Command): void {
  printing(
    directdebit
      .command('export')
      .description(
        'put every item that waits into a new file for the bank; what is in it can no longer be voided',
      )
      .requiredOption('--merchant <id>', 'the merchant', id)
      .requiredOption('--out <file>', 'where to write it; never overwrites another file')
      .option('--file <number>', 'write this earlier file again, byte for byte, instead', id),
    async ({ merchant, out, file: number }) => {
      const bar = new ProgressBar(`merchant ${merchant}`);
      const progress = (done: number, total: number) => bar.show(done, total);
      const result = await operateWithKey((database, operator, provider) =>
        exportDirectDebits(database, operator, provider, { merchant, out, number, progress }),
      );
      bar.end();
      if (result === undefined) {
        return {
          value: { merchant, file: null, items: 0 },
          sentence: 'Nothing waits, and no file was written.',
        };
      }
      const { left, file } = result;
      const { items, debitCents, creditCents, processingDay } = file;
      const more = left === 0 ? '' : ` ${left} items did not fit: export once more.`;
      return {
        value: { merchant, file: file.number, items, debitCents, creditCents, processingDay, left, out },
        sentence: `File ${file.number} with ${items} items is in ${out}.${more}`,
      };
    },
  );
}

function addImport(directdebit: Command): void {
  printing(
    directdebit
      .command('import-returns')
      .argument('<file>', 'the file with the items that the bank returned')
      .description(
        'decline what the bank returned; a file that is cut short or differs is refused, and importing one twice changes nothing',
      ),
    async (path: string) => {
      const progress = (lines: number) => {
        if (process.stderr.isTTY) process.stderr.write(`\r${lines} lines`);
      };
      const result = await operateWithKey((database, operator, provider) =>
        importDirectDebitReturns(database, operator, provider, { path, progress }),
      );
      if (process.stderr.isTTY) process.stderr.write('\n');
      return { value: result, sentence: sentencesOn(result).join('\n') };
    },
  );
}

function sentencesOn({
  items,
  returned,
  late,
  returnedAlready,
  refunded,
  unmatched,
}: ImportResult): string[] {
  return [
    `${returned} of ${items} items are declined now, ${late} of them late.`,
    ...(returnedAlready > 0 ? [`${returnedAlready} had been returned before.`] : []),
    ...(refunded.length > 0 ? [`Refunded although they came back: audits ${refunded.join(', ')}.`] : []),
    ...unmatched.map(
      ({ line, lodgementReference, reason }) => `Line ${line} ${lodgementReference}: ${reason}.`,
    ),
  ];
}
