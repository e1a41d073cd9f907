// A connection on which a test writes arbitrary bytes, valid HTTP or not.
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { paymentBody } from './client.js';
import type { TestGateway } from './gateway.js';

export const PURCHASE_BODY = JSON.stringify(paymentBody());

export interface Connection {
  readonly socket: net.Socket;
  /** Everything that has come back so far. */
  received(): string;
  /** Resolves, with all that came back, when the gateway has closed the connection. */
  readonly closed: Promise<string>;
}

/** Where the gateway speaks TLS, over TLS. */
export async function connect(
  { baseUrl, trusted }: TestGateway,
  options: { allowHalfOpen?: boolean } & Pick<tls.ConnectionOptions, 'maxVersion' | 'cert' | 'key'> = {},
): Promise<Connection> {
  const { hostname, port } = new URL(baseUrl);
  const to = { host: hostname, port: Number(port), ...options };
  const socket = trusted === undefined ? net.connect(to) : tls.connect({ ...to, ca: trusted });
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    text += chunk;
  });
  // A reset also closes; the test checks what came before it.
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  await once(socket, trusted === undefined ? 'connect' : 'secureConnect');
  return { socket, received: () => text, closed };
}

/** Sends the bytes and waits until the gateway closes the connection. */
export async function exchange(gateway: TestGateway, bytes: string | Uint8Array): Promise<string> {
  const { socket, closed } = await connect(gateway);
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  return closed;
}

/** A request as text; with `Connection: close` unless the headers say otherwise. */
export function requestText(
  { owner }: TestGateway,
  line: string,
  headers: Record<string, string> = {},
  body = '',
): string {
  const all = {
    Host: 'gateway',
    Authorization: `Basic ${Buffer.from(`${owner.username}:${owner.password}`).toString('base64')}`,
    Connection: 'close',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

export const statusesOf = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** The error of the only response in the text. */
export function errorOf(text: string): { error_code: string; location: string[] } {
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)).errors[0];
}

/** The correlation IDs of the responses in the text. */
export const idsOf = (text: string) => [...text.matchAll(/^x-correlation-id: (\S+)/gim)].map(([, id]) => id);

/** A valid purchase under this correlation ID, with the correct length unless the headers say otherwise. */
export function purchaseText(
  gateway: TestGateway,
  id: string,
  headers: Record<string, string> = {},
  body = PURCHASE_BODY,
): string {
  return requestText(
    gateway,
    'POST /v1/transactions/purchase',
    {
      'Content-Type': 'application/json',
      'Content-Length': String(PURCHASE_BODY.length),
      'X-Correlation-Id': id,
      ...headers,
    },
    body,
  );
}
