// The one table of all problems of requests, their locations in a request, and the error that reports them.
import type { Subject } from '../values/faults.js';
import type { Audit } from '../values/ids.js';
import { BODY_LIMIT_BYTES } from './limits.js';

export const PROBLEMS = {
  malformed_request: { status: 400, message: 'The request is not valid HTTP.' },
  malformed_json: {
    status: 400,
    message: 'The body is not valid JSON, or a member stands twice in one object of it.',
  },
  unauthenticated: { status: 401, message: 'The user name or the secret is missing or wrong.' },
  merchant_not_permitted: { status: 403, message: 'This user may not act for this merchant.' },
  operation_not_permitted: {
    status: 403,
    message: 'This user may not do this, or not from this address.',
  },
  merchant_suspended: {
    status: 403,
    message: 'This merchant is suspended: nothing is created or changed for it. It can be looked up.',
  },
  vault_not_enabled: { status: 403, message: 'This merchant does not have the vault product.' },
  route_not_found: { status: 404, message: 'There is nothing at this address.' },
  transaction_not_found: { status: 404, message: 'There is no such transaction.' },
  customer_not_found: { status: 404, message: 'There is no such customer.' },
  token_not_found: { status: 404, message: 'There is no such token.' },
  checkout_not_found: { status: 404, message: 'There is no such checkout.' },
  schedule_not_found: { status: 404, message: 'There is no such schedule.' },
  method_not_allowed: {
    status: 405,
    message: 'This address does not take this method; see the Allow header.',
  },
  request_timeout: { status: 408, message: 'The request did not arrive in time.' },
  correlation_id_already_used: {
    status: 409,
    message: 'This X-Correlation-Id belongs to an earlier request; see _links.transaction.',
  },
  body_too_large: { status: 413, message: `The body is larger than ${BODY_LIMIT_BYTES / 1024} KiB.` },
  unsupported_media_type: { status: 415, message: 'The body must be application/json, and not compressed.' },
  organisation_moved: {
    status: 421,
    message: 'This organisation is not served at this address; see _links.base. Nothing was processed.',
  },
  field_missing: { status: 422, message: 'This field is required.' },
  field_type: { status: 422, message: 'This field has the wrong type.' },
  field_too_short: { status: 422, message: 'This field is too short.' },
  field_too_long: { status: 422, message: 'This field is too long.' },
  field_out_of_range: { status: 422, message: 'This field is out of range.' },
  field_format: { status: 422, message: 'This field does not have the required format.' },
  field_charset: { status: 422, message: 'This field has a character that is not allowed.' },
  card_number_invalid: { status: 422, message: 'This is not a valid card number.' },
  card_number_misplaced: { status: 422, message: 'A card number does not belong in this field.' },
  currency_unknown: { status: 422, message: 'This is not an ISO 4217 currency code.' },
  token_not_usable: { status: 422, message: 'This virtual PAN cannot be used for a payment.' },
  preferred_name_in_use: { status: 422, message: 'Another token of this customer has this name.' },
  reference_in_use: { status: 422, message: 'Another customer has this reference.' },
  target_not_completable: { status: 422, message: 'This transaction cannot be completed.' },
  target_not_refundable: { status: 422, message: 'This transaction cannot be refunded.' },
  target_not_voidable: { status: 422, message: 'This transaction cannot be voided.' },
  completion_exceeds_preauthorisation: {
    status: 422,
    message: 'The amount is more than the preauthorised amount.',
  },
  refund_exceeds_original: { status: 422, message: 'The amount is more than what is left to refund.' },
  schedule_not_open: {
    status: 422,
    message: 'This schedule has ended or was cancelled, or it is paused or active already.',
  },
  checkout_not_open: {
    status: 422,
    message: 'This checkout is not open: it has ended, or an attempt to pay it is under way.',
  },
  limit_reached: {
    status: 422,
    message: 'This was tried too often. Nothing was sent, and no audit was made.',
  },
  retry_forbidden: {
    status: 422,
    message:
      'This card was declined for good or too often: for 30 days the merchant must not try it again by itself. Nothing was sent, and no audit was made.',
  },
  authentication_failed: {
    status: 422,
    message: 'The cardholder was not authenticated: a payment must not go on with this result.',
  },
  wallet_token_refused: { status: 422, message: 'This token of a wallet cannot be paid with.' },
  no_acquirer: { status: 422, message: 'This merchant has no acquirer for this payment method.' },
  too_many_requests: { status: 429, message: 'This user sends too many requests; see Retry-After.' },
  headers_too_large: { status: 431, message: 'The headers are too large.' },
  internal_error: {
    status: 500,
    message: 'Something failed here. If this was a transaction, look it up before you retry.',
  },
  acquirer_answer_unreadable: {
    status: 502,
    message: 'The answer of the acquirer could not be read. The outcome is being resolved: look it up.',
  },
  not_processed: { status: 503, message: 'The request was not processed. Try again later.' },
  unavailable: {
    status: 503,
    message: 'This cannot be looked up now, which says nothing about any payment. Try again later.',
  },
  acquirer_timeout: {
    status: 504,
    message: 'The outcome is not known yet and is being resolved: look it up.',
  },
  http_version_not_supported: {
    status: 505,
    message: 'The request line must say HTTP/1.1 or HTTP/1.0. Nothing was processed.',
  },
} as const satisfies Record<string, { status: number; message: string }>;

export type ProblemCode = keyof typeof PROBLEMS;
/** Starts with `header`, `path`, `query` or `body`; then the keys. Empty if no part of the request is to blame. */
export type Location = readonly string[];

export interface Problem {
  readonly code: ProblemCode;
  readonly location: Location;
  readonly message: string;
}

interface RefusalLinks {
  /** The transaction that the client must know about. */
  readonly audit?: Audit | undefined;
  readonly checkout?: string;
  readonly schedule?: string;
  /** Where the client is to call instead, if that is known. */
  readonly base?: string | undefined;
}

/** A refused request, with all of its problems. Never contains a value that was sent. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
  constructor(
    readonly problems: readonly [Problem, ...Problem[]],
    /** What the answer links to. */
    readonly links: RefusalLinks = {},
  ) {
    super(problems.map(({ code }) => code).join(', '));
  }

  /** The first problem decides. */
  get code(): ProblemCode {
    return this.problems[0].code;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

export function problem(
  code: ProblemCode,
  location: Location = [],
  message: string = PROBLEMS[code].message,
): Problem {
  return { code, location, message };
}

/** One refusal for all problems of a request. */
export function refusedFor([first, ...rest]: readonly Problem[]): RefusedRequest {
  if (first === undefined) throw new Error('a refusal needs at least one problem');
  return new RefusedRequest([first, ...rest]);
}

export function refused(code: ProblemCode, location: Location = []): RefusedRequest {
  return new RefusedRequest([problem(code, location)]);
}

/** For a client of an organisation that is served elsewhere. */
export function servedAt(base: string | undefined, location: Location = []): RefusedRequest {
  return new RefusedRequest([problem('organisation_moved', location)], { base });
}

// The location of each subject of a domain fault.
const AMOUNT_DETAILS = ['body', 'transaction', 'amount_details'];
export const PAYMENT_METHOD: Location = ['body', 'transaction', 'payment_method'];
export const WALLET: Location = [...PAYMENT_METHOD, 'wallet'];
export const CREDITCARD: Location = [...PAYMENT_METHOD, 'creditcard'];

const PLACES: Readonly<Record<Subject, Location>> = {
  merchant: ['query', 'merchant_id'],
  'correlation ID': ['header', 'X-Correlation-Id'],
  target: ['path', 'audit'],
  amount: [...AMOUNT_DETAILS, 'total_amount'],
  currency: [...AMOUNT_DETAILS, 'currency'],
  'payment method': PAYMENT_METHOD,
  'card number': [...CREDITCARD, 'pan'],
  'wallet token': [...WALLET, 'token'],
  'payer address': ['body', 'transaction', 'payer', 'address'],
  customer: ['path', 'customer_id'],
  'customer reference': ['body', 'reference'],
  token: ['path', 'token_id'],
  'preferred name': ['body', 'preferred_name'],
  search: ['query'],
  cursor: ['query', 'after'],
  outcome: [],
};

const MERCHANT_OF_A_TRANSACTION: Location = ['body', 'merchant', 'id'];

/** `creates`: for requests that create a transaction, which name the merchant in the body. */
export function placeOf(about: Subject | undefined, creates: boolean): Location {
  if (about === undefined) return [];
  return creates && about === 'merchant' ? MERCHANT_OF_A_TRANSACTION : PLACES[about];
}
