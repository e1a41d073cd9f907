// Past transactions, for the demo alone: stored as already ended, with events and settlement entries. Nothing of it goes to an
// acquirer. Callers use only days on which nothing has settled, or the open day.
import type { Queryable } from '../postgres/database.js';
import type { OrganisationId } from '../values/ids.js';
import type { DemoEvent, DemoSettlementEntry, DemoTransaction } from './demo-transaction.js';
import {
  ADD_DEMO_EVENTS,
  ADD_DEMO_SETTLEMENT,
  ADD_DEMO_TRANSACTIONS,
  DEMO_EVENTS,
  DEMO_SETTLEMENT,
  DEMO_TRANSACTIONS,
  EXISTING_DAYS,
  HOLD_SETTLEMENT_DAYS,
  RESERVE_AUDITS,
} from './demo-transactions.sql.js';

export interface ExistingDays {
  readonly days: readonly string[];
  readonly newestMs: number | null;
  readonly inDoubt: boolean;
}

const BATCH = 500;

/** Keeps settlement days open until the end of the database transaction, and returns what exists. */
export async function existingDays(
  connection: Queryable,
  organisationId: OrganisationId,
): Promise<ExistingDays> {
  await connection.query(HOLD_SETTLEMENT_DAYS);
  const { rows } = await connection.query<ExistingDays>(EXISTING_DAYS, [organisationId]);
  return rows[0] as ExistingDays;
}

/** The first of a run of audits. */
export async function reserveAudits(
  connection: Queryable,
  organisationId: OrganisationId,
  count: number,
): Promise<number> {
  const { rows } = await connection.query<{ first: number }>(RESERVE_AUDITS, [organisationId, count]);
  return (rows[0] as { first: number }).first;
}

export async function addDemoTransactions(
  connection: Queryable,
  traded: readonly DemoTransaction[],
  told: readonly DemoEvent[],
  settled: readonly DemoSettlementEntry[],
): Promise<void> {
  for (const batch of batches(traded))
    await connection.query(ADD_DEMO_TRANSACTIONS, DEMO_TRANSACTIONS.encode(batch));
  // Event numbers are assigned in order: an earlier event must get a lower number, across batches as well.
  const inOrder = [...told].sort(
    (one, other) => one.atMs - other.atMs || one.audit - other.audit || one.version - other.version,
  );
  for (const batch of batches(inOrder)) await connection.query(ADD_DEMO_EVENTS, DEMO_EVENTS.encode(batch));
  for (const batch of batches(settled))
    await connection.query(ADD_DEMO_SETTLEMENT, DEMO_SETTLEMENT.encode(batch));
}

function* batches<Entry>(entries: readonly Entry[]): Generator<readonly Entry[]> {
  for (let from = 0; from < entries.length; from += BATCH) yield entries.slice(from, from + BATCH);
}
