// The operators' listener, separate from the merchants' port. It serves a few pages by path, and the console on all other paths; each
// decides who may see it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLoopback } from '../values/network.js';
import { type Bounds, type Listener, type ListenerOptions, openListener } from './listener.js';

export interface PageAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Page {
  readonly path: string;
  /** Answers a GET. If it throws, the answer is 500 without a reason. */
  answer(request: IncomingMessage): Promise<PageAnswer>;
}

/** Serves every path that has no page. */
export interface Site {
  /** Handles any method, and never throws. */
  answer(request: IncomingMessage, response: ServerResponse): void;
}

interface OperatorsListenerOptions extends ListenerOptions {
  readonly pages: readonly Page[];
  /** Undefined while there is none. */
  site(): Site | undefined;
  /** Another name that it may be called by on loopback: the proxy's. */
  readonly publicHost?: string | undefined;
}

/** Operators and scrapers are few. Connections that hang here take nothing from payments. */
const BOUNDS: Bounds = {
  listener: 'operators',
  most: 256,
  // An office behind one address has several browsers, with up to six connections each.
  mostOfNetwork: 128,
  mostHandshakes: 64,
  limits: {
    // An operator may upload a file over a slow line.
    requestTimeout: 120_000,
    headersTimeout: 10_000,
    keepAliveTimeout: 75_000,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: 16_384,
  },
};
const PLAIN = 'text/plain; charset=utf-8';

/** Rejects if the address cannot be listened on. */
export function listenForOperators(options: OperatorsListenerOptions): Promise<Listener> {
  const { host, pages, publicHost } = options;
  const byPath = new Map(pages.map((page) => [page.path, page]));
  // guard(operators’ listener: nobody reads it by a name of their own): !isLoopback(host) || isLoopback(name) || name === publicHost ⇒ name !== '' || publicHost === ''
  const mayBeCalled = (name: string) => !isLoopback(host) || isLoopback(name) || name === publicHost;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    // Prevents DNS rebinding: a foreign page in an operator's browser could give this machine a name of its own and read the pages.
    if (!mayBeCalled(hostIn(request.headers.host)))
      return send(request, response, said(421, 'call this listener by localhost or its address'));
    const page = byPath.get((request.url ?? '/').split('?', 1)[0] as string);
    const site = options.site();
    if (page === undefined && site !== undefined) return site.answer(request, response);
    void answerOf(byPath, page, request).then((answer) => send(request, response, answer));
  };
  // Not shared with workers: it belongs to the first process.
  return openListener(options, { bounds: BOUNDS, handle, exclusive: true });
}

async function answerOf(
  pages: ReadonlyMap<string, Page>,
  page: Page | undefined,
  request: IncomingMessage,
): Promise<PageAnswer> {
  if (page === undefined) return said(404, `there is nothing here; see ${[...pages.keys()].join(', ')}`);
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return { ...said(405, 'only GET is served here'), headers: { allow: 'GET, HEAD' } };
  try {
    return await page.answer(request);
  } catch {
    return said(500, 'this cannot be shown now; the log of the gateway says more');
  }
}

/** The name or address without the port. */
export function hostIn(host = ''): string {
  return host.replace(/:\d+$/, '');
}

export function said(status: number, words: string): PageAnswer {
  return { status, type: PLAIN, text: `${words}\n` };
}

function send({ method }: IncomingMessage, response: ServerResponse, answer: PageAnswer): void {
  const { status, type, text, headers } = answer;
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(method === 'HEAD' ? undefined : text);
}
