// What a payer would pay, by payment method and type of card: with what the merchant adds to it.
import { createHash } from 'node:crypto';
import type { Merchant } from '../../organisations/users/callers.js';
import { applyPlugins } from '../../plugins/contract.js';
import { PLUGINS } from '../../plugins/plugins.js';
import { CARD_TYPES, type CardType } from '../../values/card.js';
import type { Cents } from '../../values/money.js';
import type { CheckoutMethod, Terms } from '../checkout.js';

export interface Quote {
  readonly method: CheckoutMethod;
  /** Empty for a bank account, and for cards of no known type. */
  readonly cardType: CardType;
  readonly totalCents: Cents;
}

export interface Quotes {
  readonly all: readonly Quote[];
  /** By which a payer says what was shown: should it have changed, it is shown again before anything is paid. */
  readonly digest: string;
}

/** Of a `tokenise` there are none. */
export function quotesFor(
  { amountCents, paymentMethods }: Terms,
  { plugins }: Merchant,
  atMs: number,
): Quotes {
  const all: Quote[] = [];
  if (amountCents !== undefined) {
    for (const method of paymentMethods) {
      for (const cardType of method === 'creditcard' ? [...CARD_TYPES, '' as const] : ['' as const]) {
        const payment = { paymentMethod: method, cardType, amountCents, atMs, kvps: {} };
        all.push({ method, cardType, totalCents: applyPlugins(payment, plugins, PLUGINS).amountCents });
      }
    }
  }
  const digest = createHash('sha256').update(JSON.stringify(all)).digest('base64url').slice(0, 16);
  return { all, digest };
}
