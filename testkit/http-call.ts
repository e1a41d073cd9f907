// An HTTP request for tests that make tens of thousands: `fetch` takes twice the processor time, and over TLS it trusts only
// the machine's authorities, not a test's certificate.
import * as http from 'node:http';
import * as https from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

export interface ClientTls {
  /** The certificate that the gateway shows, or that of who has issued it; several in one text. */
  readonly trusted: string;
  /** What the client shows, with its key. */
  readonly certificate?: string;
  readonly key?: string;
  /** Each request on a connection of its own. */
  readonly connectionPerRequest?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The fingerprint of the certificate that the gateway has shown; empty without TLS. */
  readonly certificate: string;
}

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Ends the wait for the answer. */
  readonly signal?: AbortSignal;
}

export type HttpCaller = (url: string, asked: HttpRequest) => Promise<HttpAnswer>;

/** Connections are kept and shared by all callers. */
export const callOverHttp: HttpCaller = caller(http, new http.Agent({ keepAlive: true }));

export function httpsCaller(tls: ClientTls): HttpCaller {
  const { trusted, certificate: own, key, connectionPerRequest = false } = tls;
  const agent = new https.Agent({
    keepAlive: !connectionPerRequest,
    // Without resumed sessions each connection is a whole handshake.
    maxCachedSessions: 0,
    ca: trusted,
    ...(own !== undefined && { cert: own }),
    ...(key !== undefined && { key }),
  });
  return caller(https, agent);
}

function caller({ request }: typeof http | typeof https, agent: http.Agent | https.Agent): HttpCaller {
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const asking = request(url, { method, headers, agent, ...(signal && { signal }) }, (response) => {
        const certificate = shownOn(response.socket);
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        response.on('error', reject).on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: headersOf(response),
            text,
            certificate,
          }),
        );
      });
      asking.on('error', reject).end(body);
    });
}

/** Of several with one name, each. */
function headersOf({ rawHeaders }: http.IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  return headers;
}

/** By their connections: Node tells a client once what it was shown. */
const shown = new WeakMap<Socket, string>();

function shownOn(socket: Socket): string {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (certificate !== undefined && !shown.has(socket)) shown.set(socket, certificate.fingerprint256);
  return shown.get(socket) ?? '';
}
