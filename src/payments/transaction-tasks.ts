// What operators do with transactions: list and find them, look at one and at what is in doubt, void, refund and complete them.
import { randomUUID } from 'node:crypto';
import { AMOUNT_CENTS, choice, count, DAY, FROM, ID, type Kind, TEXT, text, UNTIL } from '../tasks/kinds.js';
import { type Doing, needed, optional, task } from '../tasks/task.js';
import { CARD_TYPES } from '../values/card.js';
import { Refusal, refuse } from '../values/refusal.js';
import { lines, table } from '../values/text-table.js';
import { writeWhole } from '../values/whole-file.js';
import { askNow, listDoubts } from './doubt/doubts.js';
import type { HistoryFilter } from './finding/history.js';
import {
  CSV_HEADER,
  csvOf,
  exportTransactions,
  type ListedTransaction,
  listTransactions,
  showTransaction,
} from './finding/listed-transactions.js';
import { searchTransactions } from './finding/transaction-search.js';
import { MONEY_PERMISSIONS, REASON, type RequestDoing, toldOf } from './requests/approvals.js';
import type { OperatorRequest } from './requests/operator-request.js';
import { type OperatorsWish, requestOperation } from './requests/operator-requests.js';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from './transaction.js';

const LISTED = 50;

const LAST_FOUR: Kind<string> = {
  read: (given) => (/^[0-9]{4}$/.test(given) ? given : undefined),
  mustBe: 'It must be four digits.',
  schema: { type: 'string', pattern: '^[0-9]{4}$' },
};

const ORGANISATION = optional(ID, '--organisation <id>', 'of this organisation', { names: 'organisations' });
const ONE = {
  audit: needed(ID, '<audit>', 'its number'),
  organisation: optional(ID, '--organisation <id>', 'the organisation, where several have such a number', {
    names: 'organisations',
  }),
};

/** What is looked at. */
export const TRANSACTIONS_SEEN = [
  task({
    name: 'transaction list',
    help: 'list transactions, the newest first; all filters must hold',
    role: 'viewer',
    scope: 'organisation',
    input: {
      organisation: ORGANISATION,
      merchant: optional(ID, '--merchant, --merchant-id <id>', 'of this merchant', { names: 'merchants' }),
      fromMs: optional(FROM, '--from <time>', 'made at or after: a day in Sydney, or an instant'),
      beforeMs: optional(UNTIL, '--until <time>', 'made at or before; of a day, all of it'),
      status: optional(choice(...TRANSACTION_STATUSES), '--status <status>', 'with this outcome'),
      transactionType: optional(choice(...TRANSACTION_TYPES), '--transaction-type <type>', 'of this type'),
      paymentMethod: optional(choice('creditcard', 'bankaccount'), '--payment-method <method>', 'paid with'),
      cardType: optional(choice(...CARD_TYPES, ''), '--card-type <type>', 'of this scheme'),
      lastFour: optional(LAST_FOUR, '--last-four <digits>', 'of a card whose number ends like this'),
      reference: optional(TEXT, '--reference <text>', 'with a reference that begins like this'),
      amountCents: optional(AMOUNT_CENTS, '--amount <cents>', 'of this amount'),
      settlementDate: optional(DAY, '--settlement-date <day>', 'that settle on this day'),
      acquirer: optional(TEXT, '--acquirer <name>', 'that went over this link'),
      responseCode: optional(TEXT, '--response-code <code>', 'that the acquirer answered with this code'),
      currency: optional(TEXT, '--currency <code>', 'in this currency'),
      customerId: optional(ID, '--customer, --customer-id <id>', 'paid with a token of this customer'),
      tokenId: optional(ID, '--token, --token-id <id>', 'paid with this token'),
      targetAudit: optional(ID, '--target-audit <audit>', 'done to this transaction'),
      limit: optional(count(), '--limit <count>', `how many at most; ${LISTED}, and all of them into a file`),
      csv: optional(TEXT, '--csv <file>', 'write them to a file; never overwrites another'),
    },
    run: async ({ database, actor }, { csv, limit, organisation, merchant, ...given }) => {
      const filter = given as HistoryFilter;
      const { fromMs = Number.NEGATIVE_INFINITY, beforeMs = Number.POSITIVE_INFINITY } = filter;
      if (fromMs >= beforeMs) refuse('period_ends_before_it_begins');
      const scope = { organisation, merchant };
      if (csv === undefined) return all(upTo(listTransactions(database, scope, filter), limit ?? LISTED));
      const pages = exportTransactions(database, actor, scope, filter, csv);
      return { transactions: await write(csv, upTo(pages, limit ?? Number.POSITIVE_INFINITY)), csv };
    },
    says: (result) =>
      'csv' in result ? `${result.transactions} transactions are in ${result.csv}.` : undefined,
  }),
  task({
    name: 'transaction show',
    help: 'show a transaction, what was done to it, and what was tried where it was in doubt',
    role: 'viewer',
    scope: 'organisation',
    input: ONE,
    run: ({ database }, { audit, organisation }) => showTransaction(database, audit, organisation),
    says: (transaction) => lines(transaction),
  }),
  task({
    name: 'transaction in-doubt',
    help: 'show what is unknown, since when, and what was tried; the oldest first',
    role: 'viewer',
    scope: 'organisation',
    input: {
      merchant: optional(ID, '--merchant <id>', 'only of this merchant', { names: 'merchants' }),
      limit: optional(count(), '--limit <count>', 'how many at most', { default: LISTED }),
    },
    run: ({ database }, wish) => listDoubts(database, wish),
  }),
  task({
    name: 'transaction find',
    help: 'find transactions by a text, whatever it may mean, and say what it was taken for',
    role: 'viewer',
    scope: 'organisation',
    input: {
      text: needed(
        TEXT,
        '<text>',
        'last four, amount, day, customer, reference, audit, correlation ID or virtual PAN; several in quotes',
      ),
      organisation: ORGANISATION,
      merchant: optional(ID, '--merchant <id>', 'of this merchant', { names: 'merchants' }),
    },
    run: async ({ database }, { text: wanted, ...scope }) => {
      const { results, understood } = await searchTransactions(database, scope, wanted);
      return { results, understood };
    },
    says: ({ results, understood }) => {
      if (understood.some(({ as }) => as === 'card_number'))
        return 'This is a card number. Nothing can be found by one: take its last four digits.';
      const meanings = understood.map(
        ({ as, found, more }) => `${found}${more ? ' or more' : ''} as ${as.replaceAll('_', ' ')}`,
      );
      return [...meanings, '', table(results)].join('\n').trimStart();
    },
  }),
] as const;

/** The first so many. */
async function* upTo(
  pages: AsyncIterable<ListedTransaction[]>,
  limit: number,
): AsyncGenerator<ListedTransaction[]> {
  let left = limit;
  for await (const page of pages) {
    yield page.slice(0, left);
    left -= page.length;
    if (left <= 0) return;
  }
}

async function all<Item>(pages: AsyncIterable<Item[]>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}

/** The file appears when it is whole, with a line of names first. */
async function write(path: string, pages: AsyncIterable<ListedTransaction[]>): Promise<number> {
  const { result } = await writeWhole(path, 'refuse', async (append) => {
    let written = 0;
    await append(CSV_HEADER);
    for await (const page of pages) {
      await append(csvOf(page));
      written += page.length;
    }
    return written;
  });
  return result;
}

const AMOUNT = { amountCents: optional(AMOUNT_CENTS, '--amount <cents>', 'how much; all that is left') };
const ASKED = {
  reason: needed(REASON, '--reason <text>', 'why; the journal has it'),
  organisation: ONE.organisation,
  // The page makes it when a form is opened, and sends it with every attempt.
  key: optional(text(64), '--key <key>', 'asked for again under the same key, it happens once', {
    neededByPage: true,
  }),
};

/** What is done to them, by the gateways. */
export const TRANSACTIONS_CHANGED = [
  task({
    ...MONEY_PERMISSIONS.void,
    help: 'void a transaction before it settles',
    route: 'POST /transactions/:organisation/:audit/void',
    fresh: true,
    input: { audit: ONE.audit, ...ASKED },
    run: (doing: RequestDoing, wish) => request(doing, { operation: 'void', ...wish }),
    says: toldOf,
  }),
  task({
    ...MONEY_PERMISSIONS.refund,
    help: 'refund a transaction, or a part of it',
    route: 'POST /transactions/:organisation/:audit/refund',
    fresh: true,
    input: { audit: ONE.audit, ...AMOUNT, ...ASKED },
    run: (doing: RequestDoing, wish) => request(doing, { operation: 'refund', ...wish }),
    says: toldOf,
  }),
  task({
    ...MONEY_PERMISSIONS.completion,
    help: 'complete a preauthorisation, or a part of it',
    route: 'POST /transactions/:organisation/:audit/completion',
    fresh: true,
    input: { audit: ONE.audit, ...AMOUNT, ...ASKED },
    run: (doing: RequestDoing, wish) => request(doing, { operation: 'completion', ...wish }),
    says: toldOf,
  }),
  task({
    name: 'transaction ask',
    help: 'have the acquirer asked at once about a transaction in doubt',
    role: 'operator',
    scope: 'organisation',
    route: 'POST /transactions/:organisation/:audit/ask',
    input: ONE,
    run: ({ database, actor, means }: Doing<{ readonly acquirerDeadlineMs: number }>, wish) =>
      askNow(database, actor, means.acquirerDeadlineMs, wish),
    says: ({ audit, asked, nextAttempt }) =>
      asked
        ? `The acquirer is asked about ${audit} at the next look of a gateway's resolver.`
        : `The acquirer is being asked about ${audit}, or will be by ${nextAttempt}.`,
  }),
] as const;

/** Where no key was given, whoever does not learn the outcome is told the one to ask again with. */
async function request(
  { database, actor, means }: RequestDoing,
  wish: Omit<OperatorsWish, 'key'> & { readonly key?: string | undefined },
): Promise<OperatorRequest> {
  const key = wish.key ?? randomUUID();
  const requests = await means.requests();
  return requestOperation(database, actor, requests, { ...wish, key }).catch((error: Error) => {
    const isUnknown = error instanceof Refusal && error.code === 'request_outcome_unknown';
    if (wish.key !== undefined || (error instanceof Refusal && !isUnknown)) throw error;
    const { reason } = isUnknown
      ? (error as Refusal<'request_outcome_unknown'>).details
      : { reason: error.message };
    throw new Refusal('request_outcome_unknown', { key, reason });
  });
}
