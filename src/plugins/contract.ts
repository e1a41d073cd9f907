// What a plugin may do: change a payment's amount and add KVPs, before anything is stored or sent. Also applies the plugins.
import type { CardType } from '../values/card.js';
import { fault } from '../values/faults.js';
import { type Cents, MAX_AMOUNT_CENTS } from '../values/money.js';

/** A payment that has an amount and is not claimed yet. */
export interface Payment {
  readonly paymentMethod: 'creditcard' | 'bankaccount';
  readonly cardType: CardType;
  readonly amountCents: Cents;
  /** The gateway's time. */
  readonly atMs: number;
  /** For a completion: its preauthorisation. */
  readonly target?: { readonly pricing?: Pricing };
  readonly kvps: Kvps;
  /** The plugins' decisions so far. */
  readonly pricing?: Pricing;
}

/** The plugins' decisions as they are stored. Never read from KVPs, which clients may send too. */
export interface Pricing {
  /** As submitted, before plugins. */
  readonly originalCents: Cents;
  /** By plugin name. */
  readonly decisions: Readonly<Record<string, unknown>>;
}

/** Keys without the gateway's prefix. */
export type Kvps = Readonly<Record<string, string>>;

export interface Change<Decision = unknown> {
  readonly amountCents: Cents;
  /** Added to the request's KVPs; equal keys are overwritten. */
  readonly kvps: Kvps;
  /** What the completion will need to know. */
  readonly decision: Decision;
}

export interface Plugin<Settings, Decision> {
  /** Settings and decisions are stored under this name. */
  readonly name: string;
  /** For purchases and preauthorisations of merchants that have enabled the plugin; undefined if it does not apply. */
  apply(payment: Payment, settings: Settings): Change<Decision> | undefined;
  /** For completions whose preauthorisation the plugin decided about, even if it has been disabled since. */
  applyToCompletion(completion: Payment, decided: Decision): Change<Decision> | undefined;
}

/** A merchant's settings by plugin name; a plugin without settings is off. */
export type PluginSettings = Readonly<Record<string, unknown>>;

/** A plugin in the list. Only the plugin knows the types of its settings and decisions. */
export interface RegisteredPlugin {
  readonly name: string;
  change(payment: Payment, settings: PluginSettings): Change | undefined;
}

export function register<Settings, Decision>(plugin: Plugin<Settings, Decision>): RegisteredPlugin {
  const { name } = plugin;
  return {
    name,
    change(payment, { [name]: settings }) {
      // The decision for a preauthorisation also holds for its completion, even if the plugin has been disabled since.
      if (payment.target !== undefined) {
        // guard(completion: the surcharge of its preauthorisation, and no other): payment.target.pricing?.decisions[name] ⇒ undefined
        const decided = payment.target.pricing?.decisions[name];
        return decided === undefined ? undefined : plugin.applyToCompletion(payment, decided as Decision);
      }
      return settings === undefined ? undefined : plugin.apply(payment, settings as Settings);
    },
  };
}

/** The payment with all changes of the merchant's plugins. */
export function applyPlugins<Paid extends Payment>(
  payment: Paid,
  settings: PluginSettings,
  plugins: readonly RegisteredPlugin[],
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
