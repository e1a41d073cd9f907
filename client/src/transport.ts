// One request over HTTP, and what came of it. No answer is a thing of its own: it says nothing about what happened.
import { type Observed, tell } from './observed.js';
import { basicCredentials } from './runtime.js';
import type { Settings } from './settings.js';
import type { Errors, Problem } from './wire.js';

export interface Call {
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base address. */
  readonly path: string;
  readonly query?: object | undefined;
  readonly body?: unknown;
  readonly correlationId: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  /** Undefined where it could not be read as JSON. */
  readonly body: unknown;
  /** Of a refusal in the gateway's form. Empty where the answer is no refusal, or comes from somebody else. */
  readonly problems: readonly Problem[];
  /** The transaction that the answer names. */
  readonly audit: number | undefined;
  /** Where the organisation is served instead. */
  readonly base: string | undefined;
  readonly retryAfterMs: number;
}

export interface Unanswered {
  readonly kind: 'unanswered';
  readonly reason: 'timeout' | 'cancelled' | 'not_connected' | 'not_trusted' | 'broken';
  readonly cause: Error;
}

/** There was no connection yet, so that nothing was sent. What else a runtime says leaves it open. */
const NOT_CONNECTED: readonly unknown[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
];
/** The handshake has ended here, before anything else was sent: the certificate is not trusted, or is another's. By OpenSSL's names. */
const NOT_TRUSTED: readonly unknown[] = [
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];
/** The same from Deno, which has no codes. */
const NOT_CONNECTED_IN_WORDS = 'client error (Connect)';
const NOT_TRUSTED_IN_WORDS = 'invalid peer certificate';
const CODE = /^\w{1,64}$/;
const PATH = /^(\/[\w%-]+)+$/;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const LONGEST_RETRY_AFTER_MS = 60_000;

export class Transport {
  readonly #settings: Settings;
  readonly #credentials: string;

  constructor(settings: Settings, username: string, password: string) {
    this.#settings = settings;
    this.#credentials = basicCredentials(username, password);
  }

  async exchange(call: Call): Promise<Answered | Unanswered> {
    const { operation, method, path, correlationId } = call;
    if (!PATH.test(path)) throw new TypeError('an audit, a customer and a token have a number');
    const about = { operation, method, path, correlationId };
    tell(this.#settings, { kind: 'request', ...about });
    const beganMs = performance.now();
    const result = await this.#send(call, this.#requestOf(call));
    const durationMs = Math.round(performance.now() - beganMs);
    const observed: Observed =
      result.kind === 'answered'
        ? { kind: 'answer', ...about, status: result.status, errorCodes: codesOf(result), durationMs }
        : { kind: 'no_answer', ...about, reason: result.reason, durationMs };
    tell(this.#settings, observed);
    return result;
  }

  /** Made first: what cannot even be written down is a mistake of the caller, and not a request that was lost. */
  #requestOf({ method, body, correlationId }: Call): RequestInit {
    const traceparent = this.#traceparent();
    return {
      method,
      headers: {
        Authorization: this.#credentials,
        'x-correlation-id': correlationId,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(traceparent !== undefined && { traceparent }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // A card number goes to the address that was given, and nowhere else.
      redirect: 'manual',
    };
  }

  #traceparent(): string | undefined {
    try {
      const given = this.#settings.traceparent?.();
      return given !== undefined && TRACEPARENT.test(given) ? given : undefined;
    } catch {
      // A payment does not fail for want of a trace.
      return undefined;
    }
  }

  async #send(
    { path, query, timeoutMs, signal }: Call,
    request: RequestInit,
  ): Promise<Answered | Unanswered> {
    const controller = new AbortController();
    let timedOut = false;
    const cancel = () => controller.abort();
    const timer = setTimeout(() => {
      timedOut = true;
      controller.abort();
    }, timeoutMs);
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel);
    try {
      const url = this.#settings.baseUrl + path + queryOf(query);
      const response = await this.#settings.fetch(url, { ...request, signal: controller.signal });
      return answerOf(response, await response.text());
    } catch (error) {
      if (timedOut) return unanswered('timeout', `no answer within ${Math.round(timeoutMs)} ms`);
      if (signal?.aborted) return unanswered('cancelled', 'cancelled');
      return failureOf(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
    }
  }
}

function unanswered(reason: Unanswered['reason'], message: string, code?: unknown): Unanswered {
  const cause = Object.assign(new Error(message), code !== undefined && { code });
  return { kind: 'unanswered', reason, cause };
}

/** The error itself goes no further: nobody knows what a runtime writes into one. Only of these kinds is the message known. */
function failureOf(error: unknown): Unanswered {
  const { cause = error } = (error ?? {}) as { cause?: unknown };
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown };
  const said = String(message || code);
  if (NOT_CONNECTED.includes(code)) return unanswered('not_connected', said, code);
  if (NOT_TRUSTED.includes(code)) return unanswered('not_trusted', said, code);
  if (said.includes(NOT_CONNECTED_IN_WORDS)) {
    return unanswered(said.includes(NOT_TRUSTED_IN_WORDS) ? 'not_trusted' : 'not_connected', said);
  }
  const name = typeof code === 'string' && CODE.test(code) ? code : undefined;
  return unanswered('broken', name ?? 'the connection broke', name);
}

/** Whether not a byte of this request can have left. */
export function isNotSent(result: Answered | Unanswered): boolean {
  return (
    result.kind === 'unanswered' && (result.reason === 'not_connected' || result.reason === 'not_trusted')
  );
}

function answerOf(response: Response, text: string): Answered {
  const body = parsed(text);
  const location = response.headers.get('location');
  return {
    kind: 'answered',
    status: response.status,
    body,
    problems: response.status >= 400 ? problemsIn(body) : [],
    audit: auditIn((body as Partial<Errors> | undefined)?._links?.transaction?.href ?? location),
    base: baseIn(body),
    retryAfterMs: retryAfterMs(response.headers.get('retry-after')),
  };
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function problemsIn(body: unknown): readonly Problem[] {
  const errors: unknown = (body as { errors?: unknown } | undefined)?.errors;
  if (!Array.isArray(errors) || !errors.every(isProblem)) return [];
  return errors;
}

function isProblem(value: unknown): value is Problem {
  const { error_code, location } = (value ?? {}) as Partial<Problem>;
  return (
    typeof error_code === 'string' &&
    Array.isArray(location) &&
    location.every((key) => typeof key === 'string')
  );
}

function auditIn(href: unknown): number | undefined {
  const [, audit] = /^\/v\d+\/transactions\/([1-9]\d{0,9})$/.exec(String(href)) ?? [];
  return audit === undefined ? undefined : Number(audit);
}

/** Only to be shown to people. */
const BASE = /^https:\/\/[a-z0-9.-]{1,253}(:\d{1,5})?\/?$/;

function baseIn(body: unknown): string | undefined {
  const href = (body as Partial<Errors> | undefined)?._links?.base?.href;
  return typeof href === 'string' && BASE.test(href) ? href : undefined;
}

/** Seconds; the gateway sends no dates. */
function retryAfterMs(header: string | null): number {
  const ms = Number(header ?? 0) * 1000;
  return ms > 0 ? Math.min(ms, LONGEST_RETRY_AFTER_MS) : 0;
}

function queryOf(query: object | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  if (given.length === 0) return '';
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`;
}

export function codesOf({ problems }: Answered): string[] {
  return problems.map(({ error_code }) => error_code);
}

/** For a person: `timeout`, `503 unavailable`. */
export function inWords(result: Answered | Unanswered): string {
  if (result.kind === 'unanswered') return result.reason;
  return [result.status, ...codesOf(result)].join(' ');
}
