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

interface Unknown extends Pick<OutcomeUnknown, 'reason' | 'last'> {
  readonly audit?: number | undefined;
  /** What the runtime has said of the last request, where it was not answered. */
  readonly cause?: Error | undefined;
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
  readonly reason: 'time_is_up' | 'cancelled' | 'too_old' | 'not_trusted' | 'moved';
  /** What the last request came to, such as `timeout` or `503 unavailable`. */
  readonly last: string;

  constructor(correlationId: string, details: Unknown, message?: string) {
    const { reason, last, cause = new Error(last) } = details;
    super(message ?? `the outcome of ${correlationId} is not known (${reason}; last: ${last})`, { cause });
    this.correlationId = correlationId;
    this.audit = details.audit;
    this.reason = details.reason;
    this.last = details.last;
  }
}

/**
 * This call has sent nothing: there was no connection, or the certificate of the gateway is not trusted (`cause` says which). If its
 * correlation ID was new, nothing has happened. An earlier call with the same ID may have sent something, so that this is an
 * `OutcomeUnknown` too, and is handled like one: call again **with the same correlation ID**.
 */
export class NothingSent extends OutcomeUnknown {
  override name = 'NothingSent';

  constructor(correlationId: string, details: Unknown) {
    const { reason, last, cause } = details;
    super(
      correlationId,
      details,
      `nothing was sent for ${correlationId} (${reason}; last: ${last}${cause === undefined ? '' : `: ${cause.message}`})`,
    );
  }
}

/**
 * The organisation is served at another address (421): nothing was processed here. What was sent before, under the same correlation ID, may
 * have been, so that this is an `OutcomeUnknown` too. This client does not follow: a card goes to the address that was given, and to none
 * that an answer names. Ask the operator of the gateway whether `base` is right, make a client with it, and call again **with the same
 * correlation ID**.
 */
export class OrganisationMoved extends OutcomeUnknown {
  override name = 'OrganisationMoved';
  /** Such as `https://acme.pay.example/`; undefined where the gateway does not know it. */
  readonly base: string | undefined;

  constructor(correlationId: string, base: string | undefined, last: string) {
    super(
      correlationId,
      { reason: 'moved', last },
      `the organisation is served at another address${base === undefined ? '' : `: ${base}`} (${correlationId}; last: ${last})`,
    );
    this.base = base;
  }
}

/** A look-up, a search or a list was not answered in time. This says nothing about any payment. */
export class Unavailable extends TollgateError {
  override name = 'Unavailable';
  readonly last: string;

  constructor(last: string, cause: Error = new Error(last)) {
    super(`the gateway did not answer (last: ${last})`, { cause });
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
