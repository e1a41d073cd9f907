// A connection on which a test writes bytes as it likes, valid HTTP or not.
import { once } from 'node:events';
import net from 'node:net';
import { paymentBody } from './client.js';
import type { TestGateway } from './gateway.js';

const PURCHASE_BODY = JSON.stringify(paymentBody());

export interface Connection {
  readonly socket: net.Socket;
  /** Everything that has come back so far. */
  received(): string;
  /** Resolves, with all that came back, when the gateway has closed the connection. */
  readonly closed: Promise<string>;
}

export async function connect(
  { baseUrl }: TestGateway,
  options: { allowHalfOpen?: boolean } = {},
): Promise<Connection> {
  const { hostname, port } = new URL(baseUrl);
  const socket = net.connect({ host: hostname, port: Number(port), ...options });
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    text += chunk;
  });
  // A reset is a way to close; the test looks at what came before it.
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  await once(socket, 'connect');
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

/** A proper purchase under this correlation ID. */
export function purchaseText(gateway: TestGateway, id: string, headers: Record<string, string> = {}): string {
  return requestText(
    gateway,
    'POST /v1/transactions/purchase',
    {
      'Content-Type': 'application/json',
      'Content-Length': String(PURCHASE_BODY.length),
      'X-Correlation-Id': id,
      ...headers,
    },
    PURCHASE_BODY,
  );
}
