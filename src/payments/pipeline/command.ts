// A validated request to create a transaction, in the gateway's own terms.

import type { PaymentMethod as Method } from '../../acquirers/contract.js';
import type { Limited } from '../../organisations/limits.js';
import type { Caller, Merchant } from '../../organisations/users/callers.js';
import type { BankAccount } from '../../values/bank-account.js';
import type { CardDetails } from '../../values/card.js';
import type { Credential } from '../../values/credential.js';
import type { Audit, CustomerId, TokenId } from '../../values/ids.js';
import type { Cents } from '../../values/money.js';
import type { ThreeDSecure } from '../../values/three-d-secure.js';
import type { Payload } from '../../wallets/payloads.js';
import type { Untaken } from '../../wallets/wallets.js';
import type { InFlightRequest } from '../finding/search-fence.js';
import type { AskedByOperator, Kvps } from '../transaction.js';

interface Common {
  readonly caller: Caller;
  /** The client's address. */
  readonly address: string;
  readonly merchant: Merchant;
  readonly correlationId: string;
  readonly inFlight: InFlightRequest;
  readonly reference: string;
  readonly kvps: Kvps;
}

export interface Amount {
  readonly amountCents: Cents;
  readonly currency: string;
}

/** The payment method as the request names it. */
export type NamedMethod =
  /** `payload`: of a wallet, where whoever asks has opened it already. */
  | { readonly kind: 'card'; readonly card: CardDetails; readonly payload?: Untaken }
  | { readonly kind: 'bank_account'; readonly bankAccount: BankAccount }
  | { readonly kind: 'virtual_pan'; readonly virtualPan: string; readonly threeDSecure?: ThreeDSecure }
  | { readonly kind: 'wallet'; readonly payload: Payload };

/** A payment method that can be charged: a card or bank account, with the token or the card for one payment that was opened for it. */
export type PaymentMethod = Method & {
  readonly tokenId?: TokenId;
  readonly customerId?: CustomerId;
  readonly oneTimePan?: string;
  /** Of the token's account, and what the card's network calls the first payment with it. */
  readonly sealVersion?: number;
  readonly networkTransactionId?: string;
  /** The payload of a wallet that the card comes from. */
  readonly payload?: Untaken;
};

/** A payment or refund with a payment method of its own. */
export interface DirectCommand extends Common, Amount {
  readonly operation: 'purchase' | 'preauthorisation' | 'standalone_refund';
  readonly method: NamedMethod;
  readonly credential?: Credential;
  /** As the shop says it. */
  readonly payerAddress?: string;
  /** The limits that it has reached, of those that only watch, where whoever asks has counted it already. */
  readonly reached?: readonly Limited[];
}

interface OnTarget extends Common {
  readonly targetAudit: Audit;
  readonly byOperator?: AskedByOperator;
}

export interface CompletionCommand extends OnTarget, Amount {
  readonly operation: 'completion';
}

export interface RefundCommand extends OnTarget, Amount {
  readonly operation: 'refund';
}

export interface VoidCommand extends OnTarget {
  readonly operation: 'void';
}

/** An operation on an earlier transaction. */
export type TargetedCommand = CompletionCommand | RefundCommand | VoidCommand;

/** A targeted command before it is in flight. */
export type TargetedWish = TargetedCommand extends infer Kind
  ? Kind extends TargetedCommand
    ? Omit<Kind, 'inFlight'>
    : never
  : never;

export type Command = DirectCommand | TargetedCommand;
