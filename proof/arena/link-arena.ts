// A gateway whose ISO 8583 link leads to a host that keeps books of its own, a shop that trades there, and the verdict in the end: whether
// everything is decided, and whether the two have the same books.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Created, OutcomeUnknown, Refused, type Tollgate } from '../../client/src/index.js';
import { paymentBody, targetedBody } from '../../testkit/bodies.js';
import { positionsOfTransactions, type StoredTransaction } from '../../testkit/books.js';
import { cpuSeconds, cpuSecondsOfDatabase } from '../../testkit/cpu-seconds.js';
import { type AttackedGateway, Installation, type Settings } from '../../testkit/installation.js';
import type { HostProcess } from '../../testkit/iso8583-host/host-process.js';
import type { Entry } from '../../testkit/iso8583-host/ledger.js';
import { type LoadOptions, load, PURCHASE } from '../../testkit/load.js';
import type { LoadResult } from '../../testkit/load-generator.js';
import {
  cardAnsweredLaterWith,
  cardAnsweredWith,
  cardWithFault,
  cardWithFaultLater,
  LATE_ANSWER_CARD,
  LOST_ANSWER_CARD,
  LOST_REQUEST_CARD,
  SLOW_CARD,
} from '../../testkit/test-cards.js';
import { SentNumbers } from './sent-numbers.js';
import type { Broken } from './verdict.js';

/** Shorter than the slow card takes; a late answer has to come after it. */
const DEADLINE_MS = 1_500;
export const LATE_MS = 2_000;
const DECISION_LIMIT_MS = 60_000;
const BY_MERCHANT = { initiator: 'merchant', reason: 'recurring', sequence: 'subsequent' };

export interface HostBooks {
  /** `1995 charged`, by terminal, day and STAN. */
  readonly positions: ReadonlyMap<string, string>;
  /** Of everything that it has decided, by the same. */
  readonly retrievalReferences: ReadonlyMap<string, string>;
  readonly complaints: readonly string[];
  /** How many advices and reversals it has answered. */
  readonly acknowledged: number;
}

export interface TradedHost {
  readonly port: number;
  readonly dialect: string;
  readonly pid: number;
  books(): Promise<HostBooks>;
}

export interface ArenaOptions {
  /** Of the link. */
  readonly connections?: number;
  readonly deadlineMs?: number;
  /** More options of the command that adds the link. */
  readonly linkOptions?: string;
  /** Of the gateway. */
  readonly settings?: Settings;
}

const SETTINGS: Settings = {
  RESOLVER_INTERVAL_MS: '100',
  RESOLVER_FIRST_PAUSE_MS: '100',
  // Nothing of a load is shed, however slow the machine: what is asked is whether every purchase gets through.
  MAX_DELAY_MS: '3000',
};

/** A doubt lasts for milliseconds, and for a minute at most. */
const CLIENT_OPTIONS = {
  requestTimeoutMs: 30_000,
  outcomeTimeoutMs: 60_000,
  firstPauseMs: 100,
  longestPauseMs: 100,
};

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
    const client = installation.clientAt(gateway.baseUrl, CLIENT_OPTIONS);
    this.shop = new LinkShop(client, installation.merchantId);
  }

  static async open(
    host: TradedHost,
    { connections = 2, deadlineMs = DEADLINE_MS, linkOptions = '', settings = SETTINGS }: ArenaOptions = {},
  ): Promise<LinkArena> {
    const installation = await Installation.open(settings);
    await installation.prepare(undefined, { isInRealTime: true });
    await addLink(
      installation,
      `--address 127.0.0.1:${host.port} --dialect ${host.dialect} --deadline ${deadlineMs} ` +
        `--connections ${connections} ${linkOptions}`,
    );
    const arena = new LinkArena(host, installation, await installation.startedGateway());
    await arena.shop.ready();
    return arena;
  }

  get gatewayPid(): number {
    return this.gateway.pid;
  }

  /** Purchases from a process of its own. */
  generate(options: Omit<LoadOptions, keyof typeof PURCHASE>): Promise<LoadResult> {
    const port = Number(new URL(this.gateway.baseUrl).port);
    return load({ port, authorization: this.installation.authorization }, { ...PURCHASE, ...options });
  }

  /** As the host knows what was sent: terminal, day and STAN. */
  async keysByCorrelationId(): Promise<Map<string, string | undefined>> {
    const [sent, rows] = await Promise.all([
      SentNumbers.read(this.installation),
      this.installation.transactions(),
    ]);
    return new Map(rows.map(({ correlationId, audit }) => [correlationId, sent.keyOf(audit)]));
  }

  /** Many purchases, so many of them under way at once, and a quarter as many before them to warm up. */
  async load(purchases: number, clients: number): Promise<void> {
    await this.#load(Math.ceil(purchases / 4), clients);
    const before = await this.#cpuSeconds();
    const {
      requests,
      perSecond,
      p50Ms,
      p99Ms,
      cpuSeconds: ownSeconds,
    } = await this.#load(purchases, clients);
    const after = await this.#cpuSeconds();
    const eachMs = (seconds: number) => ((seconds * 1000) / requests).toFixed(2);
    const costs = Object.entries(after).map(
      ([part, seconds]) => `${part} ${eachMs(seconds - (before[part] ?? 0))}`,
    );
    this.#figures.push(
      `${requests} purchases at ${Math.round(perSecond)}/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms, ` +
        `CPU ms of each: ${costs.join(', ')}, load ${eachMs(ownSeconds)}`,
    );
  }

  async #load(count: number, connections: number): Promise<LoadResult> {
    const result = await this.generate({ connections, count });
    const { statuses } = result;
    for (const [status, times] of Object.entries(statuses)) {
      if (status !== '201') this.#failures.push(`${times} times ${status}`);
    }
    return result;
  }

  /** Up to now, by part. */
  async #cpuSeconds(): Promise<Record<string, number>> {
    const [gateway, database, host] = await Promise.all([
      cpuSeconds(this.gateway.pid),
      cpuSecondsOfDatabase(this.installation.dataDir),
      cpuSeconds(this.host.pid),
    ]);
    return { gateway, database, host };
  }

  /** Ends the gateway. The host is left to whoever has started it. */
  async judge(): Promise<Judgement> {
    const rows = (await this.installation.decidedTransactions(DECISION_LIMIT_MS)).filter(
      ({ reference }) => reference !== 'before-everything',
    );
    const { positions, retrievalReferences, complaints, acknowledged } = await this.host.books();
    const sent = await SentNumbers.read(this.installation);
    await this.installation.close();
    this.#figures.unshift(`${rows.length} transactions, ${acknowledged} advices and reversals acknowledged`);
    return {
      broken: {
        'every operation ends as it should': this.shop.wrong,
        'every purchase of the load is approved': this.#failures,
        'nothing is in doubt in the end': rows
          .filter(({ status }) => status === 'unknown')
          .map(({ audit, type }) => `audit ${audit}, a ${type}`),
        'gateway and host have the same books': differences(positionsByKey(rows, sent), positions),
        'both sides know everything by the same references': sent.differentReferences(retrievalReferences),
        'no STAN and no retrieval reference is used twice': sent.usedTwice(),
        'the host has nothing to complain of': complaints,
      },
      figures: this.#figures.join(', '),
    };
  }
}

/** A link to a host, over which the installation's merchant pays from then on. */
export async function addLink(installation: Installation, options: string): Promise<void> {
  const command = (line: string) => installation.command(...line.trim().split(/ +/));
  await command(`acquirer add host --kind iso8583 --test --institution 61000001 ${options}`);
  await command(
    `merchant set ${installation.merchantId} --acquirer host ` +
      '--acceptor-id ACCEPTOR0000001 --terminals TERM0001,TERM0002',
  );
}

/** By what the host knows them by. */
export function positionsByKey(rows: readonly StoredTransaction[], sent: SentNumbers): Map<string, string> {
  const keys = new Map(rows.map(({ acquirerReference, audit }) => [acquirerReference, sent.keyOf(audit)]));
  return new Map(
    [...positionsOfTransactions(rows)].map(([reference, position]) => [
      keys.get(reference) ?? `${reference}, which was not sent over the link`,
      position,
    ]),
  );
}

/** Where the two disagree, in words. */
export function differences(
  ours: ReadonlyMap<string, string>,
  theirs: ReadonlyMap<string, string>,
): string[] {
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((key) => ours.get(key) !== theirs.get(key))
    .map((key) => `${key}: ${ours.get(key) ?? 'nothing'} here, ${theirs.get(key) ?? 'nothing'} there`);
}

const READY_LIMIT_MS = 30_000;

interface Outcome {
  readonly audit: number;
  readonly status: string;
}

export class LinkShop {
  /** What was answered otherwise than it should be, in words. */
  readonly wrong: string[] = [];
  /** No two payments have the same. */
  #amount = 20_000;

  constructor(
    private readonly client: Tollgate,
    private readonly merchant: number,
  ) {}

  /** The gateway is ready once its link is signed on. */
  async ready(): Promise<void> {
    const untilMs = performance.now() + READY_LIMIT_MS;
    for (;;) {
      const { status } = await this.#pay('purchase');
      if (status === 'approved') return;
      if (performance.now() > untilMs) throw new Error(`the link is not there: a purchase is ${status}`);
      await sleep(200);
    }
  }

  async tradeOneOfEach(): Promise<void> {
    const purchase = await this.#expect('purchase', this.#pay('purchase'), 'approved');
    await this.#expect('refund', this.#follow(purchase, 'refund', 700), 'approved');
    await this.#expect('standalone refund', this.#pay('standaloneRefund'), 'approved');
    const voided = await this.#expect('purchase', this.#pay('purchase'), 'approved');
    await this.#expect('void', this.#follow(voided, 'void'), 'approved');
    const held = await this.#expect('preauthorisation', this.#pay('preauthorisation'), 'approved');
    const completed = await this.#expect('completion', this.#follow(held, 'completion', 9_999), 'approved');
    await this.#expect('refund of a completion', this.#follow(completed, 'refund', 99), 'approved');
    const again = await this.#expect('preauthorisation', this.#pay('preauthorisation'), 'approved');
    const drawn = await this.#expect('completion', this.#follow(again, 'completion', 8_888), 'approved');
    await this.#expect('void of a completion', this.#follow(drawn, 'void'), 'approved');
    const released = await this.#expect('preauthorisation', this.#pay('preauthorisation'), 'approved');
    await this.#expect('void of a preauthorisation', this.#follow(released, 'void'), 'approved');
    await this.#payByAgreement();
    for (const code of ['05', '51', '91']) {
      await this.#expect(`decline ${code}`, this.#pay('purchase', cardAnsweredWith(code)), 'declined');
    }
    const stubborn = await this.#expect(
      'purchase',
      this.#pay('purchase', cardAnsweredLaterWith('05')),
      'approved',
    );
    await this.#expect('declined refund', this.#follow(stubborn, 'refund', 100), 'declined');
    await this.#expect('declined void', this.#follow(stubborn, 'void'), 'declined');
    await this.#expect('lost request', this.#pay('purchase', LOST_REQUEST_CARD), 'error');
    await this.#expect('lost answer', this.#pay('purchase', LOST_ANSWER_CARD), 'error');
    // The late answer decides, if it comes before the reversal has begun.
    await this.#expect('late answer', this.#pay('purchase', LATE_ANSWER_CARD), 'approved', 'error');
    await this.#expect('slow answer', this.#pay('purchase', SLOW_CARD), 'approved', 'error');
  }

  /** Every operation with a card that has this fault, each tried until it is decided. */
  async meetFault(fault: string): Promise<void> {
    const ends = ['approved', 'error'];
    const now = cardWithFault(fault);
    const later = cardWithFaultLater(fault);
    await this.#expect(`purchase, fault ${fault}`, this.#pay('purchase', now), ...ends);
    await this.#expect(`standalone refund, fault ${fault}`, this.#pay('standaloneRefund', now), ...ends);
    const refunded = await this.#expect('purchase', this.#pay('purchase', later), 'approved');
    await this.#expect(`refund, fault ${fault}`, this.#follow(refunded, 'refund', 1_000), ...ends);
    const voided = await this.#expect('purchase', this.#pay('purchase', later), 'approved');
    await this.#expect(`void, fault ${fault}`, this.#follow(voided, 'void'), ...ends);
    const held = await this.#expect('preauthorisation', this.#pay('preauthorisation', later), 'approved');
    // An advice is repeated until it is acknowledged, never reversed.
    await this.#expect(`completion, fault ${fault}`, this.#follow(held, 'completion', 9_000), 'approved');
  }

  async #expect(what: string, asked: Promise<Outcome>, ...expected: string[]): Promise<number> {
    const { audit, status } = await asked;
    if (!expected.includes(status)) this.wrong.push(`${what}: ${status} instead of ${expected.join(' or ')}`);
    return audit;
  }

  #pay(operation: 'purchase' | 'preauthorisation' | 'standaloneRefund', pan?: string): Promise<Outcome> {
    this.#amount += 1;
    const body = paymentBody({
      merchant: this.merchant,
      reference: 'one of each',
      amount: this.#amount,
      ...(pan !== undefined && { pan }),
    });
    return outcomeOf(this.client[operation](body));
  }

  /** What is said of the cardholder arrives, and the network's name for the payment comes back. */
  async #payByAgreement(): Promise<void> {
    this.#amount += 1;
    const body = paymentBody({ merchant: this.merchant, reference: 'by agreement', amount: this.#amount });
    const { transaction } = body;
    delete transaction.payment_method.creditcard.cvv;
    transaction.credential = { ...BY_MERCHANT, network_transaction_id: '016153570198200' };
    const audit = await this.#expect(
      'purchase by agreement',
      outcomeOf(this.client.purchase(body)),
      'approved',
    );
    const { status } = await this.client.transaction(audit);
    if (!status.acquirer.network_transaction_id)
      this.wrong.push('the network has no name for a payment by agreement');
  }

  #follow(target: number, operation: 'completion' | 'refund' | 'void', amount?: number): Promise<Outcome> {
    const body = targetedBody({ merchant: this.merchant, reference: 'one of each', amount });
    return outcomeOf(this.client[operation](target, body));
  }
}

async function outcomeOf(asked: Promise<Created>): Promise<Outcome> {
  try {
    const { audit, outcome } = await asked;
    return { audit, status: outcome };
  } catch (error) {
    if (error instanceof Refused) return { audit: 0, status: error.message };
    if (error instanceof OutcomeUnknown) return { audit: error.audit ?? 0, status: 'unknown' };
    throw error;
  }
}

export function hostBooks(host: HostProcess, dialect = 'as2805'): TradedHost {
  return {
    port: host.port,
    dialect,
    get pid() {
      return host.pid;
    },
    async books() {
      const entries = host.entries();
      return {
        positions: new Map(Object.entries(await host.positions())),
        retrievalReferences: retrievalReferencesIn(entries),
        complaints: (await host.complaints()).map((complaint) => JSON.stringify(complaint)),
        acknowledged: entries.filter(({ kind }) => kind === 'acknowledged').length,
      };
    },
  };
}

/** Of everything that a host has decided, by terminal, day and STAN. */
export function retrievalReferencesIn(entries: readonly Entry[]): Map<string, string> {
  return new Map(
    entries.flatMap((entry) => (entry.kind === 'decided' ? [[entry.key, entry.retrievalReference]] : [])),
  );
}
