// `tollgate directdebit`: files for the banks, and what comes back from them.
import { type Command, Option } from 'commander';
import {
  DEFAULT_CLEARING_DAYS,
  DEFAULT_DISPUTE_DAYS,
  type DirectEntry,
  directEntryOf,
  setDirectEntry,
} from '../directdebit/direct-entry.js';
import { exportFile } from '../directdebit/export.js';
import { DirectDebitFiles } from '../directdebit/files.js';
import { STATUS } from '../directdebit/files.sql.js';
import { importReturns } from '../directdebit/returns-file.js';
import { withDatabase } from '../gateway/connection.js';
import { openKeyProvider } from '../gateway/key-encryption.js';
import { readSettings, type Settings } from '../gateway/settings.js';
import type { Database } from '../postgres/database.js';
import { gatewayTime } from '../transactions/clock-administration.js';
import { AdministrationError } from '../values/administration-error.js';
import { DataKeys } from '../vault/keys.js';
import { id, wholeNumber } from './arguments.js';
import { operator } from './operator.js';
import { print, printTable } from './output.js';
import { ProgressBar } from './progress-bar.js';

const json = () => new Option('--json', 'print JSON, errors too');

const onDatabase = <Result>(work: (database: Database, settings: Settings) => Promise<Result>) => {
  const settings = readSettings();
  return withDatabase(settings, (database) => work(database, settings));
};

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
  addSetting(directdebit);
  addExport(directdebit);
  addImport(directdebit);
  directdebit
    .command('status')
    .description('show how many items wait, are being cleared, are cleared and were returned')
    .option('--merchant <id>', 'only this merchant', id)
    .addOption(json())
    .action(async (options) => {
      const { rows } = await onDatabase((database) =>
        database.query<object>(STATUS, [options.merchant ?? null]),
      );
      printTable(options, rows);
    });
}

function addSetting(directdebit: Command): void {
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
    .option('--simulated', 'let the simulated bank take the files all the same')
    .addOption(json())
    .action(async (options) => {
      const wish = {
        ...options,
        clearingDays: options.clearingDays ?? DEFAULT_CLEARING_DAYS,
        disputeDays: options.disputeDays ?? DEFAULT_DISPUTE_DAYS,
        simulated: options.simulated === true,
      };
      const entry = await onDatabase((database) =>
        setDirectEntry(database, options.merchant, wish, operator()),
      );
      printEntry(options, entry);
    });
  directdebit
    .command('show')
    .description('show how a merchant lodges with its bank')
    .requiredOption('--merchant <id>', 'the merchant', id)
    .addOption(json())
    .action(async (options) =>
      printEntry(options, await onDatabase((database) => directEntryOf(database, options.merchant))),
    );
}

function printEntry(options: { json?: boolean }, { organisationId: _, ...entry }: DirectEntry): void {
  const takenBy = entry.simulated ? 'the simulated bank' : entry.bank;
  print(
    options,
    entry,
    `Merchant ${entry.merchant} lodges as ${entry.userName} (${entry.userId}) with ${takenBy}; ` +
      `items clear after ${entry.clearingDays} business days and can be returned for ${entry.disputeDays} days.`,
  );
}

function addExport(directdebit: Command): void {
  directdebit
    .command('export')
    .description(
      'put every item that waits into a new file for the bank; what is in it can no longer be voided',
    )
    .requiredOption('--merchant <id>', 'the merchant', id)
    .requiredOption('--out <file>', 'where to write it; never overwrites another file')
    .option('--file <number>', 'write this earlier file again, byte for byte, instead', id)
    .addOption(json())
    .action(async (options) => {
      const { merchant, out, file: number } = options as { merchant: number; out: string; file?: number };
      const bar = new ProgressBar(`merchant ${merchant}`);
      const result = await onDatabase(async (database, settings) => {
        const keys = new DataKeys(database, await openKeyProvider(settings, database));
        const entry = await directEntryOf(database, merchant);
        const nowMs = await gatewayTime(database);
        const progress = (done: number, total: number) => bar.show(done, total);
        const files = new DirectDebitFiles(database, keys);
        return exportFile(files, entry, { out, number, nowMs, actor: operator(), progress });
      });
      bar.end();
      if (result === undefined) {
        print(options, { merchant, file: null, items: 0 }, 'Nothing waits, and no file was written.');
        return;
      }
      const { items, debitCents, creditCents, processingDay } = result.file;
      const shown = {
        merchant,
        file: result.file.number,
        items,
        debitCents,
        creditCents,
        processingDay,
        left: result.left,
        out,
      };
      const more = result.left === 0 ? '' : ` ${result.left} items did not fit: export once more.`;
      print(options, shown, `File ${shown.file} with ${items} items is in ${out}.${more}`);
    });
}

function addImport(directdebit: Command): void {
  directdebit
    .command('import-returns')
    .argument('<file>', 'the file with the items that the bank returned')
    .description(
      'decline what the bank returned; a file that is cut short or differs is refused, and importing one twice changes nothing',
    )
    .addOption(json())
    .action(async (file: string, options) => {
      const result = await onDatabase(async (database, settings) => {
        const keys = new DataKeys(database, await openKeyProvider(settings, database));
        const installation = await new DirectDebitFiles(database, keys).installation();
        const nowMs = await gatewayTime(database);
        const progress = (lines: number) => {
          if (process.stderr.isTTY) process.stderr.write(`\r${lines} lines`);
        };
        return importReturns(database, { installation, nowMs, actor: operator(), file, progress }).catch(
          (error: NodeJS.ErrnoException) => {
            throw error.syscall === undefined
              ? error
              : new AdministrationError(`${file} cannot be read (${error.code})`);
          },
        );
      });
      if (process.stderr.isTTY) process.stderr.write('\n');
      const sentences = [
        `${result.returned} of ${result.items} items are declined now, ${result.late} of them late.`,
        ...(result.returnedAlready > 0 ? [`${result.returnedAlready} had been returned before.`] : []),
        ...(result.refunded.length > 0
          ? [`Refunded although they came back: audits ${result.refunded.join(', ')}.`]
          : []),
        ...result.unmatched.map(
          ({ line, lodgementReference, reason }) => `Line ${line} ${lodgementReference}: ${reason}.`,
        ),
      ];
      print(options, result, sentences.join('\n'));
    });
}
