// Differences of settlement as the operator works through them: which are open, what each may mean, and that somebody has looked at one, or at a whole day.
import { journal } from '../journal/journal.js';
import { checkedReason } from '../payments/requests/operator-request.js';
import type { Queryable } from '../postgres/database.js';
import { named, refuse } from '../values/refusal.js';
import type { Difference } from './difference.js';
import { type Advice, adviceOn } from './differences.js';
import {
  DIFFERENCES,
  FIND_DIFFERENCE,
  LOCK_DIFFERENCES,
  LOOK_AT_DIFFERENCE,
  LOOK_AT_DIFFERENCES,
  OPEN_DIFFERENCES_BY_DAY,
} from './differences.sql.js';

export interface DifferenceView extends Difference, Advice {}

export interface DifferencesWish {
  readonly date?: string | undefined;
  readonly acquirer?: string | undefined;
  /** Also those that somebody has looked at, and those that are gone. */
  readonly all?: boolean | undefined;
  readonly limit?: number | undefined;
}

export interface OpenDay {
  readonly date: string;
  readonly acquirer: string;
  readonly open: number;
}

const LISTED = 200;

/** Those that are open, unless all are wanted; the newest days first. */
export async function listDifferences(
  database: Queryable,
  { date, acquirer, all = false, limit = LISTED }: DifferencesWish,
): Promise<DifferenceView[]> {
  const { rows } = await database.query<Difference>(DIFFERENCES, [
    date ?? null,
    acquirer ?? null,
    all,
    limit,
  ]);
  return rows.map(withAdvice);
}

/** On which days something is open. */
export async function openDays(database: Queryable): Promise<OpenDay[]> {
  return (await database.query<OpenDay>(OPEN_DIFFERENCES_BY_DAY)).rows;
}

/** Once: the note of whoever was first stays. */
export async function lookAtDifference(
  database: Queryable,
  operator: string,
  difference: number,
  note: string,
): Promise<DifferenceView> {
  const said = checkedReason(note);
  return database.transaction(async (connection) => {
    const { rows } = await connection.query<Difference>(LOOK_AT_DIFFERENCE, [difference, operator, said]);
    const [looked] = rows;
    if (looked === undefined) {
      const found = (await connection.query<Difference>(FIND_DIFFERENCE, [difference])).rows[0];
      return found === undefined
        ? refuse('difference_not_found', { difference })
        : refuse('difference_looked_at', { difference, by: found.lookedBy ?? '' });
    }
    const { organisationId, merchantId, audit, date, acquirer, reference } = looked;
    await journal(connection, {
      actor: operator,
      action: 'settlement.difference_looked_at',
      ...(organisationId !== null && { organisationId }),
      ...(merchantId !== null && { merchantId }),
      ...(audit !== null && { audit }),
      detail: `difference ${difference}, ${date}, ${acquirer}, ${reference}: ${said}`,
    });
    return withAdvice(looked);
  });
}

export interface DayLookedAt {
  readonly date: string;
  readonly acquirer: string;
  readonly note: string;
  /** As many as the operator has seen; where others are open by now, nothing is done. */
  readonly open?: number | undefined;
}

/** All that are open of a day and an acquirer, with one note. */
export async function lookAtDay(
  database: Queryable,
  operator: string,
  { date, acquirer, note, open }: DayLookedAt,
): Promise<{ date: string; acquirer: string; lookedAt: number }> {
  const said = checkedReason(note);
  return database.transaction(async (connection) => {
    await connection.query(LOCK_DIFFERENCES, [date, acquirer]);
    const values = [date, acquirer, operator, said];
    const lookedAt = (await connection.query<{ id: number }>(LOOK_AT_DIFFERENCES, values)).rows.length;
    // guard(reconciliation: differences that nobody has seen are not looked at with the others): lookedAt !== (open ?? lookedAt) ⇒ open === -1
    if (lookedAt !== (open ?? lookedAt))
      refuse('differences_changed', { open: lookedAt, expected: open ?? 0 });
    if (lookedAt === 0) refuse('no_differences_open', { date, acquirer });
    const detail = `${lookedAt} differences, ${date}, ${named(acquirer)}: ${said}`;
    await journal(connection, { actor: operator, action: 'settlement.differences_looked_at', detail });
    return { date, acquirer, lookedAt };
  });
}

function withAdvice(difference: Difference): DifferenceView {
  return { ...difference, ...adviceOn(difference) };
}
