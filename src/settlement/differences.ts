// Differences between an acquirer's files and our days, kept until somebody has looked at them: what was found, what each may mean and
// what to do about it.
import { journal } from '../journal/journal.js';
import { checkedReason } from '../payments/requests/operator-request.js';
import type { Queryable } from '../postgres/database.js';
import { named, refuse } from '../values/refusal.js';
import {
  DIFFERENCES,
  DIFFERENCES_GONE,
  FIND_DIFFERENCE,
  FOUND,
  KEEP_DIFFERENCES,
  LOCK_DIFFERENCES,
  LOOK_AT_DIFFERENCE,
  LOOK_AT_DIFFERENCES,
  OPEN_DIFFERENCES_BY_DAY,
} from './differences.sql.js';
import {
  type Difference,
  type DifferenceKind,
  type FoundDifference,
  inWords,
  type Reconciliation,
} from './reconciliation.js';

const BATCH = 2_000;

/**
 * What is listed of them is kept, in place of those of the run before: of every kind of which all are listed, those that are not
 * among them are gone. Returns how many are.
 */
export async function keepDifferences(
  connection: Queryable,
  operator: string,
  found: Reconciliation,
): Promise<number> {
  const { date, acquirer } = found;
  // Two runs at once would not see each other's, and both stay.
  // guard(reconciliation: one run at a time replaces the differences of a day): await connection.query(LOCK_DIFFERENCES, [date, acquirer]); ⇒
  await connection.query(LOCK_DIFFERENCES, [date, acquirer]);
  const differences = differencesIn(found);
  const kept: number[] = [];
  for (let from = 0; from < differences.length; from += BATCH) {
    const batch = FOUND.encode(differences.slice(from, from + BATCH));
    const { rows } = await connection.query<{ id: number }>(KEEP_DIFFERENCES, [
      date,
      acquirer,
      operator,
      ...batch,
    ]);
    kept.push(...rows.map(({ id }) => id));
  }
  const values = [date, acquirer, `{${kept.join()}}`, kindsListedWhole(found)];
  return (await connection.query<{ id: number }>(DIFFERENCES_GONE, values)).rows.length;
}

function kindsListedWhole({ listed, ...counts }: Reconciliation): DifferenceKind[] {
  const kinds: [DifferenceKind, boolean][] = [
    ['missing_here', listed.missingHere.length === counts.missingHere],
    ['missing_there', listed.missingThere.length === counts.missingThere],
    ['different', listed.different.length === counts.different],
    ['wrong', listed.wrong.length === counts.wrong],
  ];
  return kinds.flatMap(([kind, isWhole]) => (isWhole ? [kind] : []));
}

function differencesIn({ listed, differentAbout }: Reconciliation): FoundDifference[] {
  return [
    ...listed.missingHere.map(
      (line): FoundDifference => ({
        kind: 'missing_here',
        reference: line.reference,
        there: inWords(line),
        here: '',
      }),
    ),
    ...listed.missingThere.map(
      (missing): FoundDifference => ({
        kind: 'missing_there',
        reference: missing.reference,
        there: '',
        here: inWords(missing),
        organisationId: missing.organisationId,
        merchantId: missing.merchant,
        audit: missing.audit,
      }),
    ),
    ...listed.different.map(
      ({ reference, there, here }, place): FoundDifference => ({
        kind: 'different',
        reference,
        there,
        here,
        ...differentAbout[place],
      }),
    ),
    ...listed.wrong.map(
      ({ line, reason }): FoundDifference => ({
        kind: 'wrong',
        reference: `line ${line}`,
        there: reason,
        here: '',
      }),
    ),
  ];
}

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

export interface Advice {
  /** What it may mean. */
  readonly meaning: string;
  /** What to do about it. */
  readonly todo: string;
}

export function adviceOn({
  kind,
  there,
  here,
  acquirer,
}: Pick<Difference, 'kind' | 'there' | 'here' | 'acquirer'>): Advice {
  switch (kind) {
    case 'missing_here':
      return {
        meaning:
          'The acquirer settles something that the gateway does not know: a payment by another system under the same merchant number, or one that this database has lost.',
        todo: 'Ask the acquirer for the card and the time of this reference. If it was yours and nobody wants it, have it refunded there.',
      };
    case 'missing_there':
      return {
        meaning:
          'The gateway has it as approved, and the acquirer does not settle it on this day: its cut-off may be another, or it was never captured.',
        todo: 'Hold the next day’s file against the next day. If it is not there either, ask the acquirer about the reference: the merchant has not been paid.',
      };
    case 'wrong':
      return there === 'listed before'
        ? {
            meaning: 'The file has the same line twice. One of them is counted.',
            todo: 'Ask the acquirer whether it pays, or takes, the amount twice.',
          }
        : {
            meaning: 'The line cannot be read, and nothing was held against it.',
            todo: 'Ask the acquirer for the file anew, and reconcile again.',
          };
    case 'different':
      return adviceOnDifferent(there, here, acquirer);
  }
}

function adviceOnDifferent(there: string, here: string, acquirer: string): Advice {
  if (here.startsWith('went to '))
    return {
      meaning: `This payment ${here}, and ${acquirer} lists it all the same.`,
      todo: 'Check that it is the right file. If it is, both may have charged the customer: ask both, and have one of them refund.',
    };
  if (here.includes('settlement date ') || here.includes('does not settle on this day')) {
    const refused = /^(declined|error|unknown)/.test(here);
    return refused
      ? {
          meaning:
            'The acquirer settles what the gateway has as not approved: the customer may have been charged for nothing.',
          todo: 'Ask the acquirer what it did under this reference, and have it reversed or refunded there.',
        }
      : {
          meaning: 'Both know it, on different days: the acquirer closes its day at another time.',
          todo: 'Look at it again with the file of the other day. It needs nothing else if the amounts agree.',
        };
  }
  const [kindThere, amountThere, currencyThere] = there.split(' ');
  const [kindHere, amountHere, currencyHere] = here.split(' ');
  if (kindThere !== kindHere)
    return {
      meaning: `It is a ${kindThere} there and a ${kindHere} here.`,
      todo: 'Ask the acquirer how it was booked: the money may have gone the other way.',
    };
  if (currencyThere === currencyHere && amountThere !== amountHere)
    return {
      meaning:
        'The amounts differ: a fee or a conversion may have been taken off, or the amount was changed there.',
      todo: 'Ask the acquirer for the amount that the customer was charged, and refund or collect the rest.',
    };
  return {
    meaning: 'The currencies differ.',
    todo: 'Ask the acquirer in which currency the customer was charged.',
  };
}
