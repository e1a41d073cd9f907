// Transactions as operators look for them: by filters, by one text that may mean several things, over one organisation or all;
// and as a file of comma-separated values, exactly those of a filter, a page at a time, however many there are.
import { gatewayTime } from '../../clock/gateway-clock.js';
import { journal } from '../../journal/journal.js';
import type { Queryable } from '../../postgres/database.js';
import { withShortTimeouts } from '../../postgres/short-timeout.js';
import type { CustomerId, MerchantId, OrganisationId, TokenId } from '../../values/ids.js';
import type { Mode } from '../../values/mode.js';
import type { Page, PageEnd } from '../../values/page.js';
import { refuse } from '../../values/refusal.js';
import { periodEnd, periodStart, sydneyDate } from '../../values/time.js';
import { findCustomers, findTokens } from '../../vault/customer-search.js';
import type { Transaction } from '../transaction.js';
import { History, type HistoryFilter, type MerchantKey } from './history.js';
import {
  CSV_HEADER,
  csvOf,
  type ListedTransaction,
  listed,
  type MerchantToList,
  modesOf,
  narrowedBy,
} from './listed-transactions.js';
import { MERCHANTS_TO_LIST } from './listed-transactions.sql.js';
import { type TransactionRow, transactionFrom } from './lookup.js';
import { type Meaning, meaningsOf, type Narrowing } from './search-text.js';
import { TRANSACTIONS_BY_AUDIT, TRANSACTIONS_BY_CORRELATION_ID } from './transaction-search.sql.js';

/** What is listed: all of it must hold. Names and meanings as in `GET /transactions/history`, and further ones. */
export interface TransactionFilter extends Narrowing {
  readonly organisation?: number | undefined;
  readonly merchant?: number | undefined;
  readonly mode?: Mode | undefined;
  readonly reference?: string | undefined;
  readonly settlementDate?: string | undefined;
  readonly acquirer?: string | undefined;
  readonly responseCode?: string | undefined;
  /** These three need an organisation: they are numbers within one. */
  readonly customerId?: number | undefined;
  readonly tokenId?: number | undefined;
  readonly targetAudit?: number | undefined;
  readonly checkoutId?: string | undefined;
}

/** What a text was taken for. */
interface Understood {
  readonly as: Meaning['as'];
  /** What was found of it, up to as many as are shown; and whether there may be more. */
  readonly found: number;
  readonly more: boolean;
  /** Shows all of it. Absent where it means exactly the transactions that are shown. */
  readonly filter?: TransactionFilter | undefined;
  /** In words, such as the customer's name. */
  readonly words?: string | undefined;
}

export interface TransactionPage {
  readonly results: readonly ListedTransaction[];
  /** Where the next page goes on, if there may be more. A page of a rare kind may be short, or empty, and have a next all the same. */
  readonly end: PageEnd | null;
  /** Where a text was looked for: everything that it may have meant. */
  readonly understood: readonly Understood[];
}

/** Whose transactions. Where an operator is limited to an organisation, that is the one. */
export interface SearchScope {
  readonly organisation?: number | undefined;
  readonly merchant?: number | undefined;
  readonly mode?: Mode | undefined;
}

interface WishedPage {
  readonly limit: number;
  readonly after?: PageEnd | undefined;
}

/** So many of each thing that a text may mean, where it may mean several. */
const FOUND_OF_EACH = 20;
const CUSTOMERS_AT_MOST = 5;
/** What is rare lies far back: so long further pages are looked at for the first of a meaning. */
const LOOKED_FOR_MS = 500;
/** Of a file, at a time. */
const PAGE_OF_FILE = 100;

/** The merchants in scope, and how their transactions are listed. */
class Field {
  readonly #history: History;
  readonly #modes: ReturnType<typeof modesOf>;

  constructor(
    readonly database: Queryable,
    readonly scope: SearchScope,
    readonly merchants: readonly MerchantToList[],
  ) {
    this.#history = new History({ of: () => database });
    this.#modes = modesOf(merchants);
  }

  get organisations(): OrganisationId[] {
    return [...new Set(this.merchants.map(({ organisation }) => organisation))];
  }

  get merchantIds(): MerchantId[] {
    return this.merchants.map(({ id }) => id);
  }

  async page(filter: HistoryFilter, { limit, after }: WishedPage): Promise<Page<Transaction>> {
    if (this.merchants.length === 0) return { items: [], end: undefined };
    const nowMs = await gatewayTime(this.database);
    const [organisationId, another] = this.organisations;
    const wish = { ...filter, limit, after, nowMs };
    if (organisationId !== undefined && another === undefined)
      return this.#history.page({ ...wish, organisationId, merchantIds: this.merchantIds });
    const { customerId, tokenId, targetAudit, ...anywhere } = wish;
    // Numbers within an organisation say nothing about several.
    if ([customerId, tokenId, targetAudit].some((number) => number !== undefined))
      refuse('several_organisations');
    const merchants: MerchantKey[] = this.merchants.map(({ organisation, id }) => ({
      organisationId: organisation,
      merchantId: id,
    }));
    return this.#history.pageAnywhere({ ...anywhere, merchants }, this.database);
  }

  /** The same merchants, of one organisation. */
  within(organisation: number): Field {
    const merchants = this.merchants.filter((merchant) => merchant.organisation === organisation);
    return new Field(this.database, { ...this.scope, organisation }, merchants);
  }

  listed(transaction: Transaction): ListedTransaction {
    return listed(transaction, this.#modes);
  }
}

async function fieldOf(database: Queryable, scope: SearchScope): Promise<Field> {
  const { merchant, organisation, mode } = scope;
  const values = [merchant ?? null, organisation ?? null, mode ?? null];
  const { rows } = await database.query<MerchantToList>(MERCHANTS_TO_LIST, values);
  if (merchant !== undefined && rows.length === 0) refuse('merchant_not_found', { merchant });
  return new Field(database, scope, rows);
}

/** A page by filters, the newest first. */
export async function findTransactions(
  database: Queryable,
  scope: SearchScope,
  filter: HistoryFilter,
  wish: WishedPage,
): Promise<TransactionPage> {
  const field = await fieldOf(database, scope);
  const { items, end = null } = await field.page(filter, wish);
  return { results: items.map((item) => field.listed(item)), end, understood: [] };
}

/** Everything by filters, a page at a time. */
export async function* everyTransaction(
  database: Queryable,
  scope: SearchScope,
  filter: HistoryFilter,
): AsyncGenerator<ListedTransaction[]> {
  const field = await fieldOf(database, scope);
  let after: PageEnd | undefined;
  do {
    const page = await field.page(filter, { limit: PAGE_OF_FILE, after });
    yield page.items.map((item) => field.listed(item));
    after = page.end;
  } while (after !== undefined);
}

/** What the transactions of a filter come to. */
export interface TransactionTotals {
  readonly count: number;
  /** There are more than were added up. */
  readonly more: boolean;
  readonly sums: readonly TransactionSum[];
}

interface TransactionSum {
  readonly currency: string;
  /** Of approved and pending purchases and completions. */
  readonly takenCents: number;
  /** Of refunds. */
  readonly givenBackCents: number;
}

const MOST_ADDED_UP = 10_000;
const ADDED_UP_AT_A_TIME = 500;
const ADDED_UP_FOR_MS = 2_000;

export async function totalTransactions(
  database: Queryable,
  scope: SearchScope,
  filter: HistoryFilter,
): Promise<TransactionTotals> {
  const field = await fieldOf(database, scope);
  const untilMs = performance.now() + ADDED_UP_FOR_MS;
  const sums = new Map<string, TransactionSum>();
  let count = 0;
  let after: PageEnd | undefined;
  do {
    const { items, end } = await field.page(filter, { limit: ADDED_UP_AT_A_TIME, after });
    for (const { currency, amountCents, status, transactionType } of items) {
      const { takenCents, givenBackCents } = sums.get(currency) ?? { takenCents: 0, givenBackCents: 0 };
      const happened = status === 'approved' || status === 'pending' ? amountCents : 0;
      const isTaken = transactionType === 'purchase' || transactionType === 'completion';
      const isGivenBack = transactionType === 'refund' || transactionType === 'standalone_refund';
      sums.set(currency, {
        currency,
        takenCents: takenCents + (isTaken ? happened : 0),
        givenBackCents: givenBackCents + (isGivenBack ? happened : 0),
      });
    }
    count += items.length;
    after = end;
  } while (after !== undefined && count < MOST_ADDED_UP && performance.now() < untilMs);
  return { count, more: after !== undefined, sums: [...sums.values()] };
}

/** What was found of one meaning. */
interface Found {
  readonly understood: Understood;
  readonly transactions: readonly Transaction[];
}

/** What else is narrowed to, beside a text: as the list is filtered, and as an address says it. */
interface Beside {
  readonly filter: HistoryFilter;
  readonly shown: TransactionFilter;
}

/** By a text, whatever it may mean. The results of all its meanings, those of the likeliest first, each once. */
export async function searchTransactions(
  database: Queryable,
  scope: SearchScope,
  text: string,
  beside: Beside = { filter: {}, shown: {} },
): Promise<TransactionPage> {
  const field = await fieldOf(database, scope);
  const found: Found[] = [];
  for (const meaning of meaningsOf(text, sydneyDate(await gatewayTime(database)))) {
    const narrowed = narrowedTo(beside, meaning.narrowing);
    if (narrowed !== undefined) found.push(...(await lookFor(field, meaning, narrowed)));
  }
  const shown = new Map<string, ListedTransaction>();
  for (const { transactions } of found)
    for (const transaction of transactions)
      shown.set(`${transaction.organisationId}/${transaction.audit}`, field.listed(transaction));
  const understood = found
    .map((one) => one.understood)
    .filter((one) => one.found > 0 || one.more || one.as === 'card_number');
  return { results: [...shown.values()], end: null, understood };
}

/** All of both must hold. Undefined where that cannot be. */
function narrowedTo({ filter, shown }: Beside, narrowing: Narrowing): Beside | undefined {
  const { from, until, ...same } = narrowing;
  for (const [name, value] of Object.entries(same))
    if ((shown[name as keyof TransactionFilter] ?? value) !== value) return undefined;
  const fromMs = latest(filter.fromMs, from === undefined ? undefined : periodStart(from));
  const beforeMs = earliest(filter.beforeMs, until === undefined ? undefined : periodEnd(until));
  if (fromMs !== undefined && beforeMs !== undefined && fromMs >= beforeMs) return undefined;
  return {
    filter: { ...filter, ...(same as HistoryFilter), fromMs, beforeMs },
    shown: {
      ...shown,
      ...same,
      ...(fromMs !== undefined && { from: fromMs === filter.fromMs ? shown.from : from }),
      ...(beforeMs !== undefined && { until: beforeMs === filter.beforeMs ? shown.until : until }),
    },
  };
}

function latest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : Math.max(one, other ?? one);
}

function earliest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : Math.min(one, other ?? one);
}

async function lookFor(field: Field, meaning: Meaning, beside: Beside): Promise<Found[]> {
  switch (meaning.as) {
    case 'audit':
      return [await byAudit(field, meaning.audit, beside)];
    case 'correlation_id': {
      const { as, correlationId } = meaning;
      const values = [
        field.merchants.map(({ organisation }) => organisation),
        field.merchantIds,
        correlationId,
        FOUND_OF_EACH,
      ];
      const { rows } = await field.database.query<TransactionRow>(TRANSACTIONS_BY_CORRELATION_ID, values);
      return [await exactly(field, as, rows, beside)];
    }
    case 'reference': {
      const { reference } = meaning;
      return [await listedAs(field, meaning.as, { reference }, { reference }, beside)];
    }
    case 'last_four':
    case 'amount':
    case 'day':
    case 'words':
    case 'together':
      return [await listedAs(field, meaning.as, {}, {}, beside)];
    case 'virtual_pan':
      return paidWith(field, meaning.virtualPan, beside);
    case 'customer':
      return paidBy(field, meaning, beside);
    case 'card_number':
      return [{ understood: { as: meaning.as, found: 0, more: false }, transactions: [] }];
  }
}

async function byAudit(field: Field, audit: number, beside: Beside): Promise<Found> {
  const values = [field.organisations, field.merchantIds, audit, FOUND_OF_EACH];
  const { rows } = await field.database.query<TransactionRow>(TRANSACTIONS_BY_AUDIT, values);
  return exactly(field, 'audit', rows, beside);
}

/** Few, and found by what only they have. What the list is narrowed to holds for them, too. */
async function exactly(
  field: Field,
  as: Meaning['as'],
  rows: readonly TransactionRow[],
  { filter }: Beside,
): Promise<Found> {
  const keyOf = ({ organisationId, audit }: { organisationId: OrganisationId; audit: number }) =>
    `${organisationId}/${audit}`;
  let transactions = rows.map(transactionFrom);
  if (transactions.length > 0 && Object.values(filter).some((value) => value !== undefined)) {
    const wanted = new Set(transactions.map(keyOf));
    const correlationIds = transactions
      .map(({ correlationId }) => correlationId)
      .filter((id) => filter.correlationIds?.includes(id) ?? true);
    const { items } = await field.page({ ...filter, correlationIds }, { limit: PAGE_OF_FILE });
    transactions = items.filter((item) => wanted.has(keyOf(item)));
  }
  return { understood: { as, found: transactions.length, more: false }, transactions };
}

async function listedAs(
  field: Field,
  as: Meaning['as'],
  found: HistoryFilter,
  said: TransactionFilter,
  { filter, shown }: Beside,
  words?: string,
): Promise<Found> {
  const untilMs = performance.now() + LOOKED_FOR_MS;
  let after: PageEnd | undefined;
  let page: Page<Transaction>;
  do {
    page = await field.page({ ...filter, ...found }, { limit: FOUND_OF_EACH, after });
    after = page.end;
  } while (page.items.length === 0 && after !== undefined && performance.now() < untilMs);
  const { items, end } = page;
  const understood = { as, found: items.length, more: end !== undefined, words };
  return {
    understood: { ...understood, filter: { ...field.scope, ...shown, ...said } },
    transactions: items,
  };
}

async function paidWith(field: Field, virtualPan: string, beside: Beside): Promise<Found[]> {
  const tokens = await findTokens(field.database, virtualPan, field.organisations, field.merchantIds);
  return Promise.all(
    tokens.map(({ organisation, id }) =>
      listedAs(
        field.within(organisation),
        'virtual_pan',
        { tokenId: id as TokenId },
        { organisation, tokenId: id },
        beside,
      ),
    ),
  );
}

async function paidBy(
  field: Field,
  meaning: Meaning & { readonly as: 'customer' },
  beside: Beside,
): Promise<Found[]> {
  const { results } = await findCustomers(field.database, field.scope, meaning.id ?? meaning.text, {
    limit: CUSTOMERS_AT_MOST,
  });
  return Promise.all(
    results.map(({ organisation, id, name }) =>
      listedAs(
        field.within(organisation),
        'customer',
        { customerId: id as CustomerId },
        { organisation, customerId: id },
        beside,
        name,
      ),
    ),
  );
}

/** That somebody takes them away is journalled before the first line. */
export async function transactionFile(
  database: Queryable,
  actor: string,
  scope: SearchScope,
  filter: HistoryFilter,
  /** Aborted when whoever wanted the file is gone. */
  signal?: AbortSignal,
): Promise<AsyncGenerator<string>> {
  // What is refused is refused before a file is begun.
  const pages = everyTransaction(withShortTimeouts(database), scope, filter);
  const first = await pages.next();
  await journal(database, {
    actor,
    // guard(console: that a file was taken is journalled): exported ⇒ resolved
    action: 'transaction.exported',
    organisationId: scope.organisation as OrganisationId | undefined,
    detail: `to the console${narrowedBy(filter)}`,
  });
  return lines(first, pages, signal);
}

async function* lines(
  first: IteratorResult<ListedTransaction[]>,
  pages: AsyncGenerator<ListedTransaction[]>,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  yield CSV_HEADER;
  for (let page = first; page.done !== true && signal?.aborted !== true; page = await pages.next()) {
    if (page.value.length > 0) yield csvOf(page.value);
  }
}
