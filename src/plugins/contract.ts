// What a plugin may do: change the amount of a payment and add KVPs, before anything is stored or sent.
import type { CardType } from '../values/card.js';
import type { Cents } from '../values/money.js';

/** A payment that has an amount but has not been claimed yet. */
export interface Payment {
  readonly paymentMethod: 'creditcard' | 'bankaccount';
  readonly cardType: CardType;
  readonly amountCents: Cents;
  /** The gateway's time. */
  readonly atMs: number;
  /** Of a completion: the preauthorisation that it completes. */
  readonly target?: Preauthorised;
}

/** What was agreed for a preauthorisation. */
export interface Preauthorised {
  readonly amountCents: Cents;
  readonly kvps: Kvps;
}

/** Keys without the gateway's prefix. */
export type Kvps = Readonly<Record<string, string>>;

export interface Change {
  readonly amountCents: Cents;
  /** Added to those of the request; the same keys there are overwritten. */
  readonly kvps: Kvps;
}

export interface Plugin<Settings> {
  /** Under which its settings are stored. */
  readonly name: string;
  /** For purchases and preauthorisations of merchants that have it switched on; undefined where it does not apply. */
  apply(payment: Payment, settings: Settings): Change | undefined;
  /** For completions, whatever is switched on by now. */
  applyToCompletion(completion: Payment, target: Preauthorised): Change | undefined;
}

/** What a merchant has switched on, by the names of the plugins; a plugin without settings is off. */
export type PluginSettings = Readonly<Record<string, unknown>>;

/** A plugin among others. Only it knows what its settings mean. */
export interface RegisteredPlugin {
  change(payment: Payment, settings: PluginSettings): Change | undefined;
}

export function register<Settings>(plugin: Plugin<Settings>): RegisteredPlugin {
  return {
    change(payment, { [plugin.name]: settings }) {
      // What was agreed for a preauthorisation holds for its completion, also if the plugin was switched off since.
      if (payment.target !== undefined) return plugin.applyToCompletion(payment, payment.target);
      return settings === undefined ? undefined : plugin.apply(payment, settings as Settings);
    },
  };
}
