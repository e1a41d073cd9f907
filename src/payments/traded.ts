// Past transactions, for the demo alone: stored as already ended, with events and settlement entries. Nothing of it goes to an
// acquirer. Callers use only days on which nothing has settled, or the open day.
import type { Queryable } from '../postgres/database.js';
import type { OrganisationId } from '../values/ids.js';
import {
  ADD_TRADED,
  HOLD_SETTLEMENT_DAYS,
  RESERVE_AUDITS,
  SETTLE_TRADED,
  SETTLED,
  TELL_TRADED,
  TOLD,
  TRADED,
  TRADED_SO_FAR,
} from './traded.sql.js';
import type { Settled, Told, Traded } from './traded-transaction.js';

export interface TradedSoFar {
  readonly days: readonly string[];
  readonly newestMs: number | null;
  readonly inDoubt: boolean;
}

const BATCH = 500;

/** Keeps settlement days open until the end of the database transaction, and returns what exists. */
export async function tradedSoFar(
  connection: Queryable,
  organisationId: OrganisationId,
): Promise<TradedSoFar> {
  await connection.query(HOLD_SETTLEMENT_DAYS);
  const { rows } = await connection.query<TradedSoFar>(TRADED_SO_FAR, [organisationId]);
  return rows[0] as TradedSoFar;
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

export async function addTraded(
  connection: Queryable,
  traded: readonly Traded[],
  told: readonly Told[],
  settled: readonly Settled[],
): Promise<void> {
  for (const batch of batches(traded)) await connection.query(ADD_TRADED, TRADED.encode(batch));
  // Event numbers are assigned in order: an earlier event must get a lower number, across batches as well.
  const inOrder = [...told].sort(
    (one, other) => one.atMs - other.atMs || one.audit - other.audit || one.version - other.version,
  );
  for (const batch of batches(inOrder)) await connection.query(TELL_TRADED, TOLD.encode(batch));
  for (const batch of batches(settled)) await connection.query(SETTLE_TRADED, SETTLED.encode(batch));
}

function* batches<Entry>(entries: readonly Entry[]): Generator<readonly Entry[]> {
  for (let from = 0; from < entries.length; from += BATCH) yield entries.slice(from, from + BATCH);
}
