// Exports spans to a collector by OTLP, as JSON over HTTP. No payment waits for it: spans wait in a short queue. Spans that do
// not fit are dropped, and so are spans that the collector does not take in time.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Spans, TracedRequest } from '../../http/answers.js';
import { PROGRAM_VERSION, USER_AGENT } from '../../values/program.js';

export interface OtlpSettings {
  /** The collector's URL. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The most that may wait, and so the most sent in a second: tracing everything costs the process no more than this. */
const MOST_WAITING = 1_024;
const SEND_EVERY_MS = 1_000;
const TAKEN_WITHIN_MS = 5_000;
const LAST_WITHIN_MS = 1_000;

/** As the protocol numbers them. */
const SERVER = 2;
const INTERNAL = 1;
const CLIENT = 3;
const ERROR = 2;

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: number };
}

export class SpanExport implements Spans {
  #waiting: Span[] = [];
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #away = false;
  exported = 0;
  dropped = 0;
  readonly #resource = {
    attributes: [
      text('service.name', 'tollgate'),
      text('service.version', PROGRAM_VERSION),
      text('service.instance.id', randomUUID()),
    ],
  };

  constructor(
    private readonly settings: OtlpSettings,
    private readonly log: Logger,
  ) {}

  get wanted(): boolean {
    return this.#waiting.length < MOST_WAITING;
  }

  take(request: TracedRequest): void {
    const spans = spansOf(request);
    if (!this.wanted) {
      this.dropped += spans.length;
      return;
    }
    this.#waiting.push(...spans);
    if (this.#sending === undefined)
      this.#timer ??= setTimeout(() => this.#begin(TAKEN_WITHIN_MS), SEND_EVERY_MS).unref();
  }

  /** The last spans get a moment. */
  async close(): Promise<void> {
    await this.#sending;
    await this.#begin(LAST_WITHIN_MS);
    clearTimeout(this.#timer);
  }

  #begin(withinMs: number): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const spans = this.#waiting;
    this.#waiting = [];
    if (spans.length === 0) return Promise.resolve();
    this.#sending = this.#send(spans, withinMs).finally(() => {
      this.#sending = undefined;
      if (this.#waiting.length > 0)
        this.#timer ??= setTimeout(() => this.#begin(TAKEN_WITHIN_MS), SEND_EVERY_MS).unref();
    });
    return this.#sending;
  }

  async #send(spans: readonly Span[], withinMs: number): Promise<void> {
    const scope = { name: 'tollgate', version: PROGRAM_VERSION };
    const body = { resourceSpans: [{ resource: this.#resource, scopeSpans: [{ scope, spans }] }] };
    try {
      const response = await fetch(this.settings.url, {
        method: 'POST',
        headers: { 'user-agent': USER_AGENT, ...this.settings.headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: AbortSignal.timeout(withinMs),
      });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`HTTP status ${response.status}`);
      this.exported += spans.length;
      if (this.#away) this.log.warn('the collector takes spans again');
      this.#away = false;
    } catch (error) {
      // Not sent again: by then there are newer ones.
      this.dropped += spans.length;
      if (!this.#away) this.log.warn({ reason: reasonOf(error) }, 'the collector does not take spans');
      this.#away = true;
    }
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
}

/** A span for the request, and for each of its steps. */
function spansOf({ trace, method, route, status, failed, startedMs, endedMs }: TracedRequest): Span[] {
  // The clock may have been set since the process started.
  const epochMs = Date.now() - performance.now();
  const { traceId } = trace;
  const spanId = newSpanId();
  const request: Span = {
    traceId,
    spanId,
    parentSpanId: trace.parentId,
    name: `${method} ${route}`,
    kind: SERVER,
    startTimeUnixNano: nanoseconds(epochMs + startedMs),
    endTimeUnixNano: nanoseconds(epochMs + endedMs),
    attributes: [
      text('http.request.method', method),
      text('http.route', route),
      { key: 'http.response.status_code', value: { intValue: String(status) } },
    ],
    status: failed ? { code: ERROR } : {},
  };
  const steps = trace.steps.map(
    ({ name, link, fromMs, untilMs = endedMs }): Span => ({
      traceId,
      spanId: newSpanId(),
      parentSpanId: spanId,
      name,
      kind: name === 'acquirer' ? CLIENT : INTERNAL,
      startTimeUnixNano: nanoseconds(epochMs + fromMs),
      endTimeUnixNano: nanoseconds(epochMs + untilMs),
      attributes: link === undefined ? [] : [text('tollgate.link', link)],
      status: {},
    }),
  );
  return [request, ...steps];
}

function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

/** Nanoseconds exceed a number's exact range; microseconds are exact enough. */
function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

function text(key: string, stringValue: string): Attribute {
  return { key, value: { stringValue } };
}
