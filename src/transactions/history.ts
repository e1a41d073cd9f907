// Lists of transactions, the newest first: by which index a list is walked, how far each page looks, and where it ended.
import { isStatementTimeout, type Queryable } from '../postgres/database.js';
import { previousBusinessDay } from '../values/business-days.js';
import { fault } from '../values/faults.js';
import type { Audit, CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import type { Page, PageEnd } from '../values/page.js';
import { settlementCutOff } from '../values/settlement.js';
import { TOKENS_EVER_OF_CUSTOMER } from '../vault/tokens.sql.js';
import { COUNT_REFERENCES } from './history.sql.js';
import { HISTORY_PAGES, type HistoryPath } from './history-page.js';
import { notProven, type TransactionRow, transactionFrom } from './lookup.js';
import type { Transaction, TransactionStatus, TransactionType } from './transaction.js';

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
  readonly settlementDate?: string | undefined;
  readonly customerId?: CustomerId | undefined;
  readonly tokenId?: TokenId | undefined;
  readonly targetAudit?: Audit | undefined;
}

export interface HistoryWish extends HistoryFilter {
  readonly organisationId: OrganisationId;
  readonly merchantIds: readonly MerchantId[];
  readonly limit: number;
  readonly after?: PageEnd | undefined;
  readonly nowMs: number;
}

/** A merchant's transactions; or those of one token. */
interface Lane {
  readonly merchantId: MerchantId;
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

  async page(wish: HistoryWish): Promise<Page<Transaction>> {
    const database = this.connections.of(wish.organisationId);
    try {
      const walk = await this.#walkFor(wish, database);
      const page = database.query<Row>(HISTORY_PAGES[walk.path], parametersOf(wish, walk));
      // Nothing is left out because the server was left behind: it could not have committed this.
      const { rows } = await page.catch(notProven);
      return pageOf(rows, wish.limit);
    } catch (error) {
      throw isStatementTimeout(error) ? fault('search_too_slow', 'search') : error;
    }
  }

  /** The index by which the fewest rows have to be looked at. */
  async #walkFor(wish: HistoryWish, database: Queryable): Promise<Walk> {
    const { customerId, tokenId, reference, merchantIds } = wish;
    const along = (path: HistoryPath, sinceMs = wish.fromMs): Walk => {
      return {
        path,
        lanes: merchantIds.map((merchantId) => ({ merchantId })),
        sinceMs,
        looks: LOOKS_AT_MOST,
      };
    };
    if (customerId !== undefined) {
      return { ...along('token'), lanes: await this.#tokensOf(wish, customerId, database) };
    }
    if (tokenId !== undefined) {
      return { ...along('token'), lanes: merchantIds.map((merchantId) => ({ merchantId, tokenId })) };
    }
    if (wish.targetAudit !== undefined) return along('target');
    if (reference !== undefined && (await this.#isRare(wish, reference, database))) {
      return { ...along('reference'), looks: (SORTED_AT_MOST + 1) * merchantIds.length };
    }
    if (wish.transactionType !== undefined && wish.transactionType !== 'purchase') return along('type');
    // Nothing else is ever pending.
    if (wish.paymentMethod === 'bankaccount' || wish.status === 'pending') return along('bankAccount');
    const sinceMs = lately(wish);
    return sinceMs > (wish.fromMs ?? Number.NEGATIVE_INFINITY) ? along('lately', sinceMs) : along('time');
  }

  async #tokensOf(
    { organisationId, merchantIds, tokenId }: HistoryWish,
    customerId: CustomerId,
    database: Queryable,
  ): Promise<Lane[]> {
    const values = [organisationId, customerId];
    const { rows } = await database.query<{ id: TokenId; merchantId: MerchantId }>(
      TOKENS_EVER_OF_CUSTOMER,
      values,
    );
    return rows
      .filter(({ id, merchantId }) => merchantIds.includes(merchantId) && id === (tokenId ?? id))
      .map(({ id, merchantId }) => ({ merchantId, tokenId: id }));
  }

  async #isRare(
    { organisationId, merchantIds }: HistoryWish,
    reference: string,
    database: Queryable,
  ): Promise<boolean> {
    const values = [organisationId, merchantIds, reference, SORTED_AT_MOST + 1];
    const { rows } = await database.query<{ count: number }>(COUNT_REFERENCES, values);
    return (rows[0] as { count: number }).count <= SORTED_AT_MOST;
  }
}

/** Since when every match was made, unless it was in doubt for long: transactions are decided within moments. */
function lately({ settlementDate, status, nowMs }: HistoryWish): number {
  if (settlementDate !== undefined)
    return settlementCutOff(previousBusinessDay(settlementDate)) - ACQUIRERS_DAY_DIFFERS_MS;
  return status === 'unknown' ? nowMs - RESOLVER_HAS_IT_MS : Number.NEGATIVE_INFINITY;
}

/** Before when every match was made. */
function latest({ settlementDate, beforeMs = Number.POSITIVE_INFINITY }: HistoryWish): number {
  if (settlementDate === undefined) return beforeMs;
  return Math.min(beforeMs, settlementCutOff(settlementDate) + ACQUIRERS_DAY_DIFFERS_MS);
}

function parametersOf(wish: HistoryWish, { path, lanes, sinceMs, looks }: Walk): unknown[] {
  const beforeUs = latest(wish) * 1000;
  const { place, id } = wish.after ?? { place: 'Infinity', id: 0 };
  const goesOn = Number(place) <= beforeUs;
  // One more than asked for tells whether there is a next page.
  const wanted = wish.limit + 1;
  const kept = Math.min(wanted, Math.max(2, Math.ceil(KEPT_AT_MOST / Math.max(1, lanes.length))));
  return [
    wish.organisationId,
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
    wish.amountCents ?? null,
    wish.settlementDate ?? null,
    wish.targetAudit ?? null,
    Math.ceil(LOOKS_AT_LEAST / Math.max(1, lanes.length)),
    LOOKS_FOR_MS,
    ...(path === 'lately' ? [microseconds(wish.fromMs)] : []),
  ];
}

/** Whether some of what is looked at may not match. */
function filtered({
  status,
  cardType,
  lastFour,
  amountCents,
  settlementDate,
  ...wish
}: HistoryWish): boolean {
  const others = [wish.transactionType, wish.paymentMethod, wish.reference, wish.targetAudit];
  return [status, cardType, lastFour, amountCents, settlementDate, ...others].some(
    (filter) => filter !== undefined,
  );
}

function microseconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms * 1000;
}

function finite(us: number): number | null {
  return Number.isFinite(us) ? us : null;
}

/** Short of the limit, and still with a next page, where the horizon came first. */
function pageOf(rows: readonly Row[], limit: number): Page<Transaction> {
  const found = rows.filter(({ audit }) => audit !== null);
  const items = found.slice(0, limit).map(transactionFrom);
  const { horizonUs = null, horizonAudit = null } = rows[0] ?? {};
  const last = found.length > limit ? found[limit - 1] : undefined;
  if (last !== undefined) return { items, end: endAt(last.createdUs, last.audit) };
  return { items, end: horizonUs === null ? undefined : endAt(horizonUs, horizonAudit) };
}

function endAt(us: number | null, audit: number | null): PageEnd {
  return { place: String(us), id: audit as number };
}
