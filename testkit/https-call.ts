// A request over TLS to a gateway whose certificate is a test's own: `fetch` trusts nobody but the authorities of the machine.
import { Agent, request } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
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

export interface HttpsAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The fingerprint of the certificate that the gateway has shown. */
  readonly certificate: string;
}

export interface HttpsRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export type HttpsCaller = (url: string, asked: HttpsRequest) => Promise<HttpsAnswer>;

export function httpsCaller(tls: ClientTls): HttpsCaller {
  const { trusted, certificate: own, key, connectionPerRequest = false } = tls;
  const agent = new Agent({
    keepAlive: !connectionPerRequest,
    // Without resumed sessions each connection is a whole handshake.
    maxCachedSessions: 0,
    ca: trusted,
    ...(own !== undefined && { cert: own }),
    ...(key !== undefined && { key }),
  });
  return (url, { method, headers, body }) =>
    new Promise((resolve, reject) => {
      const asking = request(url, { method, headers, agent }, async (response) => {
        const certificate = shownOn(response.socket);
        try {
          resolve({
            status: response.statusCode ?? 0,
            headers: new Headers(response.headers as Record<string, string>),
            text: await text(response),
            certificate,
          });
        } catch (error) {
          reject(error);
        }
      });
      asking.on('error', reject).end(body);
    });
}

/** By their connections: Node tells a client once what it was shown. */
const shown = new WeakMap<Socket, string>();

function shownOn(socket: Socket): string {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (certificate !== undefined && !shown.has(socket)) shown.set(socket, certificate.fingerprint256);
  return shown.get(socket) ?? '';
}
