// Look-ups and lists: asked again and again until somebody answers. They change nothing, so that asking again does no harm.
import { NothingSent, OrganisationMoved, OutcomeUnknown, Refused, Unavailable } from './errors.js';
import { Patience } from './patience.js';
import { newCorrelationId } from './runtime.js';
import type { Settings } from './settings.js';
import {
  type Answered,
  type Call,
  codesOf,
  inWords,
  isNotSent,
  type Transport,
  type Unanswered,
} from './transport.js';

/** Of every call. */
export interface CallOptions {
  /** Cancels it. Of what creates or changes something this leaves the outcome unknown, once it was sent. */
  readonly signal?: AbortSignal | undefined;
  /** Instead of the client's. */
  readonly outcomeTimeoutMs?: number | undefined;
}

/** Of what a correlation ID makes once. */
export interface MakingOptions extends CallOptions {
  /** What your system knows it by: with the same one it is the same thing, however often it is asked for. */
  readonly correlationId?: string | undefined;
}

export interface Question {
  readonly operation: string;
  readonly path: string;
  readonly query?: object | undefined;
  /** Longer than usual, where the gateway is asked to wait. */
  readonly timeoutMs?: number;
  /** Until it is cancelled. */
  readonly isEndless?: boolean;
}

/** A change that may be sent again: to do it twice is to do it once. */
export interface Change extends Pick<Call, 'method' | 'path' | 'query' | 'body'> {
  readonly operation: string;
  /** After a try of which nobody knows what became: what there is by now, or undefined. */
  readonly find?: () => Promise<unknown>;
  /** Chosen by the caller; new for each change where it is absent. */
  readonly correlationId?: string | undefined;
  /** Whatever was tried before: a refusal may mean that the result is there. */
  readonly adopts?: boolean;
  /** What a refusal means after such a try: the result, or undefined where it is a refusal. */
  readonly settled?: (refusal: Refused) => Promise<{ readonly result: unknown } | undefined>;
}

export class Asking {
  readonly #settings: Settings;
  readonly #transport: Transport;

  constructor(settings: Settings, transport: Transport) {
    this.#settings = settings;
    this.#transport = transport;
  }

  /** The body of the answer. */
  async ask<Body>(question: Question, options: CallOptions = {}): Promise<Body> {
    const {
      operation,
      path,
      query,
      timeoutMs = this.#settings.lookupTimeoutMs,
      isEndless = false,
    } = question;
    const { signal, outcomeTimeoutMs } = options;
    signal?.throwIfAborted();
    const correlationId = await newCorrelationId();
    const limitMs = isEndless ? Infinity : (outcomeTimeoutMs ?? this.#settings.outcomeTimeoutMs);
    const patience = new Patience(this.#settings, { operation, correlationId }, signal, limitMs);
    const call: Call = { operation, method: 'GET', path, query, correlationId, timeoutMs, signal };
    for (;;) {
      const result = await this.#transport.exchange({
        ...call,
        timeoutMs: Math.min(timeoutMs, Math.max(patience.leftMs, 1)),
      });
      const success = successIn(result);
      if (success !== undefined) return success.body as Body;
      const refusal = refusalIn(result, correlationId);
      if (refusal !== undefined) throw refusal;
      patience.note(result);
      const isHopeless = isUntrusted(result) && !isEndless;
      if (!isHopeless) await patience.wait(patience.last, { atLeastMs: retryAfterOf(result) });
      if (!isHopeless && patience.end === undefined) continue;
      signal?.throwIfAborted();
      throw new Unavailable(patience.last, patience.cause);
    }
  }

  /** What a correlation ID makes once. Where it has made one already, that one: `find` looks for it. */
  async makeOnce<Body>(
    { operation, path, body }: Pick<Change, 'operation' | 'path' | 'body'>,
    options: MakingOptions,
    find: (correlationId: string) => Promise<Body | undefined>,
  ): Promise<Body> {
    const { correlationId = await newCorrelationId() } = options;
    const settled = async (refusal: Refused) => {
      const result = refusal.has('correlation_id_already_used') ? await find(correlationId) : undefined;
      return result && { result };
    };
    const change: Change = { operation, method: 'POST', path, body, correlationId, adopts: true, settled };
    return this.change(change, options);
  }

  async change<Body>(change: Change, options: CallOptions = {}): Promise<Body> {
    const { operation, method, path, query, body, find, settled, adopts = false } = change;
    const { signal, outcomeTimeoutMs = this.#settings.outcomeTimeoutMs } = options;
    signal?.throwIfAborted();
    const correlationId = change.correlationId ?? (await newCorrelationId());
    const patience = new Patience(this.#settings, { operation, correlationId }, signal, outcomeTimeoutMs);
    const call = { operation, method, path, query, body, correlationId, signal };
    let inDoubt = false;
    let isSent = false;
    for (;;) {
      const timeoutMs = Math.min(this.#settings.requestTimeoutMs, Math.max(patience.leftMs, 1));
      const result = await this.#transport.exchange({ ...call, timeoutMs });
      const success = successIn(result);
      if (success !== undefined) return success.body as Body;
      const refusal = refusalIn(result, correlationId);
      if (refusal !== undefined) {
        const meant = inDoubt || adopts ? await settled?.(refusal) : undefined;
        if (meant !== undefined) return meant.result as Body;
        throw refusal;
      }
      inDoubt ||= mayHaveHappened(result);
      isSent ||= !isNotSent(result);
      patience.note(result);
      if (!isSent) throwUntrusted(result, correlationId);
      await patience.wait(patience.last, { atLeastMs: retryAfterOf(result) });
      if (!isSent) throwNothingSent(patience, correlationId);
      const { end: reason, last, cause } = patience;
      if (reason !== undefined) throw new OutcomeUnknown(correlationId, { reason, last, cause });
      const found = inDoubt ? await find?.() : undefined;
      if (found !== undefined) return found as Body;
    }
  }
}

/** A success without a body that can be read is none: somebody has cut it, or it is not the gateway's. */
function successIn(result: Answered | Unanswered): Answered | undefined {
  if (result.kind !== 'answered') return undefined;
  const { status, body } = result;
  return status === 204 || ((status === 200 || status === 201) && body !== undefined) ? result : undefined;
}

/** The request did not arrive whole, or came too soon: not a word about what it asks for. */
const TRY_AGAIN: ReadonlySet<number> = new Set([408, 429]);

/** The gateway's own "no". Told to wait, or told by somebody else, it is none. Throws where the organisation is served elsewhere. */
export function refusalIn(result: Answered | Unanswered, correlationId: string): Refused | undefined {
  if (result.kind !== 'answered' || result.problems.length === 0) return undefined;
  throwMoved(result, correlationId);
  const { status, problems, audit } = result;
  if (status < 400 || status >= 500 || TRY_AGAIN.has(status)) return undefined;
  return new Refused(status, problems, correlationId, audit);
}

/** Whatever was asked, and however often: this address does not know any more. */
export function throwMoved(result: Answered | Unanswered, correlationId: string): void {
  if (result.kind === 'unanswered' || !codesOf(result).includes('organisation_moved')) return;
  throw new OrganisationMoved(correlationId, result.base, inWords(result));
}

/** The gateway's word that this request was not processed, and will not be. */
export function isNotProcessed(result: Answered | Unanswered): boolean {
  if (result.kind === 'unanswered') return isNotSent(result);
  const says = (code: string) => result.problems.some(({ error_code }) => error_code === code);
  return (
    (result.status === 503 && says('not_processed')) ||
    (result.status === 429 && says('too_many_requests')) ||
    (result.status === 408 && says('request_timeout'))
  );
}

function mayHaveHappened(result: Answered | Unanswered): boolean {
  return !isNotProcessed(result);
}

function isUntrusted(result: Answered | Unanswered): result is Unanswered {
  return result.kind === 'unanswered' && result.reason === 'not_trusted';
}

/** After a call that has sent nothing: a certificate is not trusted any sooner for being looked at again. */
export function throwUntrusted(result: Answered | Unanswered, correlationId: string): void {
  if (!isUntrusted(result)) return;
  const { reason, cause } = result;
  throw new NothingSent(correlationId, { reason: 'not_trusted', last: reason, cause });
}

/** A try that is given less may be cut off while it connects, and nobody could tell any more that nothing was sent. */
const SHORTEST_TRY_MS = 1_000;

/** After a call that has sent nothing: when its time is up, or it was cancelled. */
export function throwNothingSent({ end, leftMs, last, cause }: Patience, correlationId: string): void {
  const reason = end ?? (leftMs < SHORTEST_TRY_MS ? 'time_is_up' : undefined);
  if (reason !== undefined) throw new NothingSent(correlationId, { reason, last, cause });
}

export function retryAfterOf(result: Answered | Unanswered): number {
  return result.kind === 'answered' ? result.retryAfterMs : 0;
}
