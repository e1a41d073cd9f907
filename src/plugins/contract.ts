// What a plugin may do: change the amount of a payment and add KVPs, before anything is stored or sent.
import type { MoneyOperation } from '../acquirers/contract.js';
import type { CardType } from '../values/card.js';
import type { Cents } from '../values/money.js';

/** A payment that has an amount but has not been claimed yet. */
export interface Priced {
  readonly merchantId: number;
  readonly operation: MoneyOperation;
  readonly amountCents: Cents;
  readonly cardType: CardType;
  /** Without the gateway's prefix. */
  readonly kvps: Readonly<Record<string, string>>;
  readonly atMs: number;
}

export interface Plugin {
  readonly name: string;
  /** Returns the payment as it was where the plugin does not apply. */
  apply<Payment extends Priced>(payment: Payment): Payment;
}

/** The plugins in the order in which they apply. A further one is a file and a line here. */
export const PLUGINS: readonly Plugin[] = [];

export function applyPlugins<Payment extends Priced>(
  payment: Payment,
  plugins: readonly Plugin[] = PLUGINS,
): Payment {
  return plugins.reduce((changed, plugin) => plugin.apply(changed), payment);
}
