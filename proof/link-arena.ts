// A gateway whose ISO 8583 link leads to a host that keeps books of its own, a shop that trades there, and the verdict in the end: whether
// everything is decided, and whether the two have the same books.
import { positionsOfTransactions } from '../testkit/books.js';
import { type AttackedGateway, Installation } from '../testkit/installation.js';
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
  /** How many advices and reversals it has answered. */
  readonly acknowledged: number;
}

export interface TradedHost {
  readonly port: number;
  readonly dialect: string;
  books(): Promise<HostBooks>;
}

export interface ArenaOptions {
  /** Of the link. */
  readonly connections?: number;
  /** More options of the command that adds the link. */
  readonly linkOptions?: string;
}

export interface Judgement {
  readonly broken: Broken;
  readonly figures: string;
}

export class LinkArena {
  readonly shop: LinkShop;
  readonly #failures: string[] = [];
  readonly #figures: string[] = [];

  private constructor(
    private readonly host: TradedHost,
    private readonly installation: Installation,
    private readonly gateway: AttackedGateway,
  ) {
    this.shop = new LinkShop(gateway.baseUrl, installation.authorization, installation.merchantId);
  }

  static async open(
    host: TradedHost,
    { connections = 2, linkOptions = '' }: ArenaOptions = {},
  ): Promise<LinkArena> {
    const installation = await Installation.open({
      RESOLVER_INTERVAL_MS: '100',
      RESOLVER_FIRST_PAUSE_MS: '100',
    });
    await installation.prepare();
    const command = (line: string) => installation.command(...line.trim().split(/ +/));
    await command(
      `acquirer add host --kind iso8583 --test --address 127.0.0.1:${host.port} --dialect ${host.dialect} ` +
        `--institution 61000001 --deadline ${DEADLINE_MS} --connections ${connections} ${linkOptions}`,
    );
    await command(
      `merchant set ${installation.merchantId} --acquirer host ` +
        '--acceptor-id ACCEPTOR0000001 --terminals TERM0001,TERM0002',
    );
    const arena = new LinkArena(host, installation, await installation.startedGateway());
    await arena.shop.ready();
    return arena;
  }

  /** Many purchases, so many of them under way at once. */
  async load(purchases: number, clients: number): Promise<void> {
    const { statuses, requests, perSecond, p50Ms, p99Ms } = await load(
      {
        port: Number(new URL(this.gateway.baseUrl).port),
        authorization: this.installation.authorization,
      },
      { ...PURCHASE, connections: clients, count: purchases },
    );
    for (const [status, count] of Object.entries(statuses)) {
      if (status !== '201') this.#failures.push(`${count} times ${status}`);
    }
    this.#figures.push(
      `${requests} purchases at ${Math.round(perSecond)}/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms`,
    );
  }

  /** Ends the gateway. The host is left to whoever has started it. */
  async judge(): Promise<Judgement> {
    const rows = (await this.installation.decidedTransactions(DECISION_LIMIT_MS)).filter(
      ({ reference }) => reference !== 'before-everything',
    );
    const { positions, complaints, acknowledged } = await this.host.books();
    await this.installation.close();
    this.#figures.unshift(`${rows.length} transactions, ${acknowledged} advices and reversals acknowledged`);
    return {
      broken: {
        'every operation ends as it should': this.shop.wrong,
        'every purchase of the load is approved': this.#failures,
        'nothing is in doubt in the end': rows
          .filter(({ status }) => status === 'unknown')
          .map(({ audit, type }) => `audit ${audit}, a ${type}`),
        'gateway and host have the same books': difference(
          [...positionsOfTransactions(rows).values()],
          [...positions.values()],
        ),
        'the host has nothing to complain of': complaints,
      },
      figures: this.#figures.join(', '),
    };
  }
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
