// A decision about a transaction in doubt: how it was found out, after how many attempts, and how long it took.
import type { Audit, MerchantId, OrganisationId } from '../../values/ids.js';
import type { Intent, TransactionStatus } from '../transaction.js';

export type FoundBy = 'inquiry' | 'reversal' | 'late answer' | 'nothing was prepared';

export interface Resolved {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly audit: Audit;
  /** The acquirer link. */
  readonly acquirer: string;
  /** `reversal begun` is a step towards a decision: from then on a late approval no longer wins. */
  readonly found:
    | TransactionStatus
    | 'reversed'
    | 'reversal begun'
    /** The acquirer approved a transaction already decided as reversed, so it is reversed again. */
    | 'approved after reversal'
    | 'reversed again';
  readonly by: FoundBy;
  readonly attempt: number;
  /** Since its creation, by the gateway's clock. */
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

/** The text for the journal. */
export function inWords({ found, by, attempt, acquirer, seconds }: Resolved): string {
  return `${found} by ${by} at ${acquirer}, attempt ${attempt}, after ${seconds} s`;
}
