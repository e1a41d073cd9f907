// What was decided about a transaction in doubt: how it was found out, after how many attempts, and how long it took.
import type { Audit, MerchantId, OrganisationId } from '../../values/ids.js';
import type { Intent, TransactionStatus } from '../transaction.js';

/** How it was found out. */
export type FoundBy = 'inquiry' | 'reversal' | 'late answer' | 'nothing was prepared';

export interface Resolved {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly audit: Audit;
  /** The link to its acquirer. */
  readonly acquirer: string;
  /** `reversal begun` is on the way to a decision: from then on a late approval no longer wins. */
  readonly found:
    | TransactionStatus
    | 'reversed'
    | 'reversal begun'
    /** By its acquirer, of what was decided as reversed: it is reversed again. */
    | 'approved after reversal'
    | 'reversed again';
  readonly by: FoundBy;
  readonly attempt: number;
  /** From its creation on, by the gateway's clock. */
  readonly seconds: number;
}

type InDoubtSince = Pick<Intent, 'organisationId' | 'merchantId' | 'audit' | 'acquirer' | 'createdMs'>;

export function resolved(
  { organisationId, merchantId, audit, acquirer, createdMs }: InDoubtSince,
  found: Resolved['found'],
  by: FoundBy,
  attempt: number,
  nowMs: number,
): Resolved {
  const seconds = Math.max(0, Math.round((nowMs - createdMs) / 100) / 10);
  return { organisationId, merchantId, audit, acquirer, found, by, attempt, seconds };
}

/** For the journal. */
export function inWords({ found, by, attempt, acquirer, seconds }: Resolved): string {
  return `${found} by ${by} at ${acquirer}, attempt ${attempt}, after ${seconds} s`;
}
