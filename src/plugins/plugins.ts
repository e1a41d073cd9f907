// The plugins in the order in which they apply. A further one is a file beside this one and its two lines here.
import type { Change, Kvps, Payment, Plugin } from './contract.js';
import { SURCHARGE, type SurchargeRule } from './surcharge.js';

interface SettingsOf {
  readonly surcharge: readonly SurchargeRule[];
}

const PLUGINS: { readonly [Name in keyof SettingsOf]: Plugin<SettingsOf[Name]> } = {
  surcharge: SURCHARGE,
};

/** What a merchant has switched on; a plugin without settings is off. */
export type PluginSettings = Partial<SettingsOf>;

/** The payment with every change that the merchant's plugins make. */
export function applyPlugins<Paid extends Payment & { readonly kvps: Kvps }>(
  payment: Paid,
  settings: PluginSettings,
): Paid {
  let changed = payment;
  for (const name of Object.keys(PLUGINS) as (keyof SettingsOf)[]) {
    const change = changeBy(name, changed, settings);
    if (change !== undefined) {
      changed = { ...changed, amountCents: change.amountCents, kvps: { ...changed.kvps, ...change.kvps } };
    }
  }
  return changed;
}

/** One name at a time: a plugin meets its own settings and no other's. */
function changeBy<Name extends keyof SettingsOf>(
  name: Name,
  payment: Payment,
  settings: PluginSettings,
): Change | undefined {
  const plugin: Plugin<SettingsOf[Name]> = PLUGINS[name];
  const ofPlugin: SettingsOf[Name] | undefined = settings[name];
  // What was agreed for a preauthorisation holds for its completion, also if the plugin was switched off since.
  if (payment.target !== undefined) return plugin.applyToCompletion(payment, payment.target);
  return ofPlugin === undefined ? undefined : plugin.apply(payment, ofPlugin);
}
