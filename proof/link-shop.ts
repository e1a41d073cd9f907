// A shop that tries every operation once over an acquirer link, with the test cards that both of our hosts know.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Created, OutcomeUnknown, Refused, type Tollgate } from '../client/src/index.js';
import { paymentBody, targetedBody } from '../testkit/bodies.js';
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
