// A transaction of the demo's history while it is generated: its final state, and when it got there.
import type { BankAccount } from '../values/bank-account.js';
import type { Chance } from './chance.js';
import type { DemoCard } from './people.js';
import type { Shop } from './shops.js';

export type DraftMethod =
  | { readonly kind: 'card'; readonly card: DemoCard; readonly member?: number }
  | { readonly kind: 'bank_account'; readonly account: BankAccount; readonly member: number };

export type DraftStatus = 'unknown' | 'approved' | 'declined' | 'pending' | 'error' | 'voided';

/** The fate of a direct debit. */
export interface DraftItem {
  /** The business day of its file. */
  readonly day: string;
  readonly state: 'waiting' | 'filed' | 'cleared' | 'returned';
  readonly returnCode?: number;
  /** When its next step is due. */
  readonly nextMs?: number;
}

export interface Draft {
  readonly shop: Shop;
  readonly type: 'purchase' | 'preauthorisation' | 'completion' | 'refund' | 'void';
  readonly createdMs: number;
  readonly amountCents: number;
  readonly method: DraftMethod;
  readonly reference: string;
  readonly correlationId: string;
  readonly target?: Draft;
  status: DraftStatus;
  gatewayStatusCode: 0 | 1 | 2 | 3 | -99;
  responseCode?: string;
  responseMessage?: string;
  authorisationCode?: string;
  settlementDate?: string;
  voidableUntilMs?: number;
  completableUntilMs?: number;
  refundedCents: number;
  completedBy?: Draft;
  voidedBy?: Draft;
  resolveAttempts: number;
  resolveAtMs?: number;
  item?: DraftItem;
  /** Its events, in order. */
  readonly told: { readonly type: string; readonly atMs: number }[];
  /** What it settles, and when. */
  readonly settles: { readonly day: string; readonly type: string; readonly cents: number }[];
}

export type Begun = Pick<Draft, 'shop' | 'type' | 'createdMs' | 'amountCents' | 'method'> & {
  readonly target?: Draft;
};

const SUFFIXES = {
  purchase: '',
  preauthorisation: '-H',
  completion: '-C',
  refund: '-R',
  void: '-V',
} as const;

export function begin(chance: Chance, begun: Begun): Draft {
  const { shop, type, target } = begun;
  const reference =
    target === undefined
      ? `${shop.prefix}-${chance.between(100_000, 999_999)}${SUFFIXES[type]}`
      : `${target.reference.replace(/-[HC]$/, '')}${SUFFIXES[type]}`;
  return {
    reference,
    correlationId: chance.uuid(),
    status: 'unknown',
    gatewayStatusCode: -99,
    refundedCents: 0,
    resolveAttempts: 0,
    told: [],
    settles: [],
    ...begun,
  };
}

/** Sets the status, and adds the event. */
export function become(
  draft: Draft,
  status: DraftStatus,
  atMs: number,
  type = `transaction.${status}`,
): void {
  draft.status = status;
  draft.told.push({ type, atMs });
}
