// What is thrown. No message and no member ever holds a card number, a CVV or an account number.
import type { Problem } from './wire.js';

/** What this client throws on purpose is one of these. */
export class TollgateError extends Error {
  override name = 'TollgateError';
}

/** The gateway has refused the request (4XX): it was not processed, and will not be. */
export class Refused extends TollgateError {
  override name = 'Refused';
  readonly status: number;
  /** Every reason, not only the first. */
  readonly problems: readonly Problem[];
  readonly correlationId: string;
  /** With 409: the transaction that holds the correlation ID. */
  readonly holder: number | undefined;

  constructor(status: number, problems: readonly Problem[], correlationId: string, holder?: number) {
    const reasons = problems.map(({ error_code, location }) => [error_code, ...location].join(' '));
    super(`refused with ${status}: ${reasons.join('; ')}`);
    this.status = status;
    this.problems = problems;
    this.correlationId = correlationId;
    this.holder = holder;
  }

  /** The first problem's. */
  get code(): string {
    return this.problems[0]?.error_code ?? '';
  }

  has(errorCode: string): boolean {
    return this.problems.some(({ error_code }) => error_code === errorCode);
  }
}

/**
 * Nobody knows yet what became of it: it may have been processed, or may still be. It did not fail. Keep the correlation ID, and
 * find out with `recover`, or call the same operation again **with the same correlation ID**: it cannot happen twice.
 */
export class OutcomeUnknown extends TollgateError {
  override name = 'OutcomeUnknown';
  readonly correlationId: string;
  /** Where the gateway has said it. */
  readonly audit: number | undefined;
  readonly reason: 'time_is_up' | 'cancelled' | 'too_old';
  /** What the last request came to, such as `timeout` or `503 unavailable`. */
  readonly last: string;

  constructor(
    correlationId: string,
    details: Pick<OutcomeUnknown, 'reason' | 'last'> & { readonly audit?: number | undefined },
  ) {
    super(`the outcome of ${correlationId} is not known (${details.reason}; last: ${details.last})`);
    this.correlationId = correlationId;
    this.audit = details.audit;
    this.reason = details.reason;
    this.last = details.last;
  }
}

/** A look-up, a search or a list was not answered in time. This says nothing about any payment. */
export class Unavailable extends TollgateError {
  override name = 'Unavailable';
  readonly last: string;

  constructor(last: string) {
    super(`the gateway did not answer (last: ${last})`);
    this.last = last;
  }
}

/** A webhook that is not to be believed. Answer it with 400, and do nothing else. */
export class WebhookRejected extends TollgateError {
  override name = 'WebhookRejected';
  readonly reason: 'header_missing' | 'too_old' | 'too_new' | 'wrong_signature' | 'not_an_event';

  constructor(reason: WebhookRejected['reason']) {
    super(`webhook rejected: ${reason}`);
    this.reason = reason;
  }
}
