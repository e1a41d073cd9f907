// Lists of transactions, the newest first: by which index a list is walked, how far each page looks, and where it ended.
import { isStatementTimeout, type Queryable, type Statement } from '../../postgres/database.js';
import { fault } from '../../values/faults.js';
import type { Audit, CustomerId, MerchantId, OrganisationId, TokenId } from '../../values/ids.js';
import { centsByDecimals, centsWhateverDecimals } from '../../values/money.js';
import type { Page, PageEnd } from '../../values/page.js';
import { previousBusinessDay, settlementCutOff } from '../../values/time.js';
import { TOKENS_EVER_OF_CUSTOMER } from '../../vault/tokens.sql.js';
import type { Transaction, TransactionStatus, TransactionType } from '../transaction.js';
import {
  AND_LANE,
  ANYWHERE,
  AT_PLACE_ANYWHERE,
  AT_PLACE_IN_ORGANISATION,
  BY_REFERENCE,
  COUNT_REFERENCES,
  COUNT_REFERENCES_ANYWHERE,
  END_OF_LANE,
  END_OF_PAGE,
  EVERY_TRANSACTION,
  IN_LANE,
  IN_ORDER,
  IN_ORGANISATION,
  LANE,
  LANES_ANYWHERE,
  LANES_OF_ORGANISATION,
  OF_BANK_ACCOUNT,
  OF_CORRELATION_IDS,
  OF_REFERENCE,
  OF_TARGET,
  OF_TOKEN,
  OF_TYPE,
  ONCE_IN_DOUBT,
  PAGE,
  SINCE,
  WAITED_FOR_A_FILE,
  WHERE,
} from './history.sql.js';
import { notProven, type TransactionRow, transactionFrom } from './lookup.js';

/** Whose transactions: where the lanes come from, what a row must be, and how it is found again. */
interface Scope {
  readonly name: string;
  readonly lanes: string;
  readonly within: string;
  readonly atPlace: string;
}

const ONE_ORGANISATION: Scope = {
  name: '',
  lanes: LANES_OF_ORGANISATION,
  within: IN_ORGANISATION,
  atPlace: AT_PLACE_IN_ORGANISATION,
};
const SEVERAL_ORGANISATIONS: Scope = {
  name: 'anywhere-',
  lanes: LANES_ANYWHERE,
  within: ANYWHERE,
  atPlace: AT_PLACE_ANYWHERE,
};

type LaneOfScope = (scope: Scope) => string;

function lane(...conditions: readonly string[]): LaneOfScope {
  return ({ lanes, within }) =>
    [lanes, LANE, EVERY_TRANSACTION, WHERE, within, IN_LANE, ...conditions, END_OF_LANE].join('');
}

function laneByReference({ lanes, within }: Scope): string {
  const source = [BY_REFERENCE, within, OF_REFERENCE].join('');
  return [lanes, LANE, source, WHERE, within, IN_LANE, SINCE, END_OF_LANE].join('');
}

const LANES = {
  time: [lane(SINCE)],
  /** Older ones only where they were once in doubt, or waited for a file. */
  lately: [lane(SINCE), lane(ONCE_IN_DOUBT), lane(WAITED_FOR_A_FILE)],
  token: [lane(SINCE, OF_TOKEN)],
  target: [lane(SINCE, OF_TARGET)],
  correlationIds: [lane(SINCE, OF_CORRELATION_IDS)],
  reference: [laneByReference],
  type: [lane(SINCE, OF_TYPE)],
  bankAccount: [lane(SINCE, OF_BANK_ACCOUNT)],
} as const satisfies Readonly<Record<string, readonly LaneOfScope[]>>;

type HistoryPath = keyof typeof LANES;
type HistoryPages = Readonly<Record<HistoryPath, Statement>>;

function pagesIn(scope: Scope): HistoryPages {
  const pages = Object.entries(LANES).map(([path, lanes]): [string, Statement] => {
    const kept = lanes.map((laneIn) => laneIn(scope)).join(AND_LANE);
    const name = `history-${scope.name}${path}`;
    return [path, { name, text: [PAGE, kept, END_OF_PAGE, scope.atPlace, IN_ORDER].join('') }];
  });
  return Object.fromEntries(pages) as HistoryPages;
}

export const HISTORY_PAGES = pagesIn(ONE_ORGANISATION);
export const HISTORY_PAGES_ANYWHERE = pagesIn(SEVERAL_ORGANISATIONS);

/** What is listed: all of it must hold. */
export interface HistoryFilter {
  readonly fromMs?: number | undefined;
  /** Itself not included. */
  readonly beforeMs?: number | undefined;
  readonly status?: TransactionStatus | undefined;
  readonly transactionType?: TransactionType | undefined;
  readonly paymentMethod?: 'creditcard' | 'bankaccount' | undefined;
  readonly cardType?: string | undefined;
  readonly lastFour?: string | undefined;
  /** The beginning of it. */
  readonly reference?: string | undefined;
  readonly amountCents?: number | undefined;
  /** As people write it, in whichever currency: `20` finds 20.00 AUD, 20 JPY and 20.000 KWD. */
  readonly amount?: string | undefined;
  readonly settlementDate?: string | undefined;
  readonly customerId?: CustomerId | undefined;
  readonly tokenId?: TokenId | undefined;
  readonly targetAudit?: Audit | undefined;
  /** One of these, few as they are. */
  readonly correlationIds?: readonly string[] | undefined;
  readonly acquirer?: string | undefined;
  /** Empty: without one. */
  readonly responseCode?: string | undefined;
  readonly currency?: string | undefined;
}

interface WishedPage extends HistoryFilter {
  readonly limit: number;
  readonly after?: PageEnd | undefined;
  readonly nowMs: number;
}

export interface HistoryWish extends WishedPage {
  readonly organisationId: OrganisationId;
  readonly merchantIds: readonly MerchantId[];
}

export interface MerchantKey {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
}

/** Over several organisations. Customers, tokens and audits are numbers within one. */
interface HistoryAnywhereWish extends Omit<WishedPage, 'customerId' | 'tokenId' | 'targetAudit'> {
  readonly merchants: readonly MerchantKey[];
}

/** What is walked for: of one organisation, or of all that the merchants are of. */
interface Wish extends WishedPage {
  readonly organisationId?: OrganisationId;
  readonly merchants: readonly MerchantKey[];
}

/** A merchant's transactions; or those of one token. */
interface Lane extends MerchantKey {
  readonly tokenId?: TokenId;
}

/** How a list is walked. */
interface Walk {
  readonly path: HistoryPath;
  readonly lanes: readonly Lane[];
  /** Where the lanes end, in the past. */
  readonly sinceMs?: number | undefined;
  /** How many rows are looked at, in all lanes together. */
  readonly looks: number;
}

interface Row extends TransactionRow {
  readonly createdUs: number | null;
  readonly horizonUs: number | null;
  readonly horizonAudit: number | null;
}

/** How many rows a page looks at. One that has found less than it may hold by then says where the next goes on. */
export const LOOKS_AT_MOST = 20_000;
/** And for how long, if it has looked at so many by then: rows of a small tenant lie far apart, and may have to come from a disk. */
const LOOKS_FOR_MS = 25;
export const LOOKS_AT_LEAST = 2_000;
/** How many rows of all lanes together are sorted for a page. */
const KEPT_AT_MOST = 2_000;
/** So many of one reference are read and sorted. Where there are more, they are met along the way. */
export const SORTED_AT_MOST = 5_000;
/** After this long a transaction in doubt has been handed to the resolver, if nothing is amiss. */
const RESOLVER_HAS_IT_MS = 6 * 3_600_000;
/** An acquirer that names the settlement date may close its day so much earlier or later than the gateway does. */
const ACQUIRERS_DAY_DIFFERS_MS = 6 * 3_600_000;

export class History {
  /** `connections`: for lists of an organisation, whose statements have little time. */
  constructor(private readonly connections: { of(organisationId: OrganisationId): Queryable }) {}

  page({ organisationId, merchantIds, ...wish }: HistoryWish): Promise<Page<Transaction>> {
    const merchants = merchantIds.map((merchantId) => ({ organisationId, merchantId }));
    return this.#page({ ...wish, organisationId, merchants }, this.connections.of(organisationId));
  }

  /** For operators, on a connection of their own. */
  pageAnywhere(wish: HistoryAnywhereWish, database: Queryable): Promise<Page<Transaction>> {
    return this.#page(wish, database);
  }

  async #page(wish: Wish, database: Queryable): Promise<Page<Transaction>> {
    try {
      const walk = await this.#walkFor(wish, database);
      const pages = wish.organisationId === undefined ? HISTORY_PAGES_ANYWHERE : HISTORY_PAGES;
      const page = database.query<Row>(pages[walk.path], parametersOf(wish, walk));
      // Nothing is left out because the server was left behind: it could not have committed this.
      const { rows } = await page.catch(notProven);
      return pageOf(rows, wish.limit);
    } catch (error) {
      throw isStatementTimeout(error) ? fault('search_too_slow', 'search') : error;
    }
  }

  /** The index by which the fewest rows have to be looked at. */
  async #walkFor(wish: Wish, database: Queryable): Promise<Walk> {
    const { customerId, tokenId, reference, merchants, correlationIds } = wish;
    const along = (path: HistoryPath, sinceMs = wish.fromMs): Walk => {
      return { path, lanes: merchants, sinceMs, looks: LOOKS_AT_MOST };
    };
    const byToken = correlationIds === undefined ? 'token' : 'correlationIds';
    if (customerId !== undefined) {
      return { ...along(byToken), lanes: await this.#tokensOf(wish, customerId, database) };
    }
    if (tokenId !== undefined) {
      return { ...along(byToken), lanes: merchants.map((merchant) => ({ ...merchant, tokenId })) };
    }
    if (correlationIds !== undefined) return along('correlationIds');
    if (wish.targetAudit !== undefined) return along('target');
    if (reference !== undefined && (await this.#isRare(wish, reference, database))) {
      return { ...along('reference'), looks: (SORTED_AT_MOST + 1) * merchants.length };
    }
    if (wish.transactionType !== undefined && wish.transactionType !== 'purchase') return along('type');
    // Nothing else is ever pending.
    if (wish.paymentMethod === 'bankaccount' || wish.status === 'pending') return along('bankAccount');
    const sinceMs = lately(wish);
    return sinceMs > (wish.fromMs ?? Number.NEGATIVE_INFINITY) ? along('lately', sinceMs) : along('time');
  }

  async #tokensOf(
    { organisationId, merchants, tokenId }: Wish,
    customerId: CustomerId,
    database: Queryable,
  ): Promise<Lane[]> {
    const values = [organisationId, customerId];
    const { rows } = await database.query<{ id: TokenId; merchantId: MerchantId }>(
      TOKENS_EVER_OF_CUSTOMER,
      values,
    );
    return rows.flatMap(({ id, merchantId }) => {
      const merchant = merchants.find((one) => one.merchantId === merchantId);
      return merchant === undefined || id !== (tokenId ?? id) ? [] : [{ ...merchant, tokenId: id }];
    });
  }

  async #isRare(
    { organisationId, merchants }: Wish,
    reference: string,
    database: Queryable,
  ): Promise<boolean> {
    const statement = organisationId === undefined ? COUNT_REFERENCES_ANYWHERE : COUNT_REFERENCES;
    const whose = organisationId ?? merchants.map((merchant) => merchant.organisationId);
    const ofMerchants = merchants.map(({ merchantId }) => merchantId);
    const values = [whose, ofMerchants, reference, SORTED_AT_MOST + 1];
    const { rows } = await database.query<{ count: number }>(statement, values);
    return (rows[0] as { count: number }).count <= SORTED_AT_MOST;
  }
}

/** Since when every match was made, unless it was in doubt for long: transactions are decided within moments. */
function lately({ settlementDate, status, nowMs }: Wish): number {
  if (settlementDate !== undefined)
    return settlementCutOff(previousBusinessDay(settlementDate)) - ACQUIRERS_DAY_DIFFERS_MS;
  return status === 'unknown' ? nowMs - RESOLVER_HAS_IT_MS : Number.NEGATIVE_INFINITY;
}

/** Before when every match was made. */
function latest({ settlementDate, beforeMs = Number.POSITIVE_INFINITY }: Wish): number {
  if (settlementDate === undefined) return beforeMs;
  return Math.min(beforeMs, settlementCutOff(settlementDate) + ACQUIRERS_DAY_DIFFERS_MS);
}

function parametersOf(wish: Wish, { path, lanes, sinceMs, looks }: Walk): unknown[] {
  const beforeUs = latest(wish) * 1000;
  const { place, id } = wish.after ?? { place: 'Infinity', id: 0 };
  const goesOn = Number(place) <= beforeUs;
  // One more than asked for tells whether there is a next page.
  const wanted = wish.limit + 1;
  const kept = Math.min(wanted, Math.max(2, Math.ceil(KEPT_AT_MOST / Math.max(1, lanes.length))));
  return [
    wish.organisationId ?? lanes.map(({ organisationId }) => organisationId),
    lanes.map(({ merchantId }) => merchantId),
    lanes.map(({ tokenId }) => tokenId ?? null),
    microseconds(sinceMs),
    goesOn ? finite(Number(place)) : finite(beforeUs),
    goesOn ? id : 0,
    wanted,
    kept,
    filtered(wish) ? Math.max(kept, Math.ceil(looks / Math.max(1, lanes.length))) : kept,
    wish.status ?? null,
    wish.transactionType ?? null,
    wish.paymentMethod ?? null,
    wish.cardType ?? null,
    wish.lastFour ?? null,
    wish.reference ?? null,
    amountsOf(wish),
    wish.settlementDate ?? null,
    wish.targetAudit ?? null,
    Math.ceil(LOOKS_AT_LEAST / Math.max(1, lanes.length)),
    LOOKS_FOR_MS,
    wish.acquirer ?? null,
    wish.responseCode ?? null,
    wish.currency ?? null,
    ...(path === 'lately' ? [microseconds(wish.fromMs)] : []),
    ...(path === 'correlationIds' ? [wish.correlationIds] : []),
  ];
}

/** By decimals of the currency. */
function amountsOf({ amountCents, amount }: Wish): readonly (number | null)[] | null {
  if (amountCents !== undefined) return centsWhateverDecimals(amountCents);
  return amount === undefined ? null : centsByDecimals(amount);
}

/** Whether some of what is looked at may not match. */
function filtered({
  status,
  cardType,
  lastFour,
  amountCents,
  amount,
  settlementDate,
  ...wish
}: Wish): boolean {
  const { acquirer, responseCode, currency } = wish;
  const others = [wish.transactionType, wish.paymentMethod, wish.reference, wish.targetAudit];
  others.push(acquirer, responseCode, currency);
  return [status, cardType, lastFour, amountCents, amount, settlementDate, ...others].some(
    (filter) => filter !== undefined,
  );
}

function microseconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms * 1000;
}

function finite(us: number): number | null {
  return Number.isFinite(us) ? us : null;
}

/**
 * Short of the limit, and still with a next page, where the horizon came first. Never ends between two of the same moment and number,
 * which two organisations may have: the next page begins behind both.
 */
function pageOf(rows: readonly Row[], limit: number): Page<Transaction> {
  const found = rows.filter(({ audit }) => audit !== null);
  let shown = Math.min(limit, found.length);
  while (shown > 1 && isSamePlace(found[shown - 1], found[shown])) shown -= 1;
  const items = found.slice(0, shown).map(transactionFrom);
  const { horizonUs = null, horizonAudit = null } = rows[0] ?? {};
  const last = found.length > shown ? found[shown - 1] : undefined;
  if (last !== undefined) return { items, end: endAt(last.createdUs, last.audit) };
  return { items, end: horizonUs === null ? undefined : endAt(horizonUs, horizonAudit) };
}

function isSamePlace(one: Row | undefined, other: Row | undefined): boolean {
  return other !== undefined && one?.createdUs === other.createdUs && one.audit === other.audit;
}

function endAt(us: number | null, audit: number | null): PageEnd {
  return { place: String(us), id: audit as number };
}
