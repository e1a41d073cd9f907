// What happens to direct debits as time goes by: the simulated bank takes the day's items when the day closes and
// returns some of them, and what nobody returns in time is cleared. Any number of processes may run it.

import type { SimulatedBank } from '../acquirers/simulator/bank.js';
import type { Clock } from '../clock/clock.js';
import { sealedNext } from '../payments/outcome-seals.js';
import type { AcquirerReference } from '../payments/transaction.js';
import { CLEARED, type StoredOutcome } from '../payments/transaction.js';
import type { Database, Queryable } from '../postgres/database.js';
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';
import { addBusinessDays, settlementCalendar, settlementCutOff, sydneyDate } from '../values/time.js';
import type { DataKeys } from '../vault/keys/keys.js';
import {
  CLEAR_DUE,
  CLEARED_ITEMS,
  DUE_FOR_A_FILE,
  DUE_TO_CLEAR,
  DUE_TO_RETURN,
  LOCK_CLEARING,
  OUTCOMES_OF_ITEMS,
  PUT_OFF_ITEMS,
} from './clearing.sql.js';
import { directEntryOf } from './direct-entry.js';
import type { DirectDebitFile, DirectDebitFiles, LodgedFileItem } from './files/files.js';
import { type Return, takeReturns } from './returns.js';
import { PLAN_RETURNS, PLANNED } from './returns.sql.js';

export const BATCH = 500;
/** The simulated bank returns an item on the business day after the file's. */
const RETURNED_AFTER_DAYS = 1;
/** So that a file is made within the time that a statement may take. */
const MOST_ITEMS = 20_000;
const SIMULATED_BANK = 'bank:simulated';
const CLEARED_CODE = { responseCode: CLEARED.responseCode };

export interface ClearingParts {
  readonly database: Database;
  readonly files: DirectDebitFiles;
  readonly bank: SimulatedBank;
  /** Check and seal outcomes. */
  readonly keys: DataKeys;
  readonly clock: Clock;
  /** What a transaction is called towards an acquirer. */
  readonly referenceOf: AcquirerReference;
}

export class Clearing {
  constructor(private readonly parts: ClearingParts) {}

  async run(): Promise<void> {
    const { database, clock } = this.parts;
    const nowMs = clock.now();
    // One process at a time: there is only one bank, and it keeps its books in a file.
    await database.transaction(async (connection) => {
      const { rows: tried } = await connection.query<{ locked: boolean }>(LOCK_CLEARING);
      if (tried[0]?.locked) await this.#catchUp(nowMs);
    });
  }

  /** In the order in which it would have happened had somebody looked all the time. */
  async #catchUp(nowMs: number): Promise<void> {
    await this.#fileWhatIsDue(nowMs);
    await this.#letBankTake();
    await this.#returnWhatIsDue(nowMs);
    await this.#clearWhatIsDue(nowMs);
  }

  async #fileWhatIsDue(nowMs: number): Promise<void> {
    const { database, files } = this.parts;
    for (let made = true; made; ) {
      made = false;
      const { rows } = await database.query<{ merchantId: MerchantId; dueMs: number }>(DUE_FOR_A_FILE, [
        nowMs,
      ]);
      for (const { merchantId, dueMs } of rows) {
        const entry = await directEntryOf(database, merchantId);
        // As of the close of the day at which it was due, however late it is now.
        const processingDay = sydneyDate(dueMs);
        const making = {
          processingDay,
          atMs: dueMs,
          dueMs,
          most: MOST_ITEMS,
          simulated: true,
          toBeWritten: false,
        };
        // Nothing is made of items that are just being voided: they are left to the next run.
        if ((await files.make(entry, making)) !== undefined) made = true;
      }
    }
  }

  async #letBankTake(): Promise<void> {
    const { files } = this.parts;
    for (;;) {
      const file = await files.untaken();
      if (file === undefined) return;
      for await (const items of files.items(file)) await this.#take(file, items);
      await files.taken(file);
    }
  }

  async #take(file: DirectDebitFile, items: readonly LodgedFileItem[]): Promise<void> {
    const { database, bank, referenceOf } = this.parts;
    const { organisationId, processingDay } = file;
    const coming: { audit: Audit; code: number }[] = [];
    for (const { audit, sentBy, operation, amountCents, account } of items) {
      const reference = referenceOf(organisationId, audit, sentBy);
      const code = await bank.take({ reference, operation, amountCents, account });
      if (code !== undefined) coming.push({ audit, code });
    }
    if (coming.length === 0) return;
    await database.query(PLAN_RETURNS, [
      organisationId,
      settlementCutOff(addBusinessDays(processingDay, RETURNED_AFTER_DAYS)),
      ...PLANNED.encode(coming),
    ]);
  }

  async #returnWhatIsDue(nowMs: number): Promise<void> {
    const { database, bank, referenceOf } = this.parts;
    for (;;) {
      const { rows } = await database.query<Return & { readonly sentBy: string | null }>(DUE_TO_RETURN, [
        nowMs,
        BATCH,
      ]);
      for (const { organisationId, audit, sentBy } of rows) {
        await bank.giveBack(referenceOf(organisationId, audit, sentBy));
      }
      const declined = await takeReturns(database, this.parts.keys, rows, { actor: SIMULATED_BANK, nowMs });
      const taken = new Set(declined.map(({ organisationId, audit }) => `${organisationId}/${audit}`));
      const left = rows.filter(({ organisationId, audit }) => !taken.has(`${organisationId}/${audit}`));
      for (const organisationId of new Set(left.map((one) => one.organisationId)))
        await putOff(database, organisationId, left, nowMs);
      if (rows.length < BATCH) return;
    }
  }

  async #clearWhatIsDue(nowMs: number): Promise<void> {
    for (;;) {
      const due = await this.parts.database.transaction((connection) => this.#clearPage(connection, nowMs));
      if (due < BATCH) return;
    }
  }

  async #clearPage(connection: Queryable, nowMs: number): Promise<number> {
    type Due = Pick<StoredOutcome, 'organisationId' | 'audit'>;
    const { rows: due } = await connection.query<Due>(DUE_TO_CLEAR, [nowMs, BATCH]);
    for (const organisationId of new Set(due.map((item) => item.organisationId))) {
      const audits = due.filter((item) => item.organisationId === organisationId).map(({ audit }) => audit);
      const { rows } = await connection.query<{ stored: StoredOutcome }>(OUTCOMES_OF_ITEMS, [
        organisationId,
        audits,
      ]);
      const { sealed, changed } = await sealedNext(
        this.parts.keys,
        rows.map(({ stored }) => ({ stored, next: { ...stored, status: 'approved', ...CLEARED_CODE } })),
      );
      const left = changed.map(({ stored }) => stored);
      await putOff(connection, organisationId, left, nowMs);
      if (sealed.length === 0) continue;
      const items = sealed.map(({ stored, outcomeSeal }) => ({ ...stored, outcomeSeal }));
      await connection.query(CLEAR_DUE, [
        ...settlementCalendar(nowMs),
        CLEARED.responseMessage,
        organisationId,
        ...CLEARED_ITEMS.encode(items),
      ]);
    }
    return due.length;
  }
}

/** Of these those of the organisation: somebody has changed them, and they must not be in the way of others. */
async function putOff(
  database: Queryable,
  organisationId: OrganisationId,
  items: readonly Pick<StoredOutcome, 'organisationId' | 'audit'>[],
  nowMs: number,
): Promise<void> {
  const audits = items.filter((item) => item.organisationId === organisationId).map(({ audit }) => audit);
  if (audits.length > 0) await database.query(PUT_OFF_ITEMS, [organisationId, audits, nowMs]);
}
