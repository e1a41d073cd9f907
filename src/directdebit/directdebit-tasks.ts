// Direct debit as the operator runs it: files for the banks written, what they return imported, and how much of it waits.
import { gatewayTime } from '../clock/gateway-clock.js';
import { checkMerchant } from '../organisations/merchants.js';
import type { Database, Queryable } from '../postgres/database.js';
import { count, FLAG, ID, TEXT } from '../tasks/kinds.js';
import { needed, optional, task } from '../tasks/task.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import type { Cents } from '../values/money.js';
import { withJournalledKeys } from '../vault/keys/journalled-keys.js';
import type { DoingWithKey, KeyProvider } from '../vault/keys/key-provider.js';
import { type DirectEntryView, directEntryOf, setDirectEntry, showDirectEntry } from './direct-entry.js';
import { DIRECT_DEBIT_FILES, DIRECT_DEBIT_STATUS } from './directdebit-tasks.sql.js';
import { exportFile } from './files/export.js';
import { DirectDebitFiles } from './files/files.js';
import { type ImportResult, importReturns } from './files/returns-file.js';

interface DirectDebitStatus {
  readonly merchant: MerchantId;
  readonly mode: Mode;
  readonly bank: string | null;
  readonly simulated: boolean;
  readonly waiting: number;
  readonly waitingSimulated: number;
  readonly waitingDebitCents: Cents;
  readonly waitingCreditCents: Cents;
  /** Those that wait and are kept out of files, because their account does not open. */
  readonly held: number;
  readonly clearing: number;
  readonly cleared: number;
  readonly returned: number;
  readonly files: number;
  readonly filesToWrite: number;
}

/** A file that was made for a bank. */
interface ListedFile {
  readonly merchant: MerchantId;
  readonly file: number;
  readonly made: Date;
  readonly processingDay: string;
  readonly items: number;
  readonly debitCents: Cents;
  readonly creditCents: Cents;
  readonly simulated: boolean;
  /** Null while it has never reached anybody. */
  readonly written: Date | null;
  /** When its items count as cleared; null once they have, or were returned. */
  readonly clears: Date | null;
}

/** Of every merchant, or of one; of the organisation, if there is one. */
export async function showDirectDebitStatus(
  database: Queryable,
  merchant?: number,
  fence?: OrganisationId,
): Promise<DirectDebitStatus[]> {
  await checkMerchant(database, merchant);
  const values = [merchant ?? null, fence ?? null];
  return (await database.query<DirectDebitStatus>(DIRECT_DEBIT_STATUS, values)).rows;
}

interface ExportWish {
  readonly merchant: number;
  /** Where to write it; nothing that is there is overwritten. */
  readonly out: string;
  /** A file that was made before; absent, a new one of what waits. */
  readonly number?: number | undefined;
  readonly progress?: (done: number, total: number) => void;
}

interface ImportWish {
  /** Where the bank's file is. */
  readonly path: string;
  readonly progress?: (lines: number) => void;
}

/** What is in a file can no longer be voided. No file where nothing waits. */
export async function exportDirectDebits(
  database: Database,
  actor: string,
  provider: KeyProvider,
  { merchant, out, number, progress = () => {} }: ExportWish,
) {
  const entry = await directEntryOf(database, merchant);
  const nowMs = await gatewayTime(database);
  const made = await withJournalledKeys(database, actor, provider, (keys) =>
    exportFile(new DirectDebitFiles(database, keys), entry, { out, number, nowMs, actor, progress }),
  );
  if (made === undefined) return { merchant, file: null, items: 0 };
  const { number: file, items, debitCents, creditCents, processingDay } = made.file;
  return { merchant, file, items, debitCents, creditCents, processingDay, left: made.left };
}

/** All of it or nothing; idempotent. */
export async function importDirectDebitReturns(
  database: Database,
  actor: string,
  provider: KeyProvider,
  { path, progress = () => {} }: ImportWish,
): Promise<ImportResult> {
  const nowMs = await gatewayTime(database);
  return withJournalledKeys(database, actor, provider, (keys) =>
    importReturns(database, { keys, nowMs, actor, path, progress }),
  );
}

const MERCHANT = needed(ID, '--merchant <id>', 'the merchant', { names: 'merchants' });

export const DIRECT_DEBIT = {
  name: 'directdebit',
  help: 'direct debit: files for the banks, and what they return',
  tasks: [
    task({
      name: 'directdebit set',
      help: 'say how a merchant lodges with its bank; without it the simulated bank takes its items',
      // Says to which account of the merchant the money goes.
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /directdebit/:merchant/settings',
      fresh: true,
      input: {
        merchant: MERCHANT,
        bank: needed(TEXT, '--bank <letters>', 'the three letters of the bank, such as CBA'),
        userName: needed(
          TEXT,
          '--user-name <name>',
          'the user name that the bank knows, up to 26 characters',
        ),
        userId: needed(TEXT, '--user-id <digits>', 'the APCA user ID, six digits'),
        description: optional(TEXT, '--description <text>', 'what the file is for, up to 12 characters', {
          default: 'PAYMENTS',
        }),
        traceBsb: needed(TEXT, '--trace-bsb <bsb>', 'the BSB of the merchant’s own account'),
        traceAccount: needed(TEXT, '--trace-account <number>', 'the number of the merchant’s own account'),
        remitter: needed(
          TEXT,
          '--remitter <name>',
          'the name on the customer’s statement, up to 16 characters',
        ),
        clearingDays: optional(
          count(30),
          '--clearing-days <days>',
          'business days until an item counts as cleared',
        ),
        disputeDays: optional(count(3_650), '--dispute-days <days>', 'days during which a return is taken'),
        simulated: optional(FLAG, '--simulated', 'let the simulated bank take the files all the same'),
      },
      run: ({ database, actor }, { merchant, ...wish }) => setDirectEntry(database, actor, merchant, wish),
      says: howItLodges,
    }),
    task({
      name: 'directdebit show',
      help: 'show how a merchant lodges with its bank',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /directdebit/:merchant/settings',
      input: { merchant: MERCHANT },
      run: ({ database }, { merchant }) => showDirectEntry(database, merchant),
      says: howItLodges,
    }),
    task({
      name: 'directdebit export',
      help: 'put every item that waits into a new file for the bank; what is in it can no longer be voided',
      role: 'operator',
      scope: 'organisation',
      byAccount: true,
      fresh: true,
      input: {
        merchant: MERCHANT,
        out: needed(TEXT, '--out <file>', 'where to write it; never overwrites another file'),
        number: optional(ID, '--file <number>', 'write this earlier file again, byte for byte, instead'),
      },
      run: async ({ database, actor, means, progress }: DoingWithKey, wish) => {
        const shown = progress(`merchant ${wish.merchant}`);
        const made = await exportDirectDebits(database, actor, await means.provider(), {
          ...wish,
          progress: shown,
        });
        return made.file === null ? made : { ...made, out: wish.out };
      },
      says: ({ file, items, left }, { out }) => {
        if (file === null) return 'Nothing waits, and no file was written.';
        return `File ${file} with ${items} items is in ${out}.${left === 0 ? '' : ` ${left} items did not fit: export once more.`}`;
      },
    }),
    task({
      name: 'directdebit import-returns',
      help: 'decline what the bank returned; a file that is cut short or differs is refused, and importing one twice changes nothing',
      role: 'operator',
      // A file may name items of several merchants.
      scope: 'installation',
      byAccount: true,
      input: { path: needed(TEXT, '<file>', 'the file with the items that the bank returned') },
      run: async ({ database, actor, means, progress }: DoingWithKey, { path }) =>
        importDirectDebitReturns(database, actor, await means.provider(), {
          path,
          progress: progress('returns', 'lines'),
        }),
      says: ({ items, returned, late, returnedAlready, refunded, unmatched }) =>
        [
          `${returned} of ${items} items are declined now, ${late} of them late.`,
          ...(returnedAlready > 0 ? [`${returnedAlready} had been returned before.`] : []),
          ...(refunded.length > 0
            ? [`Refunded although they came back: audits ${refunded.join(', ')}.`]
            : []),
          ...unmatched.map(
            ({ line, lodgementReference, reason }) => `Line ${line} ${lodgementReference}: ${reason}.`,
          ),
        ].join('\n'),
    }),
    task({
      name: 'directdebit files',
      help: 'list the files that were made for the bank, the newest first, and when their items clear',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /directdebit/:merchant/files',
      input: {
        merchant: MERCHANT,
        limit: optional(count(), '--limit <count>', 'how many at most', { default: 50, onPage: 100 }),
      },
      run: async ({ database }, { merchant, limit }) => {
        await checkMerchant(database, merchant);
        return (await database.query<ListedFile>(DIRECT_DEBIT_FILES, [merchant, limit])).rows;
      },
    }),
    task({
      name: 'directdebit status',
      help: 'show how many items wait, are being cleared, are cleared and were returned',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /directdebit',
      fenced: true,
      input: { merchant: optional(ID, '--merchant <id>', 'only this merchant', { names: 'merchants' }) },
      run: ({ database, fence }, { merchant }) => showDirectDebitStatus(database, merchant, fence),
    }),
  ],
} as const;

function howItLodges(entry: DirectEntryView): string {
  const takenBy = entry.simulated ? 'the simulated bank' : entry.bank;
  return (
    `Merchant ${entry.merchant} lodges as ${entry.userName} (${entry.userId}) with ${takenBy}; ` +
    `items clear after ${entry.clearingDays} business days and can be returned for ${entry.disputeDays} days.`
  );
}
