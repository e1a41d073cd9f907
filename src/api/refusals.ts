// Turns whatever was thrown into a refused request, and that into a response. Nothing else does this.
import type { Lookup } from '../payments/finding/lookup.js';
import { correlationIdTaken } from '../payments/pipeline/create.js';
import { DatabaseUnavailable, isOrganisationElsewhere } from '../postgres/database.js';
import { BECS_CURRENCY, MOST_CENTS } from '../values/bank-account.js';
import { Fault, type FaultCode, type Reason } from '../values/faults.js';
import { KeyUnavailable } from '../vault/keys/key-provider.js';
import type { AuthenticatedRequest } from './operation.js';
import { transactionPath } from './operations/hal.js';
import { type Problem, type ProblemCode, placeOf, problem, RefusedRequest, refused } from './problems.js';

interface RefusalResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: {
    readonly errors: readonly {
      error_code: ProblemCode;
      error_message: string;
      location: readonly string[];
    }[];
    readonly _links?: {
      readonly [Name in 'transaction' | 'checkout' | 'schedule' | 'base']?: { href: string };
    };
  };
}

export const REFUSAL_HEADERS: Partial<Record<ProblemCode, Record<string, string>>> = {
  unauthenticated: { 'www-authenticate': 'Basic realm="Tollgate", charset="UTF-8"' },
  not_processed: { 'retry-after': '1' },
  unavailable: { 'retry-after': '1' },
  too_many_requests: { 'retry-after': '1' },
};

/** Faults that clients see under another code. All other faults keep theirs. */
const OTHER_WORDS: Readonly<
  Record<Exclude<FaultCode, ProblemCode>, { readonly code: ProblemCode; readonly message: string }>
> = {
  priced_amount_too_large: {
    code: 'field_out_of_range',
    message: 'With what is added to it, this amount has more than 12 digits.',
  },
  direct_debit_amount_too_large: {
    code: 'field_out_of_range',
    message: `A direct debit, with its surcharge, must be at most ${MOST_CENTS} cents.`,
  },
  direct_debit_currency: {
    code: 'field_out_of_range',
    message: `A direct debit must be in ${BECS_CURRENCY}.`,
  },
  wallet_token_forged: {
    code: 'wallet_token_refused',
    message: 'This is not as the wallet has signed it, or it was signed by somebody who is not trusted.',
  },
  wallet_token_expired: { code: 'wallet_token_refused', message: 'This token of a wallet has expired.' },
  wallet_token_foreign: {
    code: 'wallet_token_refused',
    message: 'This token of a wallet is for another merchant, or for a key that this one does not have.',
  },
  wallet_token_unusable: {
    code: 'wallet_token_refused',
    message: 'This token of a wallet holds nothing that can be paid with here.',
  },
  wallet_token_used: {
    code: 'wallet_token_refused',
    message: 'This token of a wallet was used for another payment.',
  },
  wallet_amount_differs: {
    code: 'wallet_token_refused',
    message: 'The payer has agreed to another amount or currency than would be charged.',
  },
  wallet_without_keys: {
    code: 'wallet_token_refused',
    message: 'This merchant has no key for this wallet: the operator adds one.',
  },
  settlement_too_slow: {
    code: 'unavailable',
    message:
      'So much settles on this day that it cannot be added up in time. Ask for one merchant, or the operator.',
  },
  search_too_slow: {
    code: 'unavailable',
    message:
      'The search took too long. Search for more of a name or reference, or in a shorter period, or follow _links.next instead of a large offset.',
  },
  cursor_forgotten: {
    code: 'field_out_of_range',
    message:
      'Events after this cursor are not kept any more. Look up what you need to know, and begin again without `after`.',
  },
  too_many_waiting: {
    code: 'unavailable',
    message: 'Too many requests wait for events already. Ask again later, or without `wait`.',
  },
};

/** A domain reason as a problem of a request. `creates`: the request creates a transaction. */
export function problemOf({ code, about }: Reason, creates: boolean): Problem {
  const place = placeOf(about, creates);
  if (!isOtherWords(code)) return problem(code, place);
  const { code: said, message } = OTHER_WORDS[code];
  return problem(said, place, message);
}

function isOtherWords(code: FaultCode): code is keyof typeof OTHER_WORDS {
  return Object.hasOwn(OTHER_WORDS, code);
}

/** A domain error as the refusal of a request; undefined for unexpected errors. */
export function refusalOf(error: unknown, creates: boolean): RefusedRequest | undefined {
  if (error instanceof RefusedRequest) return error;
  if (error instanceof Fault) {
    const [first, ...rest] = error.reasons;
    const problems = rest.map((reason) => problemOf(reason, creates));
    return new RefusedRequest([problemOf(first, creates), ...problems], { audit: error.audit });
  }
  // Nothing was processed: errors after the acquirer may have been asked are caught earlier.
  if (error instanceof DatabaseUnavailable || error instanceof KeyUnavailable)
    return refused('not_processed');
  // guard(moved: a process that slept while an organisation moved says that nothing was processed): isOrganisationElsewhere(error) ⇒ false
  if (isOrganisationElsewhere(error)) return refused('not_processed');
  return undefined;
}

/**
 * The refusal for a request with this method. For a lookup, "not processed" would refer to the lookup itself, and the client must not
 * take it for the outcome of a payment.
 */
export function refusalForMethod(method: string, refusal: RefusedRequest): RefusedRequest {
  const reads = method === 'GET' || method === 'HEAD';
  return reads && refusal.code === 'not_processed' ? refused('unavailable') : refusal;
}

export function refusalResponse({ status, code, problems, links }: RefusedRequest): RefusalResponse {
  const { audit, checkout, schedule, base } = links;
  const inDoubt = code === 'acquirer_timeout' || code === 'acquirer_answer_unreadable';
  return {
    status,
    headers: {
      ...REFUSAL_HEADERS[code],
      ...(inDoubt && audit !== undefined && { location: transactionPath(audit) }),
    },
    body: {
      errors: problems.map(({ code: error_code, message: error_message, location }) => ({
        error_code,
        error_message,
        location,
      })),
      ...(audit !== undefined && { _links: { transaction: { href: transactionPath(audit) } } }),
      ...(checkout !== undefined && { _links: { checkout: { href: checkout } } }),
      ...(schedule !== undefined && { _links: { schedule: { href: schedule } } }),
      ...(base !== undefined && { _links: { base: { href: base } } }),
    },
  };
}

// A request with a used correlation ID is a repetition, whatever else is wrong with it. If it were refused, the client might think that
// its first attempt was refused too.

/** The refusal for an operation's error; undefined for unexpected errors. */
export async function refusalOfOperation(
  { creates = false }: { readonly creates?: boolean },
  context: AuthenticatedRequest,
  merchantId: unknown,
  error: unknown,
  lookup: Lookup,
): Promise<RefusedRequest | undefined> {
  const refusal = refusalOf(error, creates);
  if (!creates || refusal === undefined || !couldBeRepeated(refusal)) return refusal;
  return (await refusalAsRepeated(context, merchantId, lookup)) ?? refusal;
}

/** A request that was allowed the first time may not be allowed any more. */
function couldBeRepeated({ status, code }: RefusedRequest): boolean {
  return status === 422 || code === 'operation_not_permitted' || code === 'merchant_suspended';
}

/** The merchant in a body, even if the body is otherwise invalid. */
export function merchantIn(body: unknown): unknown {
  return (body as { merchant?: { id?: unknown } } | null | undefined)?.merchant?.id;
}

async function refusalAsRepeated(
  { caller, correlationId }: AuthenticatedRequest,
  merchantId: unknown,
  lookup: Lookup,
): Promise<RefusedRequest | undefined> {
  const merchant = typeof merchantId === 'number' ? caller.merchants.get(merchantId) : undefined;
  if (correlationId === undefined || merchant === undefined) return undefined;
  const holder = await lookup.holderOf(caller, merchant, correlationId).catch(() => undefined);
  return refusalOf(correlationIdTaken(holder), true);
}
