// `tollgate directdebit`: files for the banks, and what comes back from them.
import type { Command } from 'commander';
import type { DirectEntrySettings } from '../directdebit/aba-line.js';
import {
  DEFAULT_CLEARING_DAYS,
  DEFAULT_DISPUTE_DAYS,
  type DirectEntry,
  type DirectEntryWish,
  directEntryOf,
  setDirectEntry,
} from '../directdebit/direct-entry.js';
import { exportFile } from '../directdebit/export.js';
import { DirectDebitFiles } from '../directdebit/files.js';
import { STATUS } from '../directdebit/files.sql.js';
import { type ImportResult, importReturns } from '../directdebit/returns-file.js';
import { openKeyProvider } from '../gateway/key-encryption.js';
import { gatewayTime } from '../transactions/clock-administration.js';
import { AdministrationError } from '../values/administration-error.js';
import { DataKeys } from '../vault/keys.js';
import { id, wholeNumber } from './arguments.js';
import { operate } from './operator.js';
import { type Output, printing } from './output.js';
import { ProgressBar } from './progress-bar.js';

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
      .command('status')
      .description('show how many items wait, are being cleared, are cleared and were returned')
      .option('--merchant <id>', 'only this merchant', id),
    async ({ merchant }) => {
      const { rows } = await operate((database) => database.query<object>(STATUS, [merchant ?? null]));
      return { rows };
    },
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
    async ({
      merchant,
      ...options
    }: Partial<DirectEntryWish> & DirectEntrySettings & { merchant: number }) => {
      const wish = {
        ...options,
        clearingDays: options.clearingDays ?? DEFAULT_CLEARING_DAYS,
        disputeDays: options.disputeDays ?? DEFAULT_DISPUTE_DAYS,
        simulated: options.simulated === true,
      };
      return entryShown(
        await operate((database, operator) => setDirectEntry(database, merchant, wish, operator)),
      );
    },
  );
  printing(
    directdebit
      .command('show')
      .description('show how a merchant lodges with its bank')
      .requiredOption('--merchant <id>', 'the merchant', id),
    async ({ merchant }) => entryShown(await operate((database) => directEntryOf(database, merchant))),
  );
}

function entryShown({ organisationId: _, ...entry }: DirectEntry): Output {
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
      const result = await operate(async (database, operator, settings) => {
        const keys = new DataKeys(database, await openKeyProvider(settings, database));
        const entry = await directEntryOf(database, merchant);
        const nowMs = await gatewayTime(database);
        const progress = (done: number, total: number) => bar.show(done, total);
        const files = new DirectDebitFiles(database, keys);
        return exportFile(files, entry, { out, number, nowMs, actor: operator, progress });
      });
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
    async (file: string) => {
      const result = await operate(async (database, operator, settings) => {
        const keys = new DataKeys(database, await openKeyProvider(settings, database));
        const installation = await new DirectDebitFiles(database, keys).installation();
        const nowMs = await gatewayTime(database);
        const progress = (lines: number) => {
          if (process.stderr.isTTY) process.stderr.write(`\r${lines} lines`);
        };
        return importReturns(database, { installation, nowMs, actor: operator, file, progress }).catch(
          (error: NodeJS.ErrnoException) => {
            throw error.syscall === undefined
              ? error
              : new AdministrationError(`${file} cannot be read (${error.code})`);
          },
        );
      });
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
