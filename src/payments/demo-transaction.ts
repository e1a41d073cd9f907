// A past transaction, as the demo makes it up: the row, its events and its settlement entries.
import type { Audit, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import type { Transaction } from './transaction.js';

export interface DemoTransaction extends Omit<Transaction, 'kvps' | 'pricing' | 'prepared'> {
  readonly decidedMs: number | undefined;
  readonly tokenId: TokenId | undefined;
  readonly userId: number;
  readonly completedCents: number;
  readonly resolveAttempts: number;
  readonly resolveAtMs: number | undefined;
  readonly version: number;
  readonly sealed: Buffer | undefined;
  readonly keyVersion: number | undefined;
  readonly attestation: Buffer | undefined;
  readonly outcomeSeal: Buffer | undefined;
}

/** An event. */
export interface DemoEvent {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly audit: Audit;
  readonly version: number;
  readonly type: string;
  readonly atMs: number;
  readonly userId: number;
}

/** A settlement entry. */
export interface DemoSettlementEntry {
  readonly traded: DemoTransaction;
  readonly day: string;
  readonly type: string;
  readonly cents: number;
}
