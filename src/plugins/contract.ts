// What a plugin may do: change the amount of a payment and add KVPs, before anything is stored or sent; and how they are applied.
import type { CardType } from '../values/card.js';
import { fault } from '../values/faults.js';
import { type Cents, MAX_AMOUNT_CENTS } from '../values/money.js';

/** A payment that has an amount but has not been claimed yet. */
export interface Payment {
  readonly paymentMethod: 'creditcard' | 'bankaccount';
  readonly cardType: CardType;
  readonly amountCents: Cents;
  /** The gateway's time. */
  readonly atMs: number;
  /** Of a completion: the preauthorisation that it completes. */
  readonly target?: { readonly pricing?: Pricing };
  readonly kvps: Kvps;
  /** What the plugins have decided about it so far. */
  readonly pricing?: Pricing;
}

/** What the plugins decided, as it is stored. Never read from KVPs, since those a client may send too. */
export interface Pricing {
  /** As submitted, before any plugin. */
  readonly originalCents: Cents;
  /** By the names of the plugins. */
  readonly decisions: Readonly<Record<string, unknown>>;
}

/** Keys without the gateway's prefix. */
export type Kvps = Readonly<Record<string, string>>;

export interface Change<Decision = unknown> {
  readonly amountCents: Cents;
  /** Added to those of the request; the same keys there are overwritten. */
  readonly kvps: Kvps;
  /** What a completion has to know of it. */
  readonly decision: Decision;
}

export interface Plugin<Settings, Decision> {
  /** Under which its settings and its decisions are stored. */
  readonly name: string;
  /** For purchases and preauthorisations of merchants that have it switched on; undefined where it does not apply. */
  apply(payment: Payment, settings: Settings): Change<Decision> | undefined;
  /** For completions where it has decided about the preauthorisation, whatever is switched on by now. */
  applyToCompletion(completion: Payment, decided: Decision): Change<Decision> | undefined;
}

/** What a merchant has switched on, by the names of the plugins; a plugin without settings is off. */
export type PluginSettings = Readonly<Record<string, unknown>>;

/** A plugin among others. Only it knows what its settings and its decisions mean. */
export interface RegisteredPlugin {
  readonly name: string;
  change(payment: Payment, settings: PluginSettings): Change | undefined;
}

export function register<Settings, Decision>(plugin: Plugin<Settings, Decision>): RegisteredPlugin {
  const { name } = plugin;
  return {
    name,
    change(payment, { [name]: settings }) {
      // What was agreed for a preauthorisation holds for its completion, also if the plugin was switched off since.
      if (payment.target !== undefined) {
        // guard(completion: the surcharge of its preauthorisation, and no other): payment.target.pricing?.decisions[name] ⇒ undefined
        const decided = payment.target.pricing?.decisions[name];
        return decided === undefined ? undefined : plugin.applyToCompletion(payment, decided as Decision);
      }
      return settings === undefined ? undefined : plugin.apply(payment, settings as Settings);
    },
  };
}

/** The payment with every change that the merchant's plugins make. */
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
