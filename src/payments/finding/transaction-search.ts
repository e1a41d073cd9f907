// Transactions as operators look for them: by filters, by one text that may mean several things, over one organisation or all;
// and as a file of comma-separated values, exactly those of a filter, a page at a time, however many there are.
import { gatewayTime } from '../../clock/gateway-clock.js';
import { journal } from '../../journal/journal.js';
import type { Queryable } from '../../postgres/database.js';
import { withShortTimeouts } from '../../postgres/short-timeout.js';
import { containsCardNumber, isVirtualPan } from '../../values/card.js';
import type { CustomerId, MerchantId, OrganisationId, TokenId } from '../../values/ids.js';
import type { Mode } from '../../values/mode.js';
import { centsByDecimals, centsIn, isCurrency } from '../../values/money.js';
import type { Page, PageEnd } from '../../values/page.js';
import { refuse } from '../../values/refusal.js';
import { isCorrelationId, isRestricted } from '../../values/text.js';
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
import { TRANSACTIONS_BY_AUDIT, TRANSACTIONS_BY_CORRELATION_ID } from './transaction-search.sql.js';

/** What is listed: all of it must hold. Names and meanings as in `GET /transactions/history`, and further ones. */
export interface TransactionFilter {
  readonly organisation?: number | undefined;
  readonly merchant?: number | undefined;
  readonly mode?: Mode | undefined;
  /** An instant, or a day in Sydney; of a day, `until` is all of it. */
  readonly from?: string | undefined;
  readonly until?: string | undefined;
  readonly status?: string | undefined;
  readonly transactionType?: string | undefined;
  readonly paymentMethod?: string | undefined;
  readonly cardType?: string | undefined;
  readonly lastFour?: string | undefined;
  readonly reference?: string | undefined;
  /** As people write it. */
  readonly amount?: string | undefined;
  readonly currency?: string | undefined;
  readonly settlementDate?: string | undefined;
  readonly acquirer?: string | undefined;
  readonly responseCode?: string | undefined;
  /** These three need an organisation: they are numbers within one. */
  readonly customerId?: number | undefined;
  readonly tokenId?: number | undefined;
  readonly targetAudit?: number | undefined;
  readonly checkoutId?: string | undefined;
}

type SearchMeaning =
  | 'audit'
  | 'correlation_id'
  | 'reference'
  | 'last_four'
  | 'amount'
  | 'virtual_pan'
  | 'customer'
  | 'card_number';

/** What a text was taken for. */
interface Understood {
  readonly as: SearchMeaning;
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

/** What was found of one meaning. */
interface Found {
  readonly understood: Understood;
  readonly transactions: readonly Transaction[];
}

/** By a text, whatever it may mean. The results of all its meanings, those of the likeliest first, each once. */
export async function searchTransactions(
  database: Queryable,
  scope: SearchScope,
  text: string,
): Promise<TransactionPage> {
  const field = await fieldOf(database, scope);
  const found: Found[] = [];
  for (const meaning of meaningsOf(text)) found.push(...(await lookFor(field, meaning)));
  const shown = new Map<string, ListedTransaction>();
  for (const { transactions } of found)
    for (const transaction of transactions)
      shown.set(`${transaction.organisationId}/${transaction.audit}`, field.listed(transaction));
  const understood = found
    .map((one) => one.understood)
    .filter((one) => one.found > 0 || one.more || one.as === 'card_number');
  return { results: [...shown.values()], end: null, understood };
}

async function lookFor(field: Field, meaning: Meaning): Promise<Found[]> {
  switch (meaning.as) {
    case 'audit':
      return [await exactly(field, meaning.as, TRANSACTIONS_BY_AUDIT, field.organisations, meaning.audit)];
    case 'correlation_id': {
      const { correlationId } = meaning;
      const organisations = field.merchants.map(({ organisation }) => organisation);
      return [await exactly(field, meaning.as, TRANSACTIONS_BY_CORRELATION_ID, organisations, correlationId)];
    }
    case 'reference': {
      const { reference } = meaning;
      return [await listedAs(field, meaning.as, { reference }, { reference })];
    }
    case 'last_four': {
      const { lastFour } = meaning;
      return [await listedAs(field, meaning.as, { lastFour }, { lastFour })];
    }
    case 'amount': {
      const { amount, currency } = meaning;
      return [await listedAs(field, meaning.as, { amount, currency }, { amount, currency })];
    }
    case 'virtual_pan':
      return paidWith(field, meaning.virtualPan);
    case 'customer':
      return paidBy(field, meaning);
    case 'card_number':
      return [{ understood: { as: meaning.as, found: 0, more: false }, transactions: [] }];
  }
}

async function exactly(
  field: Field,
  as: SearchMeaning,
  statement: typeof TRANSACTIONS_BY_AUDIT,
  organisations: readonly OrganisationId[],
  value: number | string,
): Promise<Found> {
  const values = [organisations, field.merchantIds, value, FOUND_OF_EACH];
  const { rows } = await field.database.query<TransactionRow>(statement, values);
  return { understood: { as, found: rows.length, more: false }, transactions: rows.map(transactionFrom) };
}

async function listedAs(
  field: Field,
  as: SearchMeaning,
  filter: HistoryFilter,
  shown: TransactionFilter,
  words?: string,
): Promise<Found> {
  const { items, end } = await field.page(filter, { limit: FOUND_OF_EACH });
  const understood = { as, found: items.length, more: end !== undefined, words };
  return { understood: { ...understood, filter: { ...field.scope, ...shown } }, transactions: items };
}

async function paidWith(field: Field, virtualPan: string): Promise<Found[]> {
  const tokens = await findTokens(field.database, virtualPan, field.organisations, field.merchantIds);
  return Promise.all(
    tokens.map(({ organisation, id }) =>
      listedAs(
        field.within(organisation),
        'virtual_pan',
        { tokenId: id as TokenId },
        { organisation, tokenId: id },
      ),
    ),
  );
}

async function paidBy(field: Field, meaning: Meaning & { readonly as: 'customer' }): Promise<Found[]> {
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
        name,
      ),
    ),
  );
}

type Meaning =
  | { readonly as: 'audit'; readonly audit: number }
  | { readonly as: 'last_four'; readonly lastFour: string }
  | { readonly as: 'amount'; readonly amount: string; readonly currency?: string }
  | { readonly as: 'virtual_pan'; readonly virtualPan: string }
  | { readonly as: 'correlation_id'; readonly correlationId: string }
  | { readonly as: 'reference'; readonly reference: string }
  | { readonly as: 'customer'; readonly text: string; readonly id?: number }
  /** Is looked for nowhere: nothing is stored by which it could be found. */
  | { readonly as: 'card_number' };

/** Longer ones mean nothing. */
const MOST_CHARACTERS = 128;
const MAX_NUMBER = 2_147_483_647;
/** Of a customer's name or reference; fewer would be in too many. */
const LEAST_CHARACTERS_OF_CUSTOMER = 3;

/** The most likely first. */
function meaningsOf(given: string): Meaning[] {
  const text = given.trim();
  if (text === '' || text.length > MOST_CHARACTERS) return [];
  // guard(console: a card number is looked for nowhere): if (containsCardNumber(text)) return [{ as: 'card_number' }]; ⇒
  if (containsCardNumber(text)) return [{ as: 'card_number' }];
  const joined = text.replaceAll(/[ -]/g, '');
  if (isVirtualPan(joined)) return [{ as: 'virtual_pan', virtualPan: joined }];
  return [...numbers(text), ...texts(text)];
}

function numbers(text: string): Meaning[] {
  const meanings: Meaning[] = [];
  const number = /^[0-9]{1,10}$/.test(text) ? Number(text) : 0;
  const isId = number > 0 && number <= MAX_NUMBER;
  if (isId) meanings.push({ as: 'audit', audit: number });
  if (/^[0-9]{4}$/.test(text)) meanings.push({ as: 'last_four', lastFour: text });
  const amount = amountIn(text);
  if (amount !== undefined) meanings.push({ as: 'amount', ...amount });
  if (isId) meanings.push({ as: 'customer', text, id: number });
  return meanings;
}

/** As people write it: `20`, `19.95`, `$1,200.00`, `AUD 19.95`. */
function amountIn(text: string): { amount: string; currency?: string } | undefined {
  const found = /^(?:([A-Za-z]{3}) ?)?\$? ?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,12})(\.[0-9]{2,3})?$/.exec(text);
  if (found === null) return undefined;
  const [, code, whole = '', part = ''] = found;
  const amount = whole.replaceAll(',', '') + part;
  if (code === undefined) return centsByDecimals(amount).some((cents) => cents) ? { amount } : undefined;
  const currency = code.toUpperCase();
  return isCurrency(currency) && centsIn(amount, currency) ? { amount, currency } : undefined;
}

function texts(text: string): Meaning[] {
  const meanings: Meaning[] = [];
  if (isCorrelationId(text)) meanings.push({ as: 'correlation_id', correlationId: text });
  if (isRestricted(text)) meanings.push({ as: 'reference', reference: text });
  if (!/^[0-9]+$/.test(text) && text.length >= LEAST_CHARACTERS_OF_CUSTOMER)
    meanings.push({ as: 'customer', text });
  return meanings;
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
