// The mixed trade of a merchant: what is bought, held, completed, given back and voided, and with which cards.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tollgate } from '../../client/src/index.js';
import { CARD, cardAccount } from '../../testkit/bodies.js';
import type { Chance } from '../../testkit/chance.js';
import {
  cardAnsweredWith,
  DECLINED_CARD,
  LATE_ANSWER_CARD,
  LOST_ANSWER_CARD,
  LOST_REQUEST_CARD,
  SLOW_CARD,
  UNREACHABLE_CARD,
  UNREADABLE_ANSWER_CARD,
} from '../../testkit/test-cards.js';
import type { Attempt, Order, Shop } from './shop.js';

const GOOD_CARDS = [CARD, '5555555555554444', '378282246310005'];
/** Declined with 05 and with 51, and the acquirer's own fault. */
const REFUSED_CARDS = [DECLINED_CARD, cardAnsweredWith('51'), cardAnsweredWith('96')];
const FAULTY_CARDS = [
  UNREACHABLE_CARD,
  LOST_REQUEST_CARD,
  LOST_ANSWER_CARD,
  LATE_ANSWER_CARD,
  UNREADABLE_ANSWER_CARD,
  SLOW_CARD,
];

/** By card number. */
export type VirtualPans = ReadonlyMap<string, string>;

/** Stores every card as a token; what comes back are their virtual PANs by card number. */
export async function storeCards({ customers, tokens }: Tollgate): Promise<VirtualPans> {
  const customer = await customers.create({ reference: 'proof', name: 'Ada Lovelace' });
  const virtualPans = new Map<string, string>();
  for (const pan of [...GOOD_CARDS, ...REFUSED_CARDS, ...FAULTY_CARDS]) {
    const account = cardAccount({ 'CARD.PAN': pan });
    const token = await tokens.create(customer.id, { preferred_name: pan.slice(-6), active: true, account });
    virtualPans.set(pan, token.virtual_pan);
  }
  return virtualPans;
}

export interface TraderOptions {
  readonly shop: Shop;
  readonly random: Chance;
  readonly name: string;
  readonly virtualPans: VirtualPans;
  /** How many of the payments are by cards that make the acquirer fail. */
  readonly faultPercent: number;
  readonly isOver: () => boolean;
  /** The longest pause between two deals (60 ms). */
  readonly pauseMs?: () => number;
}

/** What became of an order; nothing, where it was not placed any more. */
type Placed = Pick<Attempt, 'audit' | 'status'>;

export class Trader {
  readonly #shop: Shop;
  readonly #random: Chance;
  readonly #name: string;
  readonly #virtualPans: VirtualPans;
  readonly #faultPercent: number;
  readonly #isOver: () => boolean;
  readonly #pauseMs: () => number;
  #serial = 0;

  constructor(options: TraderOptions) {
    this.#shop = options.shop;
    this.#random = options.random;
    this.#name = options.name;
    this.#virtualPans = options.virtualPans;
    this.#faultPercent = options.faultPercent;
    this.#isOver = options.isOver;
    this.#pauseMs = options.pauseMs ?? (() => 60);
  }

  /** One deal after the other until it is over, and the last order to its end. */
  async trade(): Promise<void> {
    while (!this.#isOver()) {
      await this.#random.pick([this.#sale, this.#sale, this.#hold, this.#gift]).call(this);
      await sleep(this.#random.below(this.#pauseMs()));
    }
  }

  async #sale(): Promise<void> {
    const amountCents = this.#random.between(2, 100_000);
    const sold = await this.#place({ kind: 'purchase', amountCents, pan: this.#card() });
    if (sold.status !== 'approved') return;
    if (this.#random.percent(50)) await this.#giveBack(sold, amountCents);
    else if (this.#random.percent(40)) await this.#undo(sold);
  }

  async #hold(): Promise<void> {
    const amountCents = this.#random.between(2, 100_000);
    const held = await this.#place({ kind: 'preauthorisation', amountCents, pan: this.#card() });
    if (held.status !== 'approved' || this.#random.percent(10)) return;
    if (this.#random.percent(20)) {
      await this.#undo(held);
      return;
    }
    const completedCents = this.#random.between(1, amountCents);
    const completed = await this.#place({
      kind: 'completion',
      amountCents: completedCents,
      targetAudit: held.audit,
    });
    if (completed.status !== 'approved') return;
    if (this.#random.percent(30)) await this.#giveBack(completed, completedCents);
    else if (this.#random.percent(25)) await this.#undo(completed);
  }

  async #gift(): Promise<void> {
    if (this.#random.percent(70)) return;
    const amountCents = this.#random.between(1, 5_000);
    await this.#place({ kind: 'standalone_refund', amountCents, pan: this.#card() });
  }

  /** In one or two parts, of which the last may be voided again. */
  async #giveBack({ audit }: Placed, amountCents: number): Promise<void> {
    let leftCents = amountCents;
    for (let part = this.#random.between(1, 2); part > 0 && leftCents > 0; part -= 1) {
      const refundedCents = this.#random.between(1, leftCents);
      const refund = await this.#place({ kind: 'refund', amountCents: refundedCents, targetAudit: audit });
      if (refund.status !== 'approved') continue;
      if (part === 1 && this.#random.percent(30)) await this.#undo(refund);
      leftCents -= refundedCents;
    }
  }

  async #undo({ audit }: Placed): Promise<void> {
    await this.#place({ kind: 'void', targetAudit: audit });
  }

  async #place(order: Omit<Order, 'reference' | 'attempts'>): Promise<Placed> {
    if (this.#isOver()) return {};
    this.#serial += 1;
    const attempt = await this.#shop.place({ reference: `${this.#name}-${this.#serial}`, ...order });
    if (this.#random.percent(20)) await this.#shop.checkAgain(attempt);
    return attempt;
  }

  #card(): string | undefined {
    const cards = this.#random.percent(this.#faultPercent)
      ? FAULTY_CARDS
      : this.#random.percent(8)
        ? REFUSED_CARDS
        : GOOD_CARDS;
    const pan = this.#random.pick(cards);
    return this.#random.percent(25) ? this.#virtualPans.get(pan) : pan;
  }
}

/** So many traders at once, each by a chance of its own, until it is over. No two trades have the same name at one gateway. */
export async function tradeTogether(
  count: number,
  { random, name = 'order', ...shared }: Omit<TraderOptions, 'name'> & { readonly name?: string },
): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, number) =>
      new Trader({ ...shared, random: random.fork(), name: `${name}-${number}` }).trade(),
    ),
  );
}
