// Direct-entry files: each item goes into exactly one, decided in the database; what stands in a file never changes,
// so that it can be written again byte for byte.
import { journal } from '../../journal/journal.js';
import { fitNow, type ReadRow, sealBroken } from '../../journal/seals.js';
import type { Database, Queryable } from '../../postgres/database.js';
import { directDebitMode, MOST_CENTS } from '../../values/bank-account.js';
import type { Audit, MerchantId, OrganisationId } from '../../values/ids.js';
import { addBusinessDays, settlementCutOff, settlementDay } from '../../values/time.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import { type DirectEntry, SIMULATED_BANK } from '../direct-entry.js';
import {
  DESCRIPTION_WIDTH,
  type DirectEntrySettings,
  type FileItem,
  type FileTotals,
  USER_NAME_WIDTH,
} from './aba-line.js';
import {
  COUNT_WAITING,
  FILE_IS_TAKEN,
  FILE_IS_WRITTEN,
  FILES_FOR_BANKS,
  FIND_FILE,
  INSTALLATION,
  ITEMS_OF_FILE,
  LEAVE_OUT_VOIDED,
  LOCK_EXPORTS_OF_MERCHANT,
  LOCK_FILES_OF_MERCHANT,
  MAKE_FILE,
  UNTAKEN_FILE,
  UNWRITTEN_FILE,
} from './files.sql.js';
import { ItemSeals, type SealedItem } from './item-seals.js';
import { lodgementReference } from './lodgement-reference.js';

export interface DirectDebitFile extends FileTotals {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly number: number;
  readonly processingDay: string;
  readonly settings: DirectEntrySettings;
  /** Whether the simulated bank takes it. */
  readonly simulated: boolean;
  /** Its newest seal in the journal, behind its version. */
  readonly newest: Buffer | null;
}

/** An item of a file, with what it takes to find it again. */
export interface LodgedFileItem extends FileItem {
  readonly audit: Audit;
  /** The installation that took it in, if that was another cell. */
  readonly sentBy: string | null;
  readonly operation: 'purchase' | 'refund' | 'standalone_refund';
}

interface ItemRow extends SealedItem {
  readonly line: number;
  readonly sentBy: string | null;
}

export interface Making {
  /** For the simulated bank, or for the merchant's own: each gets what it has taken in, and nothing else. */
  readonly simulated: boolean;
  /** The business day that the bank is to process it on. */
  readonly processingDay: string;
  /** The gateway's time. */
  readonly atMs: number;
  /** Only items that became due by then; absent, all that wait. */
  readonly dueMs?: number;
  /** How many items at most; absent, as many as a file can hold. */
  readonly most?: number;
  /** False where nobody asked for it on a disk. */
  readonly toBeWritten: boolean;
  /** For the journal; absent where the simulated bank does it by itself. */
  readonly actor?: string;
}

/** How many items are in memory at once. */
export const PAGE = 250;
/** Six digits: what the trailer has room for. */
const MOST_ITEMS = 999_999;

export class DirectDebitFiles {
  readonly #seals: ItemSeals;
  #installation: Promise<string> | undefined;

  constructor(
    private readonly database: Database,
    keys: DataKeys,
  ) {
    this.#seals = new ItemSeals(database, keys);
  }

  /** A new file of what waits, or undefined where nothing does. `left` is what did not fit into it. */
  async make(
    entry: DirectEntry,
    making: Making,
  ): Promise<{ file: DirectDebitFile; left: number } | undefined> {
    const { organisationId, merchant, clearingDays } = entry;
    const { simulated, processingDay, atMs, dueMs, most = MOST_ITEMS, toBeWritten, actor } = making;
    const clearedAtMs = settlementCutOff(addBusinessDays(processingDay, clearingDays));
    // What is in a file is opened when that is written, and stops it if it does not open: it is found before.
    await this.#seals.check({ organisationId, merchantId: merchant, simulated, dueMs, most });
    return this.database.transaction(async (connection) => {
      await connection.query(LOCK_FILES_OF_MERCHANT, [organisationId, merchant]);
      await connection.query(LEAVE_OUT_VOIDED, [organisationId, merchant]);
      const { rows } = await connection.query<{ number: number; full: boolean; left: number }>(MAKE_FILE, [
        organisationId,
        merchant,
        dueMs ?? null,
        atMs,
        processingDay,
        clearedAtMs,
        JSON.stringify(settingsOfFile(entry, simulated)),
        MOST_CENTS,
        !toBeWritten,
        simulated,
        most,
      ]);
      const [made] = rows;
      if (made === undefined) return undefined;
      const values = [organisationId, merchant, made.number];
      const [file] = (await connection.query<DirectDebitFile>(FIND_FILE, values)).rows as [DirectDebitFile];
      if (actor !== undefined) await journalExport(connection, entry, actor, `file ${made.number}`, file);
      return { file, left: await this.#left(connection, entry, simulated, made) };
    });
  }

  /** A file that is full by the number of its items has not looked at the others. */
  async #left(
    connection: Queryable,
    { organisationId, merchant }: DirectEntry,
    simulated: boolean,
    { full, left }: { full: boolean; left: number },
  ): Promise<number> {
    if (!full) return left;
    const values = [organisationId, merchant, simulated];
    const { rows } = await connection.query<{ waiting: number }>(COUNT_WAITING, values);
    return rows[0]?.waiting ?? 0;
  }

  find({ organisationId, merchant }: DirectEntry, number: number): Promise<DirectDebitFile | undefined> {
    return this.database
      .query<DirectDebitFile>(FIND_FILE, [organisationId, merchant, number])
      .then(({ rows }) => rows[0]);
  }

  /** The accounts in it are opened once more. Refuses a file that is not as it was made: it says to which account the money goes. */
  async writtenAgain(entry: DirectEntry, file: DirectDebitFile, actor: string): Promise<void> {
    if (!file.simulated) {
      const row = sealedFile(file);
      const fit = await fitNow(this.database, row);
      // guard(directions: no file is written that is not as it was sealed): fit.kind === 'misfit' ⇒ fit.kind !== 'fits' && fit.version < 0
      if (fit.kind === 'misfit') throw sealBroken(row.subject, fit.misfit);
    }
    await journalExport(this.database, entry, actor, `file ${file.number}, again`);
  }

  /** One export of a merchant at a time: another would take the file that is being written for one left behind. */
  exclusively<Result>({ merchant }: DirectEntry, work: () => Promise<Result>): Promise<Result> {
    return this.database.transaction(async (connection) => {
      await connection.query(LOCK_EXPORTS_OF_MERCHANT, [merchant]);
      return work();
    });
  }

  /** One that was made, and then not written: the process died in between. */
  unwritten({ organisationId, merchant }: DirectEntry): Promise<DirectDebitFile | undefined> {
    return this.database
      .query<DirectDebitFile>(UNWRITTEN_FILE, [organisationId, merchant])
      .then(({ rows }) => rows[0]);
  }

  async written(
    { clearingDays }: DirectEntry,
    { organisationId, merchantId, number }: DirectDebitFile,
    atMs: number,
  ): Promise<void> {
    const clearedAtMs = settlementCutOff(addBusinessDays(settlementDay(atMs), clearingDays));
    await this.database.query(FILE_IS_WRITTEN, [organisationId, merchantId, number, atMs, clearedAtMs]);
  }

  /** One that the simulated bank has not taken yet. */
  untaken(): Promise<DirectDebitFile | undefined> {
    return this.database.query<DirectDebitFile>(UNTAKEN_FILE).then(({ rows }) => rows[0]);
  }

  async taken({ organisationId, merchantId, number }: DirectDebitFile): Promise<void> {
    await this.database.query(FILE_IS_TAKEN, [organisationId, merchantId, number]);
  }

  /** The items of a file in the order of their lines, a page at a time, their accounts opened. */
  async *items(file: DirectDebitFile): AsyncGenerator<LodgedFileItem[]> {
    const { organisationId, merchantId, number } = file;
    for (let after = 0; ; ) {
      const { rows } = await this.database.query<ItemRow>(ITEMS_OF_FILE, [
        organisationId,
        merchantId,
        number,
        after,
        PAGE,
      ]);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield await Promise.all(rows.map((row) => this.#opened(file, row)));
      after = last.line;
    }
  }

  async #opened(file: DirectDebitFile, row: ItemRow): Promise<LodgedFileItem> {
    const { organisationId } = file;
    const account = await this.#seals.open(file, row);
    const installation = row.sentBy ?? (await this.installation());
    return {
      audit: row.audit,
      sentBy: row.sentBy,
      operation: row.transactionType,
      account,
      mode: directDebitMode(row.transactionType),
      amountCents: row.amountCents,
      lodgementReference: lodgementReference({ installation, organisationId, audit: row.audit }),
    };
  }

  /** Never changes, and a page asks for it a thousand times at once. */
  installation(): Promise<string> {
    this.#installation ??= this.database
      .query<{ installation: string }>(INSTALLATION)
      .then(({ rows }) => (rows[0] as { installation: string }).installation);
    this.#installation.catch(() => {
      this.#installation = undefined;
    });
    return this.#installation;
  }
}

/** What the file says of its merchant: of a test merchant that it is a test, and of a simulated one no bank that exists. */
export function settingsOfFile(entry: DirectEntry, simulated: boolean): DirectEntrySettings {
  const { mode, bank, userName, userId, description, traceBsb, traceAccount, remitter } = entry;
  const marked = (text: string, width: number) =>
    mode === 'live' ? text : `TEST ${text.replace(/^TEST( +|$)/, '')}`.slice(0, width).trimEnd();
  return {
    bank: simulated ? SIMULATED_BANK : bank,
    userName: marked(userName, USER_NAME_WIDTH),
    userId,
    description: marked(description, DESCRIPTION_WIDTH),
    traceBsb,
    traceAccount,
    remitter,
  };
}

/** `made`: a new file, which is sealed if it is for a real bank. */
function journalExport(
  connection: Queryable,
  { organisationId, merchant: merchantId }: DirectEntry,
  actor: string,
  detail: string,
  made?: DirectDebitFile,
): Promise<void> {
  const entry = { actor, action: 'directdebit.exported', organisationId, merchantId, detail } as const;
  return journal(connection, entry, made === undefined || made.simulated ? undefined : sealedFile(made));
}

/** For the journal, which seals everything that a file says but its items: they have seals of their own. */
function sealedFile(file: DirectDebitFile): ReadRow {
  const { organisationId, merchantId, number, processingDay, items, debitCents, creditCents, newest } = file;
  // The database may hold any JSON.
  const settings: Partial<DirectEntrySettings> = file.settings ?? {};
  const { bank, userName, userId, description, traceBsb, traceAccount, remitter } = settings;
  // guard(directions: a file is sealed with the account that money goes to): traceBsb, traceAccount, remitter ⇒ remitter
  const says = [bank, userName, userId, description, traceBsb, traceAccount, remitter];
  const state = [organisationId, processingDay, items, debitCents, creditCents, ...says];
  return { subject: `file/${merchantId}/${number}`, state, newest };
}

/** The files for real banks: of one merchant or of all. */
export async function* sealedFiles(
  database: Queryable,
  merchant: number | undefined,
): AsyncGenerator<ReadRow & { readonly merchant: MerchantId }> {
  for (let after = [0, 0]; ; ) {
    const values = [merchant ?? null, ...after, PAGE];
    const { rows } = await database.query<DirectDebitFile>(FILES_FOR_BANKS, values);
    const last = rows.at(-1);
    if (last === undefined) return;
    for (const row of rows) yield { ...sealedFile(row), merchant: row.merchantId };
    after = [last.merchantId, last.number];
  }
}
