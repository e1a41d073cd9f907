// What a connection does when there is too much on it, or too little. Without a gateway: the server alone.
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { makeServer, type Unreadable } from '../../src/http/connection-queue.js';

interface Scene {
  /** Responses that were begun, in their order. */
  readonly begun: ServerResponse[];
  readonly refused: Unreadable[];
  connect(): Promise<net.Socket & { text: string }>;
  /** What Node says when the request on this connection, the last that was made, has not come whole in time. */
  late(): void;
}

async function scene({
  requestTimeout = 60_000,
  handle = () => {},
}: {
  requestTimeout?: number;
  handle?: RequestListener;
} = {}): Promise<Scene> {
  const begun: ServerResponse[] = [];
  const refused: Unreadable[] = [];
  const server = makeServer(
    { requestTimeout, connectionsCheckingInterval: 600_000 },
    {
      handle: (request, response) => {
        begun.push(response);
        handle(request, response);
      },
      refuse: (unreadable) => {
        refused.push(unreadable);
        return { status: 400, headers: { 'content-length': '0' }, text: '' };
      },
      now: () => ({ epoch: 0, toldAbsent: 0, heard: 0 }),
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  let ours: net.Socket;
  server.on('connection', (socket) => {
    ours = socket;
  });
  const { port } = server.address() as AddressInfo;
  return {
    begun,
    refused,
    async connect() {
      const socket = Object.assign(net.connect(port, '127.0.0.1'), { text: '' });
      socket.on('error', () => {});
      socket.setEncoding('latin1').on('data', (chunk) => {
        socket.text += chunk;
      });
      await once(socket, 'connect');
      return socket;
    },
    late: () => {
      server.emit(
        'clientError',
        Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
        ours,
      );
    },
  };
}

const GET = 'GET / HTTP/1.1\r\n\r\n';
const POST_4 = 'POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n';
const POLL = { timeout: 300_000 };
const count = (text: string) => text.split('HTTP/1.1 ').length - 1;

test('more than 10,000 waiting on all connections → requests beyond 64 on one connection are refused, the others answered', async () => {
  let open = false;
  const { begun, refused, connect } = await scene({
    handle: (_, response) => {
      if (open) response.end();
    },
  });
  const greedy = await Promise.all(Array.from({ length: 4 }, connect));
  // One read is 64 KiB, so that it holds them all.
  for (const socket of greedy) socket.write(GET.repeat(3_000));
  await expect.poll(() => begun.length, POLL).toBe(4);
  const modest = await connect();
  modest.write(GET.repeat(30));
  await expect.poll(() => begun.length, POLL).toBe(5);
  open = true;
  for (const response of [...begun]) response.end();
  await expect.poll(() => count(modest.text), POLL).toBe(30);
  await expect.poll(() => refused.length, POLL).toBe(1);
  expect(refused[0]?.error).toMatchObject({ code: 'too_many_requests' });
  const answered = () => greedy.map(({ text }) => count(text)).toSorted((one, other) => one - other);
  await expect.poll(() => answered().slice(1), POLL).toEqual([3_000, 3_000, 3_000]);
  expect(answered()[0]).toBeGreaterThan(64);
});

test('a request that is not read because too many wait before it → not late, and answered', async () => {
  const { begun, refused, connect, late } = await scene({
    handle: (_, response) => {
      if (begun.length > 1) response.end();
    },
  });
  const socket = await connect();
  socket.write(GET.repeat(100) + POST_4.slice(0, 20));
  await expect.poll(() => begun.length, POLL).toBe(1);
  socket.write(`${POST_4.slice(20)}body`);
  late();
  begun[0]?.end();
  await expect.poll(() => count(socket.text), POLL).toBe(101);
  expect(refused).toEqual([]);
});

test('a request that is still incomplete when the connection is read again → late, and refused in its turn', async () => {
  const { begun, refused, connect, late } = await scene({
    requestTimeout: 100,
    handle: ({ method }, response) => {
      if (begun.length > 1 && method === 'GET') response.end();
    },
  });
  const socket = await connect();
  socket.write(GET.repeat(100) + POST_4);
  await expect.poll(() => begun.length, POLL).toBe(1);
  late();
  begun[0]?.end();
  await once(socket, 'end');
  expect(count(socket.text)).toBe(101);
  expect(refused).toMatchObject([
    { error: { code: 'ERR_HTTP_REQUEST_TIMEOUT' }, request: { method: 'POST' } },
  ]);
});

test('too many on a connection → reading stops, so that the client cannot send without end', async () => {
  const { begun, connect } = await scene();
  const socket = await connect();
  let sent = false;
  // More than the buffers between them hold.
  socket.write(GET.repeat(2_000_000), () => {
    sent = true;
  });
  await expect.poll(() => begun.length, POLL).toBe(1);
  const other = await connect();
  other.write(GET);
  await expect.poll(() => begun.length, POLL).toBe(2);
  expect(sent).toBe(false);
});
