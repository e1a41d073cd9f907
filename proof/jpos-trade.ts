// A gateway whose link leads to a host made of jPOS: every operation, declines, lost and late answers, then many purchases at once. The
// books of the two are held against each other.
import { setTimeout as sleep } from 'node:timers/promises';
import { paymentBody, targetedBody } from '../testkit/bodies.js';
import { positionsOfTransactions } from '../testkit/books.js';
import { type CallAnswer, call } from '../testkit/caller.js';
import { Installation } from '../testkit/installation.js';
import { load, PURCHASE } from '../testkit/load.js';
import {
  cardAnsweredLaterWith,
  cardAnsweredWith,
  LATE_ANSWER_CARD,
  LOST_ANSWER_CARD,
  LOST_REQUEST_CARD,
  SLOW_CARD,
} from '../testkit/test-cards.js';
import type { Jpos, JposHost } from './jpos-host.js';
import type { Broken } from './verdict.js';

/** Shorter than the slow card takes, and than a late answer is late. */
const DEADLINE_MS = 1_500;
const LATE_MS = 2_000;
const DECISION_LIMIT_MS = 60_000;
const READY_LIMIT_MS = 30_000;

export interface TradeOptions {
  readonly purchases: number;
  /** Of the link. */
  readonly connections: number;
  /** How many purchases are under way at once. */
  readonly clients: number;
}

export async function tradeOverJpos(
  jpos: Jpos,
  { purchases, connections, clients }: TradeOptions,
): Promise<{ broken: Broken; figures: string }> {
  const host = await jpos.start('as2805', LATE_MS);
  const installation = await Installation.open({
    RESOLVER_INTERVAL_MS: '100',
    RESOLVER_FIRST_PAUSE_MS: '100',
  });
  await installation.prepare();
  const settings = [
    '--institution',
    '61000001',
    '--deadline',
    `${DEADLINE_MS}`,
    '--connections',
    `${connections}`,
  ];
  const link = ['--kind', 'iso8583', '--address', `127.0.0.1:${host.port}`, '--test', ...settings];
  await installation.command('acquirer', 'add', 'jpos', ...link);
  const terminals = ['--acceptor-id', 'JPOS00000000001', '--terminals', 'JPOS0001,JPOS0002'];
  await installation.command(
    'merchant',
    'set',
    `${installation.merchantId}`,
    '--acquirer',
    'jpos',
    ...terminals,
  );
  const gateway = await installation.startedGateway();
  const { authorization, merchantId } = installation;
  const shop = new JposShop(gateway.baseUrl, authorization, merchantId);
  await shop.ready();

  await shop.tradeOneOfEach();
  const result = await load(
    { port: Number(new URL(gateway.baseUrl).port), authorization },
    { ...PURCHASE, connections: clients, count: purchases },
  );
  await installation.decidedTransactions(DECISION_LIMIT_MS);
  const rows = (await installation.transactions()).filter(
    ({ reference }) => reference !== 'before-everything',
  );
  const books = await host.books();
  await end(host, installation);
  const refused = Object.entries(result.statuses).filter(([status]) => status !== '201');
  return {
    broken: {
      'every operation is answered as it should be': shop.wrong,
      'every purchase of the load is answered': refused.map(([status, count]) => `${count} times ${status}`),
      'nothing is in doubt in the end': rows
        .filter(({ status }) => status === 'unknown')
        .map(({ audit }) => `audit ${audit}`),
      'gateway and jPOS have the same books': difference(
        [...positionsOfTransactions(rows).values()],
        [...books.positions.values()],
      ),
      'jPOS has nothing to complain of': books.complaints,
    },
    figures:
      `${rows.length} transactions, ${books.acknowledged} reversals acknowledged, ` +
      `${result.requests} purchases at ${Math.round(result.perSecond)}/s, p50 ${result.p50Ms} ms, p99 ${result.p99Ms} ms`,
  };
}

async function end(host: JposHost, installation: Installation): Promise<void> {
  await installation.close();
  await host.stop();
}

/** What one side has and the other has not. Amounts of single payments differ, so that none can stand in for another. */
function difference(ours: readonly string[], theirs: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const position of ours) counts.set(position, (counts.get(position) ?? 0) + 1);
  for (const position of theirs) counts.set(position, (counts.get(position) ?? 0) - 1);
  return [...counts]
    .filter(([, count]) => count !== 0)
    .map(([position, count]) => `${position}: ${Math.abs(count)} more ${count > 0 ? 'here' : 'at jPOS'}`);
}

class JposShop {
  /** What was answered otherwise than it should be, in words. */
  readonly wrong: string[] = [];
  /** No two payments have the same. */
  #amount = 20_000;

  constructor(
    private readonly baseUrl: string,
    private readonly authorization: string,
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
    await this.#expect('standalone refund', this.#pay('refund'), 'approved');
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

  async #expect(what: string, asked: Promise<Outcome>, ...expected: string[]): Promise<number> {
    const { audit, status } = await asked;
    if (!expected.includes(status)) this.wrong.push(`${what}: ${status} instead of ${expected.join(' or ')}`);
    return audit;
  }

  #pay(operation: 'purchase' | 'preauthorisation' | 'refund', pan?: string): Promise<Outcome> {
    this.#amount += 1;
    const body = paymentBody({
      merchant: this.merchant,
      reference: 'jpos',
      amount: this.#amount,
      ...(pan !== undefined && { pan }),
    });
    return this.#outcome(this.#call('POST', `/transactions/${operation}`, body));
  }

  #follow(target: number, operation: 'completion' | 'refund' | 'void', amount?: number): Promise<Outcome> {
    const body = targetedBody({ merchant: this.merchant, reference: 'jpos', amount });
    return this.#outcome(this.#call('POST', `/transactions/${target}/${operation}`, body));
  }

  /** Looked up until it is decided, if the answer left it open. */
  async #outcome(asked: Promise<CallAnswer>): Promise<Outcome> {
    const { status, code, audit, body } = await asked;
    if (audit === undefined) return { audit: 0, status: `${status} ${code}` };
    const untilMs = performance.now() + DECISION_LIMIT_MS;
    for (let shown = body; ; ) {
      const outcome = shown?.status?.transaction_status_code;
      if (outcome !== undefined && outcome !== 'unknown') return { audit, status: outcome };
      if (performance.now() > untilMs) return { audit, status: 'unknown' };
      await sleep(100);
      shown = (await this.#call('GET', `/transactions/${audit}`)).body;
    }
  }

  #call(method: string, path: string, body?: unknown): Promise<CallAnswer> {
    const caller = { baseUrl: this.baseUrl, authorization: this.authorization };
    return call(caller, method, path, { timeoutMs: 30_000, ...(body !== undefined && { body }) });
  }
}

interface Outcome {
  readonly audit: number;
  readonly status: string;
}
