// The sealed cards as operators see them: how many there are, why each is kept, and whether any is overdue for destruction.
import { journal } from '../../journal/journal.js';
import type { Database, Queryable, Statement } from '../../postgres/database.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import { refuse } from '../../values/refusal.js';
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

export interface LivingCards {
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

export interface CardStatus {
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

export interface CardStatusWish {
  /** Only this merchant's cards; all merchants' if absent. */
  readonly merchant?: number | undefined;
  readonly progress?: (done: number, total: number) => void;
}

interface Counted {
  readonly id: OrganisationId;
  readonly lastAudit: number;
  readonly lastToken: number;
}

/** Examines every sealed card, and trusts nothing that the destruction has recorded about itself. */
export async function showCards(
  database: Queryable,
  { merchant, progress = () => {} }: CardStatusWish = {},
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

/** Has the background run review every card from the beginning. Returns the number of merchants. */
export function reviewCards(database: Database, operator: string, merchant?: number): Promise<number> {
  return database.transaction(async (connection) => {
    const { rows } = await connection.query<CardOwner>(REVIEW_CARDS_AGAIN, [merchant ?? null]);
    if (merchant !== undefined && rows.length === 0) refuse('merchant_not_found', { merchant });
    for (const owner of rows)
      await journal(connection, { ...owner, actor: operator, action: 'cards.review_begun' });
    return rows.length;
  });
}
