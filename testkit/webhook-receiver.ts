// A merchant's server for webhooks: checks each signature with the library `standardwebhooks`, keeps each message, and answers
// as the test says.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Json } from './bodies.js';

/** The part of the library in use: `verify` throws if anything is wrong. */
interface Verifier {
  verify(text: string, headers: Readonly<Record<string, string>>): unknown;
}

// Programs without webhooks do not load it.
const { Webhook } = createRequire(import.meta.url)('standardwebhooks') as {
  readonly Webhook: new (secret: string) => Verifier;
};

export interface Received {
  /** `webhook-id`. */
  readonly id: string;
  readonly body: Json;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  readonly atMs: number;
  /** Undefined while no secret is known. */
  readonly genuine: boolean | undefined;
}

/** A status, or anything else a server can do. */
export type Behaviour = (received: Received, response: ServerResponse) => number | undefined;

export interface WebhookReceiver {
  readonly url: string;
  readonly received: Received[];
  /** With which signatures are checked. */
  secret: string | undefined;
  behave: Behaviour;
  /** How many requests are unanswered. */
  underWay(): number;
  close(): Promise<void>;
}

const OK: Behaviour = () => 204;

export async function startReceiver(host = '127.0.0.1', port = 0): Promise<WebhookReceiver> {
  let underWay = 0;
  const server = createServer((request, response) => {
    underWay += 1;
    response.on('close', () => {
      underWay -= 1;
    });
    void read(request).then((text) => {
      const headers = request.headers as Record<string, string>;
      const got: Received = {
        id: headers['webhook-id'] ?? '',
        body: JSON.parse(text),
        text,
        headers,
        path: request.url ?? '',
        atMs: performance.now(),
        genuine: receiver.secret === undefined ? undefined : isGenuine(receiver.secret, text, headers),
      };
      receiver.received.push(got);
      const status = receiver.behave(got, response);
      if (status !== undefined) response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const receiver: WebhookReceiver = {
    url: `http://${host}:${(server.address() as AddressInfo).port}/webhooks`,
    received: [],
    secret: undefined,
    behave: OK,
    underWay: () => underWay,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

/** The standard library's verdict. */
export function isGenuine(secret: string, text: string, headers: Readonly<Record<string, string>>): boolean {
  try {
    new Webhook(secret).verify(text, headers);
    return true;
  } catch {
    return false;
  }
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
