// A gateway whose link leads to a host that keeps books of its own: every operation, declines, lost and late answers, then many purchases
// at once. The books of the two are held against each other.
import { positionsOfTransactions } from '../testkit/books.js';
import { Installation } from '../testkit/installation.js';
import { load, PURCHASE } from '../testkit/load.js';
import { LinkShop } from './link-shop.js';
import type { Broken } from './verdict.js';

/** Shorter than the slow card takes; a late answer has to come after it. */
const DEADLINE_MS = 1_500;
export const LATE_MS = 2_000;
const DECISION_LIMIT_MS = 60_000;

export interface HostBooks {
  /** `1995 charged`, by terminal, day and STAN. */
  readonly positions: ReadonlyMap<string, string>;
  readonly complaints: readonly string[];
  /** How many reversals it has answered. */
  readonly acknowledged: number;
}

export interface TradedHost {
  readonly port: number;
  readonly dialect: string;
  books(): Promise<HostBooks>;
}

export interface TradeOptions {
  /** After one operation of each kind; may be none. */
  readonly purchases: number;
  /** Of the link. */
  readonly connections: number;
  /** How many purchases are under way at once. */
  readonly clients: number;
  /** Of the command that adds the link. */
  readonly linkOptions?: string;
}

export async function tradeOverLink(
  host: TradedHost,
  { purchases, connections, clients, linkOptions = '' }: TradeOptions,
): Promise<{ broken: Broken; figures: string }> {
  const installation = await Installation.open({
    RESOLVER_INTERVAL_MS: '100',
    RESOLVER_FIRST_PAUSE_MS: '100',
  });
  await installation.prepare();
  const command = (line: string) => installation.command(...line.trim().split(/ +/));
  const { authorization, merchantId } = installation;
  await command(
    `acquirer add traded --kind iso8583 --test --address 127.0.0.1:${host.port} --dialect ${host.dialect} ` +
      `--institution 61000001 --deadline ${DEADLINE_MS} --connections ${connections} ${linkOptions}`,
  );
  await command(
    `merchant set ${merchantId} --acquirer traded --acceptor-id ACCEPTOR0000001 --terminals TERM0001,TERM0002`,
  );
  const gateway = await installation.startedGateway();
  const shop = new LinkShop(gateway.baseUrl, authorization, merchantId);
  await shop.ready();
  await shop.tradeOneOfEach();
  const loaded = await loadWith(purchases, clients, gateway.baseUrl, authorization);
  const rows = await installation.decidedTransactions(DECISION_LIMIT_MS);
  const traded = rows.filter(({ reference }) => reference !== 'before-everything');
  const books = await host.books();
  await installation.close();
  return {
    broken: {
      'every operation is answered as it should be': shop.wrong,
      'every purchase of the load is approved': loaded.failures,
      'nothing is in doubt in the end': traded
        .filter(({ status }) => status === 'unknown')
        .map(({ audit, type }) => `audit ${audit}, a ${type}`),
      'gateway and host have the same books': difference(
        [...positionsOfTransactions(traded).values()],
        [...books.positions.values()],
      ),
      'the host has nothing to complain of': books.complaints,
    },
    figures: `${traded.length} transactions, ${books.acknowledged} reversals acknowledged${loaded.figures}`,
  };
}

async function loadWith(
  purchases: number,
  clients: number,
  baseUrl: string,
  authorization: string,
): Promise<{ failures: string[]; figures: string }> {
  if (purchases === 0) return { failures: [], figures: '' };
  const { statuses, requests, perSecond, p50Ms, p99Ms } = await load(
    { port: Number(new URL(baseUrl).port), authorization },
    { ...PURCHASE, connections: clients, count: purchases },
  );
  return {
    failures: Object.entries(statuses)
      .filter(([status]) => status !== '201')
      .map(([status, count]) => `${count} times ${status}`),
    figures: `, ${requests} purchases at ${Math.round(perSecond)}/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms`,
  };
}

/** What one side has and the other has not. Amounts of single payments differ, so that none can stand in for another. */
function difference(ours: readonly string[], theirs: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const position of ours) counts.set(position, (counts.get(position) ?? 0) + 1);
  for (const position of theirs) counts.set(position, (counts.get(position) ?? 0) - 1);
  return [...counts]
    .filter(([, count]) => count !== 0)
    .map(([position, count]) => `${position}: ${Math.abs(count)} more ${count > 0 ? 'here' : 'there'}`);
}
