// The sealed cards as operators see them: how many there are, why each is kept, and whether any is overdue for destruction.
import { journal } from '../../journal/journal.js';
import type { Queryable, Statement } from '../../postgres/database.js';
import { ID } from '../../tasks/kinds.js';
import { optional, type Progress, task } from '../../tasks/task.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import { refuse } from '../../values/refusal.js';
import { table } from '../../values/text-table.js';
import type { CardOwner } from './card-destruction.js';
import { REVIEW_CARDS_AGAIN } from './card-destruction.sql.js';
import {
  DESTROYED_CARDS,
  ORGANISATIONS_WITH_CARDS,
  SEALED_CARDS_OF_TOKENS,
  SEALED_CARDS_OF_TRANSACTIONS,
} from './card-tasks.sql.js';

/** Rows in one query: short statements, so that nothing waits for a long scan. */
const PAGE = 20_000;

interface LivingCards {
  readonly merchant: MerchantId;
  /** What a card is kept for. An `ended` card is about to be destroyed. */
  readonly why: 'token' | 'undecided' | 'completable' | 'refundable' | 'voidable' | 'ended' | 'direct debit';
  readonly cards: number;
  /** When the oldest of their transactions or tokens was created. */
  readonly oldest: Date;
  /** When the last of them ends, as far as is known now. */
  readonly until: Date | null;
  /** Ended more than an hour ago. */
  readonly overdue: number;
}

interface CardStatus {
  /** All sealed card numbers. */
  readonly cards: number;
  /** How many of them should have been destroyed already. */
  readonly overdue: number;
  /** When the oldest transaction with a sealed card was created. */
  readonly oldest: Date | null;
  /** Sealed bank accounts of direct debits. */
  readonly bankAccounts: number;
  /** Cards destroyed because they had ended. */
  readonly destroyed: number;
  readonly merchants: readonly LivingCards[];
}

interface Counted {
  readonly id: OrganisationId;
  readonly lastAudit: number;
  readonly lastToken: number;
}

/** Examines every sealed card, and trusts nothing that the destruction has recorded about itself. */
async function showCards(
  database: Queryable,
  merchant: number | undefined,
  progress: Progress,
): Promise<CardStatus> {
  const only = merchant ?? null;
  const { rows: organisations } = await database.query<Counted>(ORGANISATIONS_WITH_CARDS, [only]);
  if (merchant !== undefined && organisations.length === 0) refuse('merchant_not_found', { merchant });
  const total = organisations.reduce((sum, { lastAudit, lastToken }) => sum + lastAudit + lastToken, 0);
  const living = new Map<string, LivingCards>();
  let done = 0;
  const count = async (statement: Statement, organisation: OrganisationId, last: number) => {
    for (let first = 1; first <= last; first += PAGE) {
      const upTo = Math.min(first + PAGE - 1, last);
      const { rows } = await database.query<LivingCards>(statement, [organisation, first, upTo, only]);
      for (const row of rows) add(living, row);
      done += upTo - first + 1;
      progress(done, total);
    }
  };
  for (const { id, lastAudit, lastToken } of organisations) {
    await count(SEALED_CARDS_OF_TRANSACTIONS, id, lastAudit);
    await count(SEALED_CARDS_OF_TOKENS, id, lastToken);
  }
  const { rows: destroyed } = await database.query<{ destroyed: number }>(DESTROYED_CARDS, [only]);
  return summary([...living.values()], destroyed[0]?.destroyed ?? 0);
}

function add(living: Map<string, LivingCards>, row: LivingCards): void {
  const key = `${row.merchant}/${row.why}`;
  const known = living.get(key);
  living.set(key, known === undefined ? row : together(known, row));
}

function together(one: LivingCards, other: LivingCards): LivingCards {
  return {
    merchant: one.merchant,
    why: one.why,
    cards: one.cards + other.cards,
    oldest: one.oldest < other.oldest ? one.oldest : other.oldest,
    until: one.until !== null && (other.until === null || one.until > other.until) ? one.until : other.until,
    overdue: one.overdue + other.overdue,
  };
}

function summary(merchants: readonly LivingCards[], destroyed: number): CardStatus {
  const sum = (rows: readonly LivingCards[], of: (row: LivingCards) => number) =>
    rows.reduce((total, row) => total + of(row), 0);
  const cards = merchants.filter(({ why }) => why !== 'direct debit');
  const dates = cards.filter(({ why }) => why !== 'token').map(({ oldest }) => oldest);
  return {
    cards: sum(cards, (row) => row.cards),
    overdue: sum(cards, (row) => row.overdue),
    oldest: dates.reduce<Date | null>(
      (oldest, date) => (oldest === null || date < oldest ? date : oldest),
      null,
    ),
    bankAccounts: sum(merchants, (row) => row.cards) - sum(cards, (row) => row.cards),
    destroyed,
    merchants: [...merchants].sort(
      (one, other) => one.merchant - other.merchant || one.why.localeCompare(other.why),
    ),
  };
}

const MERCHANT = optional(ID, '--merchant <id>', 'only this merchant', { names: 'merchants' });

export const CARDS = {
  name: 'cards',
  help: 'the sealed cards, and when they end',
  tasks: [
    task({
      name: 'cards status',
      help: 'look at every sealed card and say why it still lives; ends with 1 where one should be gone',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /cards',
      input: { merchant: MERCHANT },
      run: ({ database, progress }, { merchant }) => showCards(database, merchant, progress('cards')),
      says: ({ cards, overdue, oldest, bankAccounts, destroyed, merchants }) =>
        [
          `${cards} sealed cards${oldest === null ? '' : `; the oldest transaction with one is of ${oldest.toISOString()}`}.`,
          overdue === 0 ? 'None of them should be gone.' : `${overdue} of them should be gone, and are not.`,
          `${bankAccounts} sealed bank accounts of direct debits. ${destroyed} cards have been destroyed.`,
          table(merchants),
        ].join('\n'),
      fails: ({ overdue }) => overdue > 0,
    }),
    task({
      name: 'cards review',
      help: 'have every card looked at again from the beginning, while the gateway serves',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /cards/review',
      input: { merchant: MERCHANT },
      run: ({ database, actor }, { merchant }) =>
        database.transaction(async (connection) => {
          const { rows } = await connection.query<CardOwner>(REVIEW_CARDS_AGAIN, [merchant ?? null]);
          if (merchant !== undefined && rows.length === 0) refuse('merchant_not_found', { merchant });
          for (const owner of rows)
            await journal(connection, { ...owner, actor, action: 'cards.review_begun' });
          return { merchants: rows.length };
        }),
      says: ({ merchants }) =>
        `The cards of ${merchants} merchants are looked at again, by the gateways that are running.`,
    }),
  ],
} as const;
