// Who starts a payment with a card that is kept, and under which agreement, as schemes want to know it.

export const INITIATORS = ['customer', 'merchant'] as const;
export type Initiator = (typeof INITIATORS)[number];

export const CREDENTIAL_REASONS = [
  'recurring',
  'instalment',
  'unscheduled',
  'resubmission',
  'delayed_charge',
  'no_show',
  'incremental',
] as const;
export type CredentialReason = (typeof CREDENTIAL_REASONS)[number];

export const SEQUENCES = ['initial', 'subsequent'] as const;
export type Sequence = (typeof SEQUENCES)[number];

export interface Credential {
  readonly initiator: Initiator;
  readonly reason: CredentialReason;
  readonly sequence: Sequence;
  /** Under which the network knows the payment that the cardholder agreed to. */
  readonly networkTransactionId?: string;
}

/** What merchants may do by themselves without an agreement before it. */
const BY_ITSELF: readonly CredentialReason[] = ['delayed_charge', 'no_show', 'incremental', 'resubmission'];

/** A merchant that pays by itself goes on with an agreement, or does what schemes let it do without one. */
export function isAgreed({ initiator, reason, sequence }: Credential): boolean {
  return initiator === 'customer' || sequence === 'subsequent' || BY_ITSELF.includes(reason);
}
