// Routes: over which links a card payment may go, and in which order they are tried. Read once for each change that an operator makes.
import { fitNow, type ReadRow } from '../../journal/seals.js';
import type { Queryable } from '../../postgres/database.js';
import { type BinRange, binBounds } from '../../values/card.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import type { Merchant, RoutesSeal } from '../users/callers.js';
import { ROUTES_OF_MERCHANT } from './routes.sql.js';

/** What is absent is for every card. */
export interface Route {
  readonly acquirer: string;
  readonly cardType?: string;
  readonly bin?: BinRange;
  readonly currency?: string;
  /** Of the payments of its rank, in thousandths of a percent. */
  readonly share?: number;
  readonly place: number;
}

interface RouteRow {
  /** Of all routes of the merchant, behind its version. */
  readonly newest: Buffer | null;
  /** Null in the only row of a merchant that has none. */
  readonly acquirer: string | null;
  readonly cardType: string | null;
  readonly binFrom: string | null;
  readonly binTo: string | null;
  readonly currency: string | null;
  readonly share: number | null;
  readonly place: number;
}

/** What routes go by. */
export interface RoutedPayment {
  readonly cardType: string;
  /** The first eight digits of the card number. */
  readonly bin: number;
  readonly currency: string;
}

/** A route as payments look through it. Those of the same rank divide the payments among themselves. */
interface Ranked {
  readonly rank: number;
  readonly acquirer: string;
  readonly cardType: string | undefined;
  readonly firstBin: number;
  readonly lastBin: number;
  readonly currency: string | undefined;
  readonly share: number | undefined;
}

const WHOLE = 100_000;
const NO_BIN = [0, Number.POSITIVE_INFINITY] as const;

interface ReadRoutes {
  /** In the order in which payments look through them. */
  readonly routes: readonly Route[];
  readonly row: ReadRow;
}

export async function readRoutes(
  database: Queryable,
  organisationId: OrganisationId,
  merchantId: MerchantId,
): Promise<ReadRoutes> {
  const { rows } = await database.query<RouteRow>(ROUTES_OF_MERCHANT, [organisationId, merchantId]);
  const found = rows.filter((row): row is StoredRoute => row.acquirer !== null);
  const subject = `routes/${merchantId}`;
  return {
    routes: inOrder(found),
    row: { subject, state: stateOf(organisationId, found), newest: rows[0]?.newest ?? null },
  };
}

type StoredRoute = RouteRow & { readonly acquirer: string };

/** In an order of its own: the database keeps none. */
function stateOf(organisationId: OrganisationId, rows: readonly StoredRoute[]): readonly unknown[] | null {
  if (rows.length === 0) return null;
  const texts = rows.map(({ acquirer, cardType, binFrom, binTo, currency, share, place }) =>
    JSON.stringify([acquirer, cardType, binFrom, binTo, currency, share, place]),
  );
  return [organisationId, texts.sort()];
}

function inOrder(rows: readonly StoredRoute[]): Route[] {
  return rows
    .map(({ acquirer, cardType, binFrom, binTo, currency, share, place }) => ({
      acquirer,
      place,
      ...(cardType !== null && { cardType }),
      ...(binFrom !== null && binTo !== null && { bin: { from: binFrom, to: binTo } }),
      ...(currency !== null && { currency }),
      ...(share !== null && { share }),
    }))
    .sort(
      (one, other) =>
        byRank(one, other) ||
        byText(firstBinOf(one), firstBinOf(other)) ||
        byText(one.acquirer, other.acquirer),
    );
}

/** The most specific first: by BIN, the narrower the range the better, then by card type, then by currency; then by place. */
function byRank(one: Route, other: Route): number {
  return (
    widthOf(one) - widthOf(other) ||
    Number(other.cardType !== undefined) - Number(one.cardType !== undefined) ||
    Number(other.currency !== undefined) - Number(one.currency !== undefined) ||
    one.place - other.place
  );
}

function widthOf({ bin }: Route): number {
  if (bin === undefined) return Number.MAX_SAFE_INTEGER;
  const [first, last] = binBounds(bin);
  return last - first;
}

const firstBinOf = ({ bin }: Route) => bin?.from ?? '';
const byText = (one: string, other: string) => (one < other ? -1 : Number(one > other));

/** The routes of one merchant. */
export class RouteTable {
  readonly #ranked: readonly Ranked[];

  constructor(
    routes: readonly Route[],
    private readonly chance: () => number = Math.random,
  ) {
    let rank = 0;
    this.#ranked = routes.map((route, index) => {
      const before = routes[index - 1];
      if (before !== undefined && byRank(before, route) !== 0) rank += 1;
      const [firstBin, lastBin] = route.bin === undefined ? NO_BIN : binBounds(route.bin);
      const { acquirer, cardType, currency, share } = route;
      return { rank, acquirer, cardType, firstBin, lastBin, currency, share };
    });
  }

  get size(): number {
    return this.#ranked.length;
  }

  /**
   * The links of the routes for this payment, in the order in which they are tried, with the merchant's own behind them. A rank whose
   * shares leave the payment to others stands at the end.
   */
  linksFor({ cardType, bin, currency }: RoutedPayment, own: string | null): string[] {
    const first: string[] = [];
    const last: string[] = [];
    let sameRank: Ranked[] = [];
    for (const route of this.#ranked) {
      if (bin < route.firstBin || bin > route.lastBin) continue;
      if (route.cardType !== undefined && route.cardType !== cardType) continue;
      if (route.currency !== undefined && route.currency !== currency) continue;
      if (sameRank[0] !== undefined && sameRank[0].rank !== route.rank) {
        this.#divide(sameRank, first, last);
        sameRank = [];
      }
      sameRank.push(route);
    }
    this.#divide(sameRank, first, last);
    if (own !== null) first.push(own);
    return [...new Set([...first, ...last])];
  }

  #divide(sameRank: readonly Ranked[], first: string[], last: string[]): void {
    const chosen = this.#chosen(sameRank);
    if (chosen !== undefined) first.push(chosen.acquirer);
    const line = chosen === undefined ? last : first;
    for (const route of sameRank) if (route !== chosen) line.push(route.acquirer);
  }

  /** By share. Routes without one divide what the others leave equally; where there is none of them, it is left to later ranks. */
  #chosen(sameRank: readonly Ranked[]): Ranked | undefined {
    if (sameRank.length === 1 && sameRank[0]?.share === undefined) return sameRank[0];
    let shared = 0;
    for (const { share = 0 } of sameRank) shared += share;
    // Ranges that overlap may ask for more than there is.
    let drawn = this.chance() * Math.max(WHOLE, shared);
    for (const route of sameRank) {
      if (route.share === undefined) continue;
      drawn -= route.share;
      if (drawn < 0) return route;
    }
    const others = sameRank.filter(({ share }) => share === undefined);
    return others[Math.floor((drawn / (WHOLE - shared)) * others.length)];
  }
}

interface Known extends RoutesSeal {
  readonly table: RouteTable;
  readonly readAtMs: number;
}

/** So long some users of a merchant may know an earlier version than others. */
const DIFFERING_MS = 2_000;

/** More than any installation uses at once; beyond it everything is read anew. */
const MOST_KEPT = 200_000;

/** The routes that payments of this process go by. */
export class Routes {
  readonly #known = new Map<MerchantId, Known>();
  readonly #reading = new Map<MerchantId, Promise<RouteTable | undefined>>();
  #kept = 0;

  constructor(private readonly database: Queryable) {}

  /** Undefined where they have to be read: they are new to this process, or were changed. */
  known({ id, routes }: Merchant): RouteTable | undefined {
    const known = this.#known.get(id);
    if (known === undefined || known.seal === routes?.seal) return known?.table;
    const isNewer =
      known.version > (routes?.version ?? 0) && performance.now() - known.readAtMs < DIFFERING_MS;
    return isNewer ? known.table : undefined;
  }

  /** Those who want the same at the same time share one read. Undefined where they are not as they were sealed. */
  read(organisationId: OrganisationId, { id }: Merchant): Promise<RouteTable | undefined> {
    let reading = this.#reading.get(id);
    if (reading === undefined) {
      reading = this.#read(organisationId, id).finally(() => this.#reading.delete(id));
      this.#reading.set(id, reading);
    }
    return reading;
  }

  async #read(organisationId: OrganisationId, id: MerchantId): Promise<RouteTable | undefined> {
    const readAtMs = performance.now();
    const { routes, row } = await readRoutes(this.database, organisationId, id);
    const fit = await fitNow(this.database, row);
    // guard(directions: routes that are not as they were sealed lead nowhere): fit.kind === 'misfit' ⇒ fit.version < 0
    if (fit.kind === 'misfit') return undefined;
    const { version, seal } = fit;
    const table = new RouteTable(routes);
    if (this.#kept + table.size > MOST_KEPT) {
      this.#known.clear();
      this.#kept = 0;
    }
    this.#kept += table.size - (this.#known.get(id)?.table.size ?? 0);
    this.#known.set(id, { version, seal, table, readAtMs });
    return table;
  }
}
