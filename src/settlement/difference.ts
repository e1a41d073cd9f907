// A difference between an acquirer's file and one of our days: as it is found, and as it is kept.
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';

export type DifferenceKind = 'missing_here' | 'missing_there' | 'different' | 'wrong';

export interface FoundDifference {
  readonly kind: DifferenceKind;
  readonly reference: string;
  /** What the file says, in words. */
  readonly there: string;
  /** What the gateway says, in words. */
  readonly here: string;
  readonly organisationId?: OrganisationId | undefined;
  readonly merchantId?: MerchantId | undefined;
  readonly audit?: Audit | undefined;
}

export interface Difference {
  readonly id: number;
  readonly date: string;
  readonly acquirer: string;
  readonly kind: DifferenceKind;
  readonly reference: string;
  readonly there: string;
  readonly here: string;
  readonly organisationId: OrganisationId | null;
  readonly merchantId: MerchantId | null;
  readonly audit: Audit | null;
  readonly found: Date;
  readonly foundBy: string;
  /** Since a later file for the day has not had it. */
  readonly gone: Date | null;
  readonly looked: Date | null;
  readonly lookedBy: string | null;
  readonly note: string | null;
}
