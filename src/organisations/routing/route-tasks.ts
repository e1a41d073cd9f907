// The routes of merchants: over which link which cards are paid. Set by the operator, in force within two seconds. This room owns
// their table.
import { type JournalAction, journal } from '../../journal/journal.js';
import { checkSeal } from '../../journal/seals.js';
import { formatPercent, parsePercent } from '../../plugins/surcharge.js';
import type { Queryable } from '../../postgres/database.js';
import { ID, type Kind, NUMBER, TEXT, TEXTS } from '../../tasks/kinds.js';
import { needed, optional, task } from '../../tasks/task.js';
import { type BinRange, CARD_TYPES, formatBinRange, parseBinRange } from '../../values/card.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import type { Mode } from '../../values/mode.js';
import { isCurrency } from '../../values/money.js';
import { type FieldProblem, refuse } from '../../values/refusal.js';
import { ofLiveMerchant } from '../merchants.js';
import { checkAcquirer, isTerminalTaken } from './merchant-acquirers.js';
import { type Route, readRoutes } from './routes.js';
import {
  BEGIN_ROUTES,
  BINS,
  COUNT_ROUTES,
  LARGEST_SHARES,
  REMOVE_ROUTES,
  ROUTED_MERCHANT,
  SET_ROUTES,
} from './routes.sql.js';

export interface RouteView {
  readonly acquirer: string;
  readonly card: string | null;
  readonly bin: string | null;
  readonly currency: string | null;
  /** In percent. */
  readonly share: string | null;
  readonly order: number;
}

/** As it was typed: what is wrong with it is told field by field, and never repeated, since a BIN may turn out to be a card number. */
export interface RouteFilter {
  readonly acquirer?: string | undefined;
  readonly card?: string | undefined;
  readonly bins?: readonly string[] | undefined;
  readonly currency?: string | undefined;
  readonly order?: number | undefined;
}

export interface RouteWish extends RouteFilter {
  readonly acquirer: string;
  readonly share?: string | undefined;
}

interface RoutedMerchant {
  readonly organisationId: OrganisationId;
  readonly id: MerchantId;
  readonly mode: Mode;
  readonly acceptorId: string | null;
  readonly terminals: readonly string[] | null;
}

/** Payments look through all of them that could be theirs. */
const MOST_ROUTES = 5_000;
const MOST_PLACES = 1_000;
const WHOLE = 100_000;
/** More would make the journal unreadable. */
const MOST_BINS_TOLD = 20;

/** A route for the same payments over the same link is replaced; the others stay. */
export async function setRoute(
  database: Queryable,
  operator: string,
  merchant: number,
  wish: RouteWish,
): Promise<RouteView[]> {
  const { card, currency, bins, place = 1, share } = checked(wish);
  return change(database, operator, 'route.set', merchant, wish, async (connection, routed) => {
    const { organisationId, id, mode, acceptorId, terminals } = routed;
    const acceptor = { ...(acceptorId !== null && { acceptorId }), ...(terminals !== null && { terminals }) };
    // guard(routes: none is set from test to live): await checkAcquirer(connection, { id, mode, acquirer: wish.acquirer, ...acceptor }) ⇒ void checkAcquirer; void mode; void acceptor
    await checkAcquirer(connection, { id, mode, acquirer: wish.acquirer, ...acceptor });
    const ranges = bins.length === 0 ? [undefined] : bins;
    const values = [organisationId, id, wish.acquirer, card, currency, share ?? null, place];
    await connection.query(SET_ROUTES, [...values, ...BINS.encode(ranges)]).catch((error: unknown) => {
      if (!isTerminalTaken(error)) throw error;
      const rule = 'knows a terminal of this merchant, with its acceptor ID, as another merchant’s';
      refuse('route_not_allowed', { problems: [{ field: 'acquirer', rule }] });
    });
    const whose = [organisationId, id];
    const [shares] = (await connection.query<{ thousandths: number | null }>(LARGEST_SHARES, whose)).rows;
    const thousandths = shares?.thousandths ?? 0;
    // guard(routes: shares of a rank are no more than 100 %): if (thousandths > WHOLE) refuse('route_shares_exceed', { percent: formatPercent(thousandths) }) ⇒ void WHOLE
    if (thousandths > WHOLE) refuse('route_shares_exceed', { percent: formatPercent(thousandths) });
    const [count] = (await connection.query<{ routes: number }>(COUNT_ROUTES, whose)).rows;
    if ((count?.routes ?? 0) > MOST_ROUTES) refuse('route_too_many', { merchant, most: MOST_ROUTES });
  });
}

/** In the order in which payments look through them. */
export async function showRoutes(database: Queryable, merchant: number): Promise<RouteView[]> {
  const { rows } = await database.query<{ organisationId: OrganisationId }>(ROUTED_MERCHANT, [merchant]);
  const { organisationId } = rows[0] ?? refuse('merchant_not_found', { merchant });
  return (await readRoutes(database, organisationId, merchant as MerchantId)).routes.map(viewOf);
}

/** Takes those away that have everything that is named: all of them, where nothing is. */
export async function removeRoutes(
  database: Queryable,
  operator: string,
  merchant: number,
  filter: RouteFilter = {},
): Promise<RouteView[]> {
  const { card, currency, bins, place = null } = checked(filter);
  const ranges = bins.length === 0 ? null : bins.map(({ from, to }) => `${from}-${to}`);
  return change(database, operator, 'route.off', merchant, filter, async (connection, routed) => {
    const { organisationId, id } = routed;
    const values = [organisationId, id, filter.acquirer ?? null, card, currency, place, ranges];
    const { rows } = await connection.query(REMOVE_ROUTES, values);
    const named = Object.values(filter).some((given) => given !== undefined);
    if (rows.length === 0 && named) refuse('route_not_found', { merchant });
  });
}

function change(
  database: Queryable,
  operator: string,
  action: JournalAction,
  merchant: number,
  named: RouteFilter & { readonly share?: string | undefined },
  work: (connection: Queryable, merchant: RoutedMerchant) => Promise<void>,
): Promise<RouteView[]> {
  return database.transaction(async (connection) => {
    const { rows } = await connection.query<RoutedMerchant>(BEGIN_ROUTES, [merchant]);
    const routed = rows[0] ?? refuse('merchant_not_found', { merchant });
    const { organisationId, id: merchantId } = routed;
    await checkSeal(connection, (await readRoutes(connection, organisationId, merchantId)).row);
    await work(connection, routed);
    const { routes, row } = await readRoutes(connection, organisationId, merchantId);
    const entry = { actor: operator, action, organisationId, merchantId, detail: inWords(named) };
    await journal(connection, entry, row);
    return routes.map(viewOf);
  });
}

interface Checked {
  readonly card: string | null;
  readonly currency: string | null;
  readonly bins: readonly BinRange[];
  readonly place: number | undefined;
  /** In thousandths of a percent. */
  readonly share: number | undefined;
}

/** Every problem at once. */
function checked({
  card,
  bins = [],
  currency,
  order,
  share,
}: RouteFilter & { readonly share?: string | undefined }): Checked {
  const problems: FieldProblem[] = [];
  const wrong = (field: string, rule: string) => problems.push({ field, rule });
  if (card !== undefined && !CARD_TYPES.some((type) => type === card))
    wrong('card', `takes one of ${CARD_TYPES.join(', ')}`);
  const ranges = bins.map(parseBinRange);
  if (ranges.includes(undefined))
    wrong('bin', 'takes a BIN of 6 to 8 digits, or the first and the last of a range, such as 456000-456099');
  if (currency !== undefined && !isCurrency(currency)) wrong('currency', 'takes a currency, such as AUD');
  const thousandths = share === undefined ? undefined : parsePercent(share);
  if (share !== undefined && thousandths === undefined)
    wrong('share', 'takes a percentage from 0 to 100 with at most three decimals');
  if (order !== undefined && !(Number.isInteger(order) && order >= 1 && order <= MOST_PLACES))
    wrong('order', `takes a whole number from 1 to ${MOST_PLACES}`);
  if (problems.length > 0) refuse('route_not_allowed', { problems });
  return {
    card: card ?? null,
    currency: currency ?? null,
    bins: ranges.filter((range) => range !== undefined),
    place: order,
    share: thousandths,
  };
}

function viewOf({ acquirer, cardType, bin, currency, share, place }: Route): RouteView {
  return {
    acquirer,
    card: cardType ?? null,
    bin: bin === undefined ? null : formatBinRange(bin),
    currency: currency ?? null,
    share: share === undefined ? null : formatPercent(share),
    order: place,
  };
}

/** What was named, for the journal. */
function inWords({
  acquirer,
  card,
  bins = [],
  currency,
  share,
  order,
}: RouteFilter & { readonly share?: string | undefined }): string {
  const told = bins.slice(0, MOST_BINS_TOLD).map((range) => range.replace('-', ' to '));
  const more = bins.length - told.length;
  const parts = [
    acquirer,
    card,
    ...(told.length > 0 ? [`BIN ${told.join(', ')}${more > 0 ? ` and ${more} more` : ''}`] : []),
    currency,
    share && `${share} %`,
    order && `order ${order}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? 'all' : parts.join(', ');
}

const MERCHANT = needed(ID, '--merchant <id>', 'the merchant', { names: 'merchants' });

/** `456000-456099,456200`, added to earlier ones. */
const RANGES: Kind<readonly string[]> = {
  read: (text, earlier = []) => [...earlier, ...text.split(',')],
  mustBe: '',
  schema: TEXTS.schema,
  repeats: true,
};

const PLACE = { ...NUMBER, schema: { type: 'integer', minimum: 1, maximum: 1_000_000 } };

/** Which payments a route is for. */
const CONDITIONS = {
  card: optional(TEXT, '--card <type>', 'for cards of this type'),
  bins: optional(RANGES, '--bin <from-to>', 'for these BINs, of 6 to 8 digits (may be repeated, or a list)'),
  currency: optional(TEXT, '--currency <code>', 'for payments in this currency'),
};

export const ROUTES = {
  name: 'route',
  help: 'over which acquirer which cards of a merchant are paid',
  tasks: [
    task({
      name: 'route set',
      help: 'set a route; the most specific one wins (BIN, then card type, then currency), then the lowest order',
      role: 'operator',
      // The merchants of all organisations share links, and have their terminals there.
      // guard(acquirers: an operator of one organisation sets no routes): installation ⇒ organisation
      scope: 'installation',
      route: 'POST /routes/:merchant/set',
      fresh: true,
      secondPerson: { for: 'links', when: ofLiveMerchant },
      input: {
        merchant: MERCHANT,
        acquirer: needed(TEXT, '--acquirer <name>', 'the link that it leads to'),
        ...CONDITIONS,
        share: optional(
          TEXT,
          '--share <percent>',
          'how much of the payments; the rest goes on to the other routes',
        ),
        order: optional(
          PLACE,
          '--order <n>',
          'its place among routes for the same payments; 1 unless another is given',
        ),
      },
      run: ({ database, actor }, { merchant, ...wish }) => setRoute(database, actor, merchant, wish),
    }),
    task({
      name: 'route show',
      help: 'show the routes of a merchant, in the order in which they are looked through',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /routes',
      input: { merchant: MERCHANT },
      run: ({ database }, { merchant }) => showRoutes(database, merchant),
    }),
    task({
      name: 'route off',
      help: 'take the routes of a merchant away: those that have everything that is named, or all',
      role: 'operator',
      scope: 'installation',
      route: 'POST /routes/:merchant/off',
      fresh: true,
      secondPerson: { for: 'links', when: ofLiveMerchant },
      input: {
        merchant: MERCHANT,
        acquirer: optional(TEXT, '--acquirer <name>', 'only those that lead to this link'),
        ...CONDITIONS,
        order: optional(PLACE, '--order <n>', 'only those in this place'),
      },
      run: ({ database, actor }, { merchant, ...filter }) => removeRoutes(database, actor, merchant, filter),
    }),
  ],
} as const;
