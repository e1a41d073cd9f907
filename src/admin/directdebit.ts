// Direct debit as the operator runs it: files for the banks written, what they return imported, and how much of it waits.
import { directEntryOf } from '../directdebit/direct-entry.js';
import { type ExportResult, exportFile } from '../directdebit/export.js';
import { DirectDebitFiles } from '../directdebit/files.js';
import { type ImportResult, importReturns } from '../directdebit/returns-file.js';
import type { Database, Queryable } from '../postgres/database.js';
import { gatewayTime } from '../transactions/gateway-clock.js';
import type { MerchantId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import type { Cents } from '../values/money.js';
import type { KeyProvider } from '../vault/key-provider.js';
import { DataKeys } from '../vault/keys.js';
import { DIRECT_DEBIT_STATUS } from './directdebit.sql.js';

export interface DirectDebitStatus {
  readonly merchant: MerchantId;
  readonly mode: Mode;
  readonly bank: string | null;
  readonly simulated: boolean;
  readonly waiting: number;
  readonly waitingSimulated: number;
  readonly waitingDebitCents: Cents;
  readonly waitingCreditCents: Cents;
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
  return (await database.query<DirectDebitStatus>(DIRECT_DEBIT_STATUS, [merchant ?? null])).rows;
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
  return exportFile(filesOf(database, provider), entry, { out, number, nowMs, actor: operator, progress });
}

/** All of it or nothing; idempotent. */
export async function importDirectDebitReturns(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { path, progress = () => {} }: ImportWish,
): Promise<ImportResult> {
  const nowMs = await gatewayTime(database);
  const installation = await filesOf(database, provider).installation();
  return importReturns(database, { installation, nowMs, actor: operator, path, progress });
}

function filesOf(database: Database, provider: KeyProvider): DirectDebitFiles {
  return new DirectDebitFiles(database, new DataKeys(database, provider));
}
