// Faults on their way out. The only place that turns what went wrong into a response.
import { DatabaseUnavailable } from '../postgres/database.js';
import { Fault, type FaultCode, fault, type Problem } from '../values/faults.js';
import { KeyUnavailable } from '../vault/key-provider.js';
import { transactionPath } from './hal.js';

export interface FaultResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: {
    readonly errors: readonly { error_code: FaultCode; error_message: string; location: readonly string[] }[];
    readonly _links?: { transaction: { href: string } };
  };
}

/** Errors that the framework raises before a request reaches an operation. */
const FRAMEWORK_FAULTS: Readonly<Record<string, FaultCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_BAD_URL: 'malformed_request',
  FST_ERR_MAX_PARAM_LENGTH: 'route_not_found',
  ECONNRESET: 'malformed_request',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
};

export const FAULT_HEADERS: Partial<Record<FaultCode, Record<string, string>>> = {
  unauthenticated: { 'www-authenticate': 'Basic realm="Tollgate", charset="UTF-8"' },
  not_processed: { 'retry-after': '1' },
  unavailable: { 'retry-after': '1' },
  too_many_requests: { 'retry-after': '1' },
};

/**
 * Anything that was thrown, as the answer to a request with this method. What nobody foresaw is an internal error.
 * "Not processed" would be said of the look-up itself: its client must not take it for the outcome of a payment.
 */
export function faultFor(method: string, error: unknown): Fault {
  const said = asFault(error);
  const reads = method === 'GET' || method === 'HEAD';
  return reads && said.code === 'not_processed' ? fault('unavailable') : said;
}

function asFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  // Where an acquirer may have been asked, this was caught before: nothing was processed.
  if (error instanceof DatabaseUnavailable || error instanceof KeyUnavailable) return fault('not_processed');
  const { code } = error as { code?: string };
  return fault((code !== undefined && FRAMEWORK_FAULTS[code]) || 'internal_error');
}

export function faultOfProblems(problems: readonly Problem[]): Fault {
  return new Fault(problems as [Problem, ...Problem[]]);
}

export function faultResponse(refused: Fault): FaultResponse {
  const inDoubt = refused.code === 'acquirer_timeout' || refused.code === 'acquirer_answer_unreadable';
  return {
    status: refused.status,
    headers: {
      ...FAULT_HEADERS[refused.code],
      ...(inDoubt && refused.audit !== undefined && { location: transactionPath(refused.audit) }),
    },
    body: {
      errors: refused.problems.map(({ code, message, location }) => ({
        error_code: code,
        error_message: message,
        location,
      })),
      ...(refused.audit !== undefined && {
        _links: { transaction: { href: transactionPath(refused.audit) } },
      }),
    },
  };
}

/** For what came on a connection and is no request, or none that could be read. */
export function faultOfConnection(error: { code?: string }): Fault {
  if (error instanceof Fault) return error;
  return fault((error.code !== undefined && FRAMEWORK_FAULTS[error.code]) || 'malformed_request');
}
