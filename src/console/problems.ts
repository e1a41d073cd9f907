// What the console refuses, and how whatever was thrown reads for the page.
import { PROBLEMS, type ProblemCode } from '../api/problems.js';
import { refusalForMethod, refusalOf } from '../api/refusals.js';
import { isValueRefused } from '../postgres/database.js';
import { Refusal, type RefusalCode } from '../values/refusal.js';

const OWN = {
  not_signed_in: { status: 401, message: 'You are not signed in, or your session has ended.' },
  role_not_sufficient: { status: 403, message: 'Your role does not allow this.' },
  organisation_not_permitted: {
    status: 403,
    message: 'This is for operators of the whole installation.',
  },
  authentication_not_recent: { status: 403, message: 'Prove again who you are, and try again.' },
  origin_not_allowed: { status: 403, message: 'This was not sent by the console’s own page.' },
  connection_not_safe: {
    status: 403,
    message: 'The console needs TLS, unless it is called on the machine itself: see docs/console.md.',
  },
  not_found: { status: 404, message: 'There is no such thing, or it is not yours to see.' },
  too_many_sign_ins: { status: 429, message: 'Too many try to sign in at the moment. Try again.' },
  too_many_streams: { status: 429, message: 'Too many pages watch at the same time.' },
  too_many_reads: {
    status: 429,
    message: 'You, or operators together, look at too much at the same time. Try again.',
  },
  provider_unavailable: {
    status: 503,
    message: 'The identity provider does not answer. Try again, or sign in another way.',
  },
  console_starting: { status: 503, message: 'The gateway is starting.' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ConsoleProblemCode = keyof typeof OWN | ProblemCode;

/** Refusals that are neither "there is no such" (404) nor about what was sent (422). */
const STATUSES: { readonly [Code in RefusalCode]?: number } = {
  sign_in_link_refused: 401,
  sign_in_link_opened_by_inviter: 403,
  second_person_needed: 409,
  nobody_else_can_approve: 409,
  second_person_not_independent: 403,
  sign_in_failed: 401,
  passkey_refused: 401,
  provider_refused: 401,
  too_many_attempts: 429,
  operator_disabled: 403,
  acceptor_not_permitted: 403,
  not_processed: 503,
  no_gateway_running: 503,
  request_outcome_unknown: 504,
};

/** What is answered instead of a view. */
export interface ErrorBody {
  readonly error_code: string;
  readonly error_message: string;
  /** `path`, `query` or `body`, then the keys. Absent where no part of the request is to blame. */
  readonly location?: readonly string[];
  /** Of the transaction that the operator has to know of, if there is one. */
  readonly audit?: number;
}

export interface ErrorAnswer {
  readonly status: number;
  readonly body: ErrorBody;
}

export class ConsoleProblem extends Error {
  override readonly name = 'ConsoleProblem';
  constructor(
    readonly code: ConsoleProblemCode,
    readonly location: readonly string[] = [],
    /** After how many seconds it may be tried again. */
    readonly retryAfter?: number,
  ) {
    super(code);
  }
}

/** Undefined for what nobody foresaw. `method`: of the request. */
export function errorAnswer(error: unknown, method: string): ErrorAnswer | undefined {
  if (error instanceof ConsoleProblem) {
    const { status, message } = { ...PROBLEMS, ...OWN }[error.code];
    return answer(status, error.code, message, error.location);
  }
  if (error instanceof Refusal) return answer(statusOf(error.code), error.code, asSentence(error.message));
  const refused = refusalOf(error, true);
  if (refused !== undefined) {
    const { problems, status, links } = refusalForMethod(method, refused);
    const { code, message, location } = problems[0];
    const said = answer(status, code, message, location);
    const { audit } = links;
    return audit === undefined ? said : { status, body: { ...said.body, audit } };
  }
  if (isValueRefused(error)) return answer(422, 'field_format', PROBLEMS.field_format.message);
  return undefined;
}

function statusOf(code: RefusalCode): number {
  return STATUSES[code] ?? (code.endsWith('_not_found') ? 404 : 422);
}

export const INTERNAL_ERROR: ErrorAnswer = answer(500, 'internal_error', PROBLEMS.internal_error.message);

function answer(
  status: number,
  error_code: string,
  error_message: string,
  location: readonly string[] = [],
): ErrorAnswer {
  return { status, body: { error_code, error_message, ...(location.length > 0 && { location }) } };
}

function asSentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}${words.endsWith('.') ? '' : '.'}`;
}
