// What a transaction costs: the plugins change its amount and add KVPs, before anything is stored.
import type { Payment, Pricing } from '../../plugins/contract.js';
import { applyPlugins } from '../../plugins/plugins.js';
import { becsFaults } from '../../values/bank-account.js';
import type { CardType } from '../../values/card.js';
import { Fault } from '../../values/faults.js';
import type { Transaction } from '../transaction.js';
import { type DirectCommand, isTargeted, type TargetedCommand } from './command.js';
import type { OtherLinks } from './link.js';
import type { PaymentMethod } from './payment-method.js';

/** A payment whose method is in the open and whose link is known. Its amount and KVPs are still those of the request. */
export type OpenedDirect = Omit<DirectCommand, 'method'> &
  Payment & {
    readonly method: PaymentMethod;
    readonly acquirer: string;
    readonly others?: OtherLinks;
  };

/** An operation on an earlier transaction, which is there if it has to be known before the claim. */
export type OpenedTargeted = TargetedCommand & {
  readonly atMs: number;
  readonly target?: Transaction;
  readonly pricing?: Pricing;
};

export type Opened = OpenedDirect | OpenedTargeted;

export function price(opened: Opened): Opened {
  if (!isTargeted(opened)) return priceDirect(opened);
  return opened.operation === 'completion' ? priceCompletion(opened) : opened;
}

/** What a bank would refuse is refused here; with the surcharge in it, since that is what the bank would see. */
function priceDirect(opened: OpenedDirect): OpenedDirect {
  const refund = opened.operation === 'standalone_refund';
  const priced = refund ? opened : applyPlugins(opened, opened.merchant.plugins);
  const [first, ...rest] = priced.method.kind === 'bank_account' ? becsFaults(priced) : [];
  if (first !== undefined) throw new Fault([first, ...rest]);
  return priced;
}

/** Its price depends on what was agreed for the preauthorisation. Where there is none, the claim will say so. */
function priceCompletion(opened: Extract<OpenedTargeted, { operation: 'completion' }>): OpenedTargeted {
  const { target, merchant } = opened;
  if (target === undefined) return opened;
  const cardType = (target.cardType ?? '') as CardType;
  return applyPlugins(
    { cardType, paymentMethod: 'creditcard' as const, ...opened, target },
    merchant.plugins,
  );
}
