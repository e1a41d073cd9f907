// A request of a client and the answer to it. Headers are collected, and written with the text at one go: on Node's own response each
// header is a call, and what a framework does around it costs as much as the rest of a look-up.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { RequestContext } from '../api/operation.js';

/** What is at an address: the pattern for the log, and who begins to answer. */
export interface Route {
  readonly pattern: string;
  /** Counts its answers. */
  readonly figures: { note(status: number, durationMs: number): void };
  /** May throw a refusal, and may answer later. */
  begin(exchange: Exchange): void;
}

type Texts = Readonly<Record<string, unknown>>;

const NOTHING: Texts = Object.freeze(Object.create(null));

export class Exchange {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  route: Route | undefined;
  params: Texts = NOTHING;
  query: Texts = NOTHING;
  body: unknown;
  readonly #answered: Record<string, string> = { 'cache-control': 'no-store' };

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    public context: RequestContext,
  ) {
    this.method = request.method ?? '';
    this.headers = request.headers;
  }

  /** Also by the server below, which refuses what does not arrive. */
  get isAnswered(): boolean {
    return this.response.writableEnded;
  }

  /** Of the answer. A later value takes an earlier one's place. */
  set(name: string, value: string): this {
    this.#answered[name] = value;
    return this;
  }

  /** `text` undefined: an answer without a body. */
  answer(status: number, text: string | Buffer | undefined): void {
    const headers = this.#answered;
    if (text !== undefined) headers['content-length'] = String(Buffer.byteLength(text));
    else if (status !== 204) headers['content-length'] = '0';
    this.response.writeHead(status, headers).end(text);
  }
}
