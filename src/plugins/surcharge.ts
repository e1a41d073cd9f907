// The surcharge plugin: adds a percentage to payments, in whole cents, and reports it in KVPs.
import { CARD_TYPES, type CardType } from '../values/card.js';
import { type Cents, cents } from '../values/money.js';
import { sydneyDate } from '../values/time.js';
import type { Change, Payment, Plugin } from './contract.js';

/** What a rule applies to, from general to specific. */
export type SurchargeScope =
  | 'default'
  | `method:${Payment['paymentMethod']}`
  | `card:${Exclude<CardType, ''>}`;

export interface SurchargeRule {
  readonly scope: SurchargeScope;
  /** Thousandths of a percent: 1.5 % is 1500. */
  readonly thousandths: number;
  /** First and last day in Sydney, `YYYY-MM-DD`; open where absent. */
  readonly from?: string | null;
  readonly until?: string | null;
}

export const SURCHARGE_SCOPES: readonly SurchargeScope[] = [
  'default',
  'method:creditcard',
  'method:bankaccount',
  ...CARD_TYPES.filter((type) => type !== '').map((type): SurchargeScope => `card:${type}`),
];

const WHOLE = 100_000n;

/** Reads `1.5` as 1500; undefined outside 0 to 100 or with more than three decimals. */
export function parsePercent(text: string): number | undefined {
  const [, whole, decimals = ''] = /^([0-9]{1,3})(?:\.([0-9]{1,3}))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const thousandths = Number(whole) * 1000 + Number(decimals.padEnd(3, '0'));
  return thousandths <= 100_000 ? thousandths : undefined;
}

/** Writes 1500 as `1.5`. */
export function formatPercent(thousandths: number): string {
  const decimals = String(thousandths % 1000)
    .padStart(3, '0')
    .replace(/0+$/, '');
  const whole = String(Math.floor(thousandths / 1000));
  return decimals === '' ? whole : `${whole}.${decimals}`;
}

/** Rounded half up to the cent, in integer arithmetic. */
export function surchargeOn(amountCents: Cents, thousandths: number): Cents {
  return cents(Number((BigInt(amountCents) * BigInt(thousandths) + WHOLE / 2n) / WHOLE));
}

/** The part that is stored. */
interface SurchargeDecision {
  readonly thousandths: number;
}

export const SURCHARGE: Plugin<readonly SurchargeRule[], SurchargeDecision> = {
  name: 'surcharge',
  apply(payment, rules) {
    const rule = ruleFor(payment, rules);
    return rule && surcharged(payment.amountCents, rule.thousandths);
  },
  /** The preauthorisation's percentage. */
  applyToCompletion({ amountCents }, { thousandths }) {
    return surcharged(amountCents, thousandths);
  },
};

function surcharged(original: Cents, thousandths: number): Change<SurchargeDecision> {
  const added = surchargeOn(original, thousandths);
  const total = cents(original + added);
  return {
    amountCents: total,
    kvps: {
      'SURCHARGE.ORIGINAL_AMOUNT': String(original),
      'SURCHARGE.PERCENT': formatPercent(thousandths),
      'SURCHARGE.ADDED_AMOUNT': String(added),
      'SURCHARGE.TOTAL_AMOUNT': String(total),
    },
    decision: { thousandths },
  };
}

/** The most specific rule in force; among equals, the one that began last. */
function ruleFor(payment: Payment, rules: readonly SurchargeRule[]): SurchargeRule | undefined {
  const today = sydneyDate(payment.atMs);
  const inForce = rules
    .filter(({ from, until }) => (from ?? '') <= today && (until ?? '9999-12-31') >= today)
    .sort((one, other) => ((one.from ?? '') < (other.from ?? '') ? 1 : -1));
  const scopes = [`card:${payment.cardType}`, `method:${payment.paymentMethod}`, 'default'];
  return scopes
    .map((scope) => inForce.find((rule) => rule.scope === scope))
    .find((rule) => rule !== undefined);
}
