// The reasons for which a command can be refused, in domain terms. `src/api/problems.ts` adds HTTP status, JSON path and message.
import type { Audit } from './ids.js';

export type FaultCode =
  | 'merchant_not_permitted'
  | 'merchant_suspended'
  | 'transaction_not_found'
  | 'customer_not_found'
  | 'token_not_found'
  | 'correlation_id_already_used'
  | 'token_not_usable'
  | 'preferred_name_in_use'
  | 'reference_in_use'
  | 'target_not_completable'
  | 'target_not_refundable'
  | 'target_not_voidable'
  | 'completion_exceeds_preauthorisation'
  | 'refund_exceeds_original'
  | 'priced_amount_too_large'
  | 'direct_debit_amount_too_large'
  | 'direct_debit_currency'
  | 'limit_reached'
  | 'retry_forbidden'
  | 'wallet_token_forged'
  | 'wallet_token_expired'
  | 'wallet_token_foreign'
  | 'wallet_token_unusable'
  | 'wallet_token_used'
  | 'wallet_amount_differs'
  | 'wallet_without_keys'
  | 'no_acquirer'
  | 'acquirer_answer_unreadable'
  | 'acquirer_timeout'
  | 'search_too_slow'
  | 'settlement_too_slow'
  | 'cursor_forgotten'
  | 'too_many_waiting'
  | 'not_processed';

/** What a fault is about. */
export type Subject =
  | 'merchant'
  | 'correlation ID'
  | 'target'
  | 'amount'
  | 'currency'
  | 'payment method'
  | 'card number'
  | 'payer address'
  | 'wallet token'
  | 'customer'
  | 'customer reference'
  | 'token'
  | 'preferred name'
  | 'search'
  | 'cursor'
  | 'outcome';

export interface Reason {
  readonly code: FaultCode;
  /** Undefined if no part of the command is to blame. */
  readonly about?: Subject | undefined;
}

/** A refusal. It lists every reason found, and never the value that was sent. */
export class Fault extends Error {
  override readonly name = 'Fault';
  constructor(
    readonly reasons: readonly [Reason, ...Reason[]],
    /** The transaction that the client must know about, if any. */
    readonly audit?: Audit,
  ) {
    super(reasons.map(({ code }) => code).join(', '));
  }

  get code(): FaultCode {
    return this.reasons[0].code;
  }
}

export function fault(code: FaultCode, about?: Subject, audit?: Audit): Fault {
  return new Fault([{ code, about }], audit);
}
