// Differences of settlement as the operator works through them: which are open, what each may mean, and that somebody has looked at one.
import { journal } from '../journal/journal.js';
import type { Queryable } from '../postgres/database.js';
import type { Difference } from '../settlement/difference.js';
import { type Advice, adviceOn } from '../settlement/differences.js';
import {
  DIFFERENCES,
  FIND_DIFFERENCE,
  LOOK_AT_DIFFERENCE,
  OPEN_DIFFERENCES_BY_DAY,
} from '../settlement/differences.sql.js';
import { refuse } from '../values/refusal.js';
import { checkedReason } from './operator-request.js';

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

function withAdvice(difference: Difference): DifferenceView {
  return { ...difference, ...adviceOn(difference) };
}
