// What the gateway refuses, and what goes wrong on the way to it, as the page shows it.

export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    /** 0 where there was no answer at all. */
    readonly status: number,
    readonly code: string,
    message: string,
    /** The field of the request that is wrong, if there is one. */
    readonly field?: string,
    /** The transaction that the operator should look at. */
    readonly audit?: number,
  ) {
    super(message);
  }
}

interface ErrorBody {
  readonly error_code?: string;
  readonly error_message?: string;
  readonly location?: readonly string[] | string;
  readonly audit?: number;
}

export async function problemOf(response: Response): Promise<Problem> {
  const body = (await response.json().catch(() => ({}))) as ErrorBody;
  const { error_code = `http_${response.status}`, error_message, location, audit } = body;
  const message = error_message ?? `The gateway answered with ${response.status}.`;
  return new Problem(response.status, error_code, message, [location ?? []].flat().at(-1), audit);
}

/** The request may or may not have taken effect. */
export function unreachable(): Problem {
  return new Problem(0, 'gateway_unreachable', 'The gateway does not answer. It may be restarting.');
}

const SAID_ALL = [
  'too_many_attempts',
  'sign_in_link_refused',
  'sign_in_link_opened_by_inviter',
  'operator_disabled',
];
const WAITING = ['second_person_needed', 'nobody_else_can_approve'];

/** It was not refused: it waits until somebody approves it. */
export function isWaiting(error: unknown): boolean {
  return error instanceof Problem && WAITING.includes(error.code);
}

/** What the operator can do about it, if the message does not say so. */
export function adviceFor(error: unknown): string | undefined {
  if (!(error instanceof Problem)) return 'Reload the page. If it stays, the log of the gateway says more.';
  if (SAID_ALL.includes(error.code)) return undefined;
  if (error.status === 0) return 'The page tries again by itself. Check that the gateway runs.';
  if (error.code === 'role_not_sufficient') return 'Ask an administrator to do it, or for a higher role.';
  if (error.code === 'organisation_not_permitted') return 'Ask an operator of the whole installation.';
  if (error.status === 404) return 'Check the address, or search for it.';
  if (error.status === 429) return 'Wait a minute, then try again.';
  if (error.status === 503) return 'The gateway or its database is not available now. Try again shortly.';
  if (error.status >= 500) return 'Try again. If it stays, the log of the gateway says more.';
  return 'Correct it and try again.';
}
