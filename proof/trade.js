// The mixed trade of a merchant: what is bought, held, completed, given back and voided, and with which cards.
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from './client.js';

const GOOD_CARDS = ['4111111111111111', '5555555555554444', '378282246310005'];
/** Declined with 05 and with 51, and the acquirer's own fault. */
const REFUSED_CARDS = ['4100000000000050', '4100000000000514', '4100000000000969'];
/** Not reached, request lost, answer lost, late, unreadable, slow. */
const FAULTY_CARDS = [
  '4200000000000018',
  '4200000000000026',
  '4200000000000034',
  '4200000000000042',
  '4200000000000059',
  '4200000000000067',
];

/** Stores every card as a token; what comes back are their virtual PANs by card number. */
export async function storeCards(caller) {
  const customer = await call(caller, 'POST', '/customers', {
    body: { reference: 'proof', name: 'Ada Lovelace' },
  });
  const virtualPans = new Map();
  for (const pan of [...GOOD_CARDS, ...REFUSED_CARDS, ...FAULTY_CARDS]) {
    const { body } = await call(caller, 'POST', `/customers/${customer.body.id}/tokens`, {
      body: {
        preferred_name: pan.slice(-6),
        active: true,
        account: {
          general_creditcard: { 'CARD.PAN': pan, 'CARD.EXPIRY': '1239', 'CARD.NAME': 'Ada Lovelace' },
        },
      },
    });
    virtualPans.set(pan, body.virtual_pan);
  }
  return virtualPans;
}

export class Trader {
  #shop;
  #random;
  #name;
  #virtualPans;
  #faultPercent;
  #isOver;
  #serial = 0;

  constructor({ shop, random, name, virtualPans, faultPercent, isOver }) {
    this.#shop = shop;
    this.#random = random;
    this.#name = name;
    this.#virtualPans = virtualPans;
    this.#faultPercent = faultPercent;
    this.#isOver = isOver;
  }

  /** One deal after the other until it is over, and the last order to its end. */
  async trade() {
    while (!this.#isOver()) {
      await this.#random.pick([this.#sale, this.#sale, this.#hold, this.#gift]).call(this);
      await sleep(this.#random.below(60));
    }
  }

  async #sale() {
    const amountCents = this.#random.between(2, 100_000);
    const sold = await this.#place({ kind: 'purchase', amountCents, pan: this.#card() });
    if (sold.status !== 'approved') return;
    if (this.#random.chance(50)) await this.#giveBack(sold, amountCents);
    else if (this.#random.chance(40)) await this.#undo(sold);
  }

  async #hold() {
    const amountCents = this.#random.between(2, 100_000);
    const held = await this.#place({ kind: 'preauthorisation', amountCents, pan: this.#card() });
    if (held.status !== 'approved' || this.#random.chance(10)) return;
    if (this.#random.chance(20)) {
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
    if (this.#random.chance(30)) await this.#giveBack(completed, completedCents);
    else if (this.#random.chance(25)) await this.#undo(completed);
  }

  async #gift() {
    if (this.#random.chance(70)) return;
    const amountCents = this.#random.between(1, 5_000);
    await this.#place({ kind: 'standalone_refund', amountCents, pan: this.#card() });
  }

  /** In one or two parts, of which the last may be voided again. */
  async #giveBack({ audit }, amountCents) {
    let leftCents = amountCents;
    for (let part = this.#random.between(1, 2); part > 0 && leftCents > 0; part -= 1) {
      const refundedCents = this.#random.between(1, leftCents);
      const refund = await this.#place({ kind: 'refund', amountCents: refundedCents, targetAudit: audit });
      if (refund.status !== 'approved') continue;
      if (part === 1 && this.#random.chance(30)) await this.#undo(refund);
      leftCents -= refundedCents;
    }
  }

  async #undo({ audit }) {
    await this.#place({ kind: 'void', targetAudit: audit });
  }

  async #place(order) {
    if (this.#isOver()) return {};
    this.#serial += 1;
    const attempt = await this.#shop.place({ reference: `${this.#name}-${this.#serial}`, ...order });
    if (this.#random.chance(20)) await this.#shop.checkAgain(attempt);
    return attempt;
  }

  #card() {
    const cards = this.#random.chance(this.#faultPercent)
      ? FAULTY_CARDS
      : this.#random.chance(8)
        ? REFUSED_CARDS
        : GOOD_CARDS;
    const pan = this.#random.pick(cards);
    return this.#random.chance(25) ? this.#virtualPans.get(pan) : pan;
  }
}
