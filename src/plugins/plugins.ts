// The plugins in the order in which they apply. A further one is a file beside this one and its entry in the list.
import { fault } from '../values/faults.js';
import { MAX_AMOUNT_CENTS } from '../values/money.js';
import { type Payment, type PluginSettings, register } from './contract.js';
import { SURCHARGE } from './surcharge.js';

const PLUGINS = [register(SURCHARGE)];

/** The payment with every change that the merchant's plugins make. */
export function applyPlugins<Paid extends Payment>(
  payment: Paid,
  settings: PluginSettings,
  plugins = PLUGINS,
): Paid {
  let changed = payment;
  for (const plugin of plugins) {
    const change = plugin.change(changed, settings);
    if (change !== undefined) {
      changed = {
        ...changed,
        amountCents: change.amountCents,
        kvps: { ...changed.kvps, ...change.kvps },
        pricing: {
          originalCents: payment.amountCents,
          decisions: { ...changed.pricing?.decisions, [plugin.name]: change.decision },
        },
      };
    }
  }
  // guard(surcharge: a total of at most twelve digits): if (changed.amountCents > MAX_AMOUNT_CENTS) throw fault('priced_amount_too_large', 'amount'); ⇒
  if (changed.amountCents > MAX_AMOUNT_CENTS) throw fault('priced_amount_too_large', 'amount');
  return changed;
}
