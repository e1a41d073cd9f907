// Random trade for the proof of settlement: payments of every kind with good, bad and faulty cards and with bank accounts, and what
// may follow them, at any gateway and at any time, also while a day closes.
import { type Created, Refused, type Tollgate } from '../../client/src/index.js';
import { CARD, paymentBody, targetedBody } from '../../testkit/bodies.js';
import type { Chance } from '../../testkit/chance.js';
import {
  cardWithFaultLater,
  DECLINED_CARD,
  LATE_ANSWER_CARD,
  LOST_ANSWER_CARD,
  LOST_REQUEST_CARD,
  UNREADABLE_ANSWER_CARD,
} from '../../testkit/test-cards.js';

const GOOD_CARDS = [CARD, '5555555555554444', '378282246310005'];
const DOUBTFUL_CARDS = [LOST_REQUEST_CARD, LOST_ANSWER_CARD, LATE_ANSWER_CARD, UNREADABLE_ANSWER_CARD];
/** Paid well, and what follows is in doubt: lost, approved without an answer, or too late. */
const DOUBTFUL_LATER_CARDS = ['02', '03', '04', '05'].map(cardWithFaultLater);

type Payment = 'purchase' | 'preauthorisation' | 'standaloneRefund';
type Following = 'refund' | 'completion' | 'void';

interface Placed {
  readonly audit: number;
  readonly merchant: number;
  readonly amountCents: number;
}

export class SettlementTrade {
  /** What may be voided, refunded or completed, of today and of earlier days. */
  readonly #sold: Placed[] = [];
  readonly #held: Placed[] = [];
  readonly #refunded: Placed[] = [];
  sent = 0;
  /** Whose outcome was not in the first answer. */
  doubtful = 0;

  constructor(
    private readonly chance: Chance,
    private readonly client: Tollgate,
  ) {}

  /** Some lanes at once, until it is over. */
  async go(lanes: number, isOver: () => boolean): Promise<void> {
    const lane = async () => {
      while (!isOver()) await this.#deal();
    };
    await Promise.all(Array.from({ length: lanes }, lane));
  }

  async #deal(): Promise<void> {
    const { chance } = this;
    const choice = chance.below(100);
    if (choice < 40) await this.#pay('purchase', this.#sold);
    else if (choice < 50) await this.#pay('preauthorisation', this.#held);
    else if (choice < 55) await this.#pay('standaloneRefund', this.#refunded);
    else if (choice < 65) await this.#follow('refund', this.#sold, this.#refunded);
    else if (choice < 75) await this.#follow('completion', this.#held, this.#sold);
    else if (choice < 88)
      await this.#follow('void', chance.pick([this.#sold, this.#sold, this.#refunded, this.#held]));
    else await this.#payByAccount();
  }

  async #pay(operation: Payment, into: Placed[]): Promise<void> {
    const { chance } = this;
    const pan = chance.percent(70)
      ? chance.pick(GOOD_CARDS)
      : chance.pick([DECLINED_CARD, ...DOUBTFUL_CARDS, ...DOUBTFUL_LATER_CARDS]);
    const merchant = chance.between(1, 3);
    const amount = chance.between(100, 99_999);
    const currency = chance.percent(90) ? 'AUD' : 'NZD';
    const body = paymentBody({ merchant, amount, currency, pan });
    await this.#place(this.client[operation](body), { merchant, amountCents: amount }, into);
  }

  async #payByAccount(): Promise<void> {
    const { chance } = this;
    const merchant = chance.between(1, 3);
    const amount = chance.between(100, 9_999);
    const account_number = chance.percent(25) ? `90000${chance.between(1, 9)}` : `1${chance.digits(7)}`;
    const operation = chance.percent(80) ? 'purchase' : 'standaloneRefund';
    const body = paymentBody({ merchant, amount, bankAccount: { account_number } });
    await this.#place(this.client[operation](body), { merchant, amountCents: amount }, this.#sold);
  }

  async #follow(operation: Following, from: readonly Placed[], into: Placed[] = []): Promise<void> {
    if (from.length === 0) return;
    const { audit, merchant, amountCents } = this.chance.pick(from);
    const amount = operation === 'void' ? undefined : this.chance.between(1, amountCents);
    const body = targetedBody({ merchant, amount, currency: 'AUD' });
    const placed = { merchant, amountCents: amount ?? amountCents };
    await this.#place(this.client[operation](audit, body), placed, into);
  }

  async #place(asked: Promise<Created>, placed: Omit<Placed, 'audit'>, into: Placed[]): Promise<void> {
    this.sent += 1;
    try {
      const { audit, recovered } = await asked;
      if (recovered) this.doubtful += 1;
      into.push({ ...placed, audit });
    } catch (error) {
      // Whoever picks at random meets what cannot be refunded, completed or voided any more.
      if (!(error instanceof Refused)) throw error;
    }
  }
}
