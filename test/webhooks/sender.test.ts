// One attempt, against slow, endless, rude or disguised servers: how long it may take, and how much of the answer is kept.
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createRawServer,
  type Server as RawServer,
  type Socket,
} from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { readNetworks } from '../../src/webhooks/addresses.js';
import { type Attempt, Sender, type SenderOptions } from '../../src/webhooks/delivery/sender.js';
import { startNameServer } from '../../testkit/name-server.js';
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.js';

async function portOf(server: Server | RawServer, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const http = (listener: RequestListener) => portOf(createServer(listener));
/** Answers with bytes of its own. */
const raw = (answer: (socket: Socket) => void) =>
  portOf(
    createRawServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => answer(socket));
    }),
  );

/** For those that wait in vain; all others have as long as a busy machine needs. */
const SOON = { timeoutMs: 500 };

function senderWith(options: Partial<SenderOptions> = {}): Sender {
  const sender = new Sender({ networks: readNetworks(['127.0.0.0/8']), timeoutMs: 30_000, ...options });
  onTestFinished(() => sender.close());
  return sender;
}

function post(url: string, options: Partial<SenderOptions> = {}): Promise<Attempt> {
  return senderWith(options).post({ url, headers: { 'webhook-id': 'evt_1' }, body: '{"a":"ü"}' });
}

const at = (port: number) => `http://127.0.0.1:${port}/`;

test('a long response → no more than 256 bytes are stored, and the connection is closed', async () => {
  let closed = false;
  let written = 0;
  const port = await http((_, response) => {
    response.on('close', () => {
      closed = true;
    });
    response.writeHead(500);
    const more = () => {
      written += 65_536;
      if (!closed && written < 1_000_000_000) response.write('x'.repeat(65_536), more);
    };
    more();
  });
  const attempt = await post(at(port));
  expect(attempt).toMatchObject({ kind: 'answered', httpStatus: 500, excerpt: 'x'.repeat(256) });
  await expect.poll(() => closed).toBe(true);
  expect(written).toBeLessThan(20_000_000);
});

test.each<[string, (socket: Socket) => void]>([
  ['that accepts and says nothing', () => {}],
  ['that says half a line', (socket) => socket.write('HTTP/1.1 20')],
  [
    'that sends a header every now and then',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      setInterval(() => socket.write('x: y\r\n'), 50).unref();
    },
  ],
  [
    'that promises an answer for ever',
    (socket) => {
      setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 50).unref();
    },
  ],
])('a server %s → timed out', async (_, answer) => {
  expect(await post(at(await raw(answer)), SOON)).toMatchObject({ kind: 'failed', reason: 'timed_out' });
});

test('a response whose body never ends → its status counts, at the timeout', async () => {
  const port = await raw((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'));
  const slow = { timeoutMs: 2_000 };
  expect(await post(at(port), slow)).toMatchObject({ kind: 'answered', httpStatus: 200, excerpt: 'abc' });
});

test.each<[string, (socket: Socket) => void]>([
  ['that hangs up', (socket) => socket.destroy()],
  ['that talks of something else', (socket) => socket.end('220 mail.example ESMTP\r\n')],
  [
    'with headers without end',
    (socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`),
  ],
  [
    'that changes the protocol',
    (socket) => socket.end('HTTP/1.1 101 OK\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  ],
])('a server %s → no answer', async (_, answer) => {
  expect(await post(at(await raw(answer)))).toMatchObject({ kind: 'failed', reason: 'no_answer' });
});

test('no server listens → not connected', async () => {
  const server = createServer();
  const port = await portOf(server);
  await new Promise((resolve) => server.close(resolve));
  expect(await post(at(port))).toMatchObject({ kind: 'failed', reason: 'not_connected' });
});

test('a response with control characters and a card number → neither is stored', async () => {
  const port = await http((request, response) =>
    response
      .writeHead(400)
      .end(request.url === '/card' ? 'no: 4111111111111111' : 'a\u001b[31m\u001f\u0000b\nc'),
  );
  expect(await post(at(port))).toMatchObject({ excerpt: 'a [31m  b c' });
  expect(await post(`${at(port)}card`)).toMatchObject({ excerpt: expect.stringMatching(/^left out/) });
});

test('several attempts → one connection, and a new one where the server has closed it meanwhile', async () => {
  const sockets = new Set<Socket>();
  const port = await http((request, response) => {
    sockets.add(request.socket);
    response.end('ok');
  });
  const sender = senderWith();
  const message = { url: at(port), headers: {}, body: '{}' };
  for (let time = 0; time < 3; time += 1)
    expect(await sender.post(message)).toMatchObject({ httpStatus: 200 });
  expect(sockets.size).toBe(1);
  for (const socket of sockets) socket.destroy();
  expect(await sender.post(message)).toMatchObject({ httpStatus: 200 });
  expect(sockets.size).toBe(2);
});

test('a closed sender → attempts in flight end', async () => {
  let asked = 0;
  const port = await raw(() => {
    asked += 1;
  });
  const sender = senderWith();
  const under = sender.post({ url: at(port), headers: {}, body: '{}' });
  await expect.poll(() => asked).toBe(1);
  sender.close();
  expect(await under).toMatchObject({ kind: 'failed', reason: 'no_answer' });
});

test('a sender closed while a kept connection is used → the attempt in flight is not repeated', async () => {
  let asked = 0;
  const port = await http((_, response) => {
    asked += 1;
    if (asked === 1) response.end('ok');
  });
  const sender = senderWith();
  const message = { url: at(port), headers: {}, body: '{}' };
  expect(await sender.post(message)).toMatchObject({ httpStatus: 200 });
  const under = sender.post(message);
  await expect.poll(() => asked).toBe(2);
  sender.close();
  expect(await under).toMatchObject({ kind: 'failed', reason: 'no_answer' });
  expect(asked).toBe(2);
});

test('https → the certificate and the Host header have the name, and the checked address is called', async () => {
  const seen: unknown[] = [];
  const server = createSecureServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (request, response) => {
    seen.push([request.headers.host, (request.socket as { servername?: string }).servername]);
    response.end();
  });
  const port = await portOf(server, '127.0.0.7');
  const names = await startNameServer(() => ['127.0.0.7']);
  onTestFinished(() => names.close());
  const trusted = { nameServers: [names.address], certificates: CERTIFICATE };
  const url = `https://receiver.example:${port}/`;
  expect(await post(url, trusted)).toMatchObject({ httpStatus: 200 });
  expect(seen).toEqual([[`receiver.example:${port}`, 'receiver.example']]);
  expect(await post(`https://127.0.0.7:${port}/`, trusted)).toMatchObject({ httpStatus: 200 });
  // A name that the certificate is not for, and an untrusted certificate.
  expect(await post(`https://other.example:${port}/`, trusted)).toMatchObject({
    reason: 'certificate_refused',
  });
  expect(await post(url, { nameServers: [names.address] })).toMatchObject({ reason: 'certificate_refused' });
  expect(seen).toHaveLength(2);
});

test('what is sent: the body, byte for byte, and its headers', async () => {
  let got: unknown;
  const port = await http((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { 'webhook-id': id, 'content-length': length, 'transfer-encoding': chunked } = request.headers;
      got = [request.method, id, length, chunked, Buffer.concat(chunks).toString('utf8')];
      response.end();
    });
  });
  await post(at(port));
  expect(got).toEqual(['POST', 'evt_1', '10', undefined, '{"a":"ü"}']);
});
