// Direct debit as the operator runs it: files for the banks written, what they return imported, and how much of it waits.
import { gatewayTime } from '../clock/gateway-clock.js';
import { checkMerchant } from '../organisations/merchants.js';
import type { Database, Queryable } from '../postgres/database.js';
import type { MerchantId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import type { Cents } from '../values/money.js';
import { withJournalledKeys } from '../vault/keys/journalled-keys.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { DataKeys } from '../vault/keys/keys.js';
import { directEntryOf } from './direct-entry.js';
import { DIRECT_DEBIT_FILES, DIRECT_DEBIT_STATUS } from './directdebit-tasks.sql.js';
import { type ExportResult, exportFile } from './files/export.js';
import { DirectDebitFiles } from './files/files.js';
import { type ImportResult, importReturns } from './files/returns-file.js';

export interface DirectDebitStatus {
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

export interface ExportWish {
  readonly merchant: number;
  /** Where to write it; nothing that is there is overwritten. */
  readonly out: string;
  /** A file that was made before; absent, a new one of what waits. */
  readonly number?: number | undefined;
  readonly progress?: (done: number, total: number) => void;
}

export interface ImportWish {
  /** Where the bank's file is. */
  readonly path: string;
  readonly progress?: (lines: number) => void;
}

/** Of every merchant, or of one. */
export async function showDirectDebitStatus(
  database: Queryable,
  merchant?: number,
): Promise<DirectDebitStatus[]> {
  await checkMerchant(database, merchant);
  return (await database.query<DirectDebitStatus>(DIRECT_DEBIT_STATUS, [merchant ?? null])).rows;
}

/** A file that was made for a bank. */
export interface ListedFile {
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

/** The newest first. */
export async function listDirectDebitFiles(
  database: Queryable,
  merchant: number,
  limit: number,
): Promise<ListedFile[]> {
  await checkMerchant(database, merchant);
  return (await database.query<ListedFile>(DIRECT_DEBIT_FILES, [merchant, limit])).rows;
}

/** What is in a file can no longer be voided. Undefined where nothing waits. */
export async function exportDirectDebits(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { merchant, out, number, progress = () => {} }: ExportWish,
): Promise<ExportResult | undefined> {
  const entry = await directEntryOf(database, merchant);
  const nowMs = await gatewayTime(database);
  return withJournalledKeys(database, operator, provider, (keys) =>
    exportFile(new DirectDebitFiles(database, keys), entry, {
      out,
      number,
      nowMs,
      actor: operator,
      progress,
    }),
  );
}

/** All of it or nothing; idempotent. */
export async function importDirectDebitReturns(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { path, progress = () => {} }: ImportWish,
): Promise<ImportResult> {
  const nowMs = await gatewayTime(database);
  const files = new DirectDebitFiles(database, new DataKeys(database, provider));
  const installation = await files.installation();
  return importReturns(database, { installation, nowMs, actor: operator, path, progress });
}
