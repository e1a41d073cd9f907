// A shop that tries every operation once over an acquirer link, with the test cards that both of our hosts know.
import { setTimeout as sleep } from 'node:timers/promises';
import { paymentBody, targetedBody } from '../testkit/bodies.js';
import { type CallAnswer, call } from '../testkit/caller.js';
import {
  cardAnsweredLaterWith,
  cardAnsweredWith,
  cardWithFault,
  cardWithFaultLater,
  LATE_ANSWER_CARD,
  LOST_ANSWER_CARD,
  LOST_REQUEST_CARD,
  SLOW_CARD,
} from '../testkit/test-cards.js';

const DECISION_LIMIT_MS = 60_000;
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

  /** Every operation with a card that has this fault, each tried until it is decided. */
  async meetFault(fault: string): Promise<void> {
    const ends = ['approved', 'error'];
    const now = cardWithFault(fault);
    const later = cardWithFaultLater(fault);
    await this.#expect(`purchase, fault ${fault}`, this.#pay('purchase', now), ...ends);
    await this.#expect(`standalone refund, fault ${fault}`, this.#pay('refund', now), ...ends);
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

  #pay(operation: 'purchase' | 'preauthorisation' | 'refund', pan?: string): Promise<Outcome> {
    this.#amount += 1;
    const body = paymentBody({
      merchant: this.merchant,
      reference: 'one of each',
      amount: this.#amount,
      ...(pan !== undefined && { pan }),
    });
    return this.#outcome(this.#call('POST', `/transactions/${operation}`, body));
  }

  #follow(target: number, operation: 'completion' | 'refund' | 'void', amount?: number): Promise<Outcome> {
    const body = targetedBody({ merchant: this.merchant, reference: 'one of each', amount });
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
