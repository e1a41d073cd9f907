// A proxy between a client and its gateways that meddles: it loses, cuts or delays requests and answers, sends a request twice,
// or holds it for seconds after its client has been disconnected.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type Fate =
  | { readonly kind: 'pass' }
  /** It does not reach the gateway; its connection breaks. */
  | { readonly kind: 'lose_request' }
  /** It reaches the gateway; its connection breaks instead of an answer. */
  | { readonly kind: 'lose_answer' }
  /** The same, and the client is left waiting. */
  | { readonly kind: 'swallow_answer' }
  /** The answer breaks off in the middle of its body. */
  | { readonly kind: 'cut_answer' }
  | { readonly kind: 'delay_answer'; readonly ms: number }
  /** The client's connection breaks at once, and the request reaches the gateway only later. */
  | { readonly kind: 'hold_request'; readonly ms: number }
  /** It reaches the gateway twice at once; the client gets the answer that comes later. */
  | { readonly kind: 'duplicate' }
  /** The gateway processes it, and an intermediary answers with this status instead of the gateway. */
  | { readonly kind: 'answer_otherwise'; readonly status: number };

export interface ProxiedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly correlationId: string;
}

export interface MeddlingOptions {
  /** The address of a gateway; undefined where none listens. */
  readonly gateway: () => string | undefined;
  readonly fateOf: (request: ProxiedRequest) => Fate;
}

interface Passed {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

export const PASS: Fate = { kind: 'pass' };

export class MeddlingProxy {
  /** How often each happened. */
  readonly done: Record<string, number> = {};
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #held = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  private constructor(private readonly options: MeddlingOptions) {
    this.#server = createServer((request, response) => {
      this.#meddle(request, response).catch(() => response.destroy());
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async open(options: MeddlingOptions): Promise<MeddlingProxy> {
    const proxy = new MeddlingProxy(options);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Resolves once every request that was held has reached a gateway. */
  async allArrived(): Promise<void> {
    while (this.#held.size > 0) await Promise.all(this.#held);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #meddle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const correlationId = String(headers['x-correlation-id'] ?? '');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const path = url.replace(/^\/v1/, '');
    const fate = this.options.fateOf({ method, path, correlationId });
    this.done[fate.kind] = (this.done[fate.kind] ?? 0) + 1;
    const pass = () => this.#pass(method, path, headers, body);
    switch (fate.kind) {
      case 'pass':
        return answer(response, await pass());
      case 'lose_request':
        return hangUp(response);
      case 'lose_answer':
        await pass();
        return hangUp(response);
      case 'swallow_answer':
        await pass();
        return;
      case 'cut_answer':
        return cut(response, await pass());
      case 'delay_answer': {
        const passed = await pass();
        await this.#wait(fate.ms);
        return answer(response, passed);
      }
      case 'hold_request':
        hangUp(response);
        return this.#hold(fate.ms, pass);
      case 'duplicate': {
        let last: Passed | undefined;
        const keep = async () => {
          last = await pass();
        };
        await Promise.all([keep(), keep()]);
        return last === undefined ? hangUp(response) : answer(response, last);
      }
      case 'answer_otherwise':
        await pass();
        response.writeHead(fate.status, { 'content-type': 'text/html' }).end('<h1>Not the gateway</h1>');
    }
  }

  #hold(ms: number, pass: () => Promise<unknown>): void {
    const arriving = this.#wait(ms)
      .then(pass)
      .catch(() => {})
      .finally(() => this.#held.delete(arriving));
    this.#held.add(arriving);
  }

  async #wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closing.signal });
  }

  async #pass(
    method: string,
    path: string,
    headers: IncomingMessage['headers'],
    body: Buffer,
  ): Promise<Passed> {
    const gateway = this.options.gateway();
    if (gateway === undefined) throw new Error('no gateway listens');
    const { host: _host, connection: _connection, 'content-length': _length, ...kept } = headers;
    const answered = await fetch(gateway + path, {
      method,
      headers: kept as Record<string, string>,
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    });
    return {
      status: answered.status,
      headers: answered.headers,
      body: Buffer.from(await answered.arrayBuffer()),
    };
  }
}

function hangUp(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}

function headersOf({ headers, body }: Passed): Record<string, string> {
  const {
    connection: _connection,
    'keep-alive': _kept,
    'transfer-encoding': _coding,
    ...kept
  } = Object.fromEntries(headers);
  return { ...kept, 'content-length': String(body.length) };
}

function answer(response: ServerResponse, passed: Passed): void {
  response.writeHead(passed.status, headersOf(passed)).end(passed.status === 204 ? undefined : passed.body);
}

function cut(response: ServerResponse, passed: Passed): void {
  response.writeHead(passed.status, headersOf(passed));
  response.write(passed.body.subarray(0, Math.ceil(passed.body.length / 2)), () =>
    response.socket?.destroy(),
  );
}
