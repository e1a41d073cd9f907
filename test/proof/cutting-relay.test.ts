// The relay of the crash proof over ISO 8583: what it passes on of a message at which somebody is struck.
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CuttingRelay } from '../../proof/arena/cutting-relay.js';
import { Chance } from '../../testkit/chance.js';
import { freePort } from '../../testkit/gateway-process.js';

/** The length, an MTI in BCD, and something behind it. */
const message = (type: string) => Buffer.from(`0006${type}11223344`, 'hex');
const MESSAGE_BYTES = 8;
const PATIENTLY = { timeout: 300_000 };
const NEVER = new Promise<never>(() => {});

let heard: Buffer[];
let host: Server;
let port: number;
let relay: CuttingRelay;
beforeEach(async () => {
  heard = [];
  port = await freePort();
  host = createServer((socket) => {
    const place = heard.push(Buffer.alloc(0)) - 1;
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      const before = heard[place] as Buffer;
      const now = Buffer.concat([before, piece]);
      heard[place] = now;
      // One for each, also where two come in one piece.
      const whole = Math.floor(now.length / MESSAGE_BYTES) - Math.floor(before.length / MESSAGE_BYTES);
      for (let answered = 0; answered < whole; answered += 1) socket.write(message('0210'));
    });
  });
  await new Promise<void>((resolve) => host.listen(port, '127.0.0.1', resolve));
  relay = await CuttingRelay.open(port, new Chance(1), 60_000);
});
afterEach(async () => {
  await relay.stopListening();
  await new Promise((resolve) => host.close(resolve));
});

async function connected(): Promise<{ socket: Socket; closed: Promise<unknown>; got: Buffer[] }> {
  const got: Buffer[] = [];
  const socket = connect(Number(relay.address.split(':')[1]), '127.0.0.1');
  socket.on('error', () => {});
  socket.on('data', (piece) => got.push(piece));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await new Promise((resolve) => socket.once('connect', resolve));
  return { socket, closed, got };
}

test('cut at a request three times → none, part or all of it is passed on, and the connection is closed', async () => {
  await relay.stopListening();
  // One that strikes at whatever comes.
  relay = await CuttingRelay.open(port, new Chance(1), 0.001);
  for (const place of ['before', 'inside', 'after']) {
    let hits = 0;
    const struck = relay.strikeAt('host', { until: NEVER, strike: () => (hits += 1) });
    const { socket, closed } = await connected();
    socket.write(message('0200'));
    expect([place, await struck]).toEqual([place, true]);
    await closed;
    await expect.poll(() => hits, PATIENTLY).toBe(1);
  }
  const lengths = heard.map(({ length }) => length);
  expect([lengths[0], lengths[2]]).toEqual([0, 8]);
  expect(lengths[1]).toBeGreaterThan(0);
  expect(lengths[1]).toBeLessThan(8);
  expect(relay.inWords('host')).toContain('0200 1/1/1');
});

test('cut at an answer → the request has arrived whole', async () => {
  const { socket, closed, got } = await connected();
  socket.write(message('0200'));
  await expect.poll(() => Buffer.concat(got).length, PATIENTLY).toBe(8);
  const struck = relay.strikeAt('connection', { until: NEVER });
  // A request is struck first: both types were struck never.
  socket.write(message('0200'));
  await struck;
  await closed;
  const second = relay.strikeAt('connection', { until: NEVER });
  const again = await connected();
  again.socket.write(message('0200'));
  await second;
  await again.closed;
  expect(relay.inWords('connection')).toContain('0200 1/0/0, 0210 1/0/0');
  expect([heard.at(-1)?.length, again.got.length]).toEqual([8, 0]);
});

test('every type that comes was struck more often than others → a strike lets as many messages pass as it has patience for', async () => {
  await relay.stopListening();
  relay = await CuttingRelay.open(port, new Chance(1), 5);
  for (const type of ['0200', '0210']) {
    const struck = relay.strikeAt('connection', { until: NEVER });
    const { socket, closed } = await connected();
    socket.write(message('0200'));
    await struck;
    await closed;
    expect(relay.inWords('connection')).toContain(`${type} 1/0/0`);
  }
  const third = relay.strikeAt('connection', { until: NEVER });
  const { socket, closed, got } = await connected();
  for (const answered of [1, 2]) {
    socket.write(message('0200'));
    await expect.poll(() => Buffer.concat(got).length, PATIENTLY).toBe(answered * MESSAGE_BYTES);
  }
  socket.write(message('0200'));
  await third;
  await closed;
  expect(relay.inWords('connection')).toContain('0200 1/1/0, 0210 1/0/0');
});

test('aimed at a gateway without a connection here, or too late → nothing is cut', async () => {
  let end = () => {};
  const until = new Promise<void>((resolve) => {
    end = resolve;
  });
  const struck = relay.strikeAt('gateway', { gatewayPid: process.ppid, until });
  const { socket, got } = await connected();
  socket.write(message('0200'));
  await expect.poll(() => Buffer.concat(got).length, PATIENTLY).toBe(8);
  end();
  expect(await struck).toBe(false);
  socket.write(message('0200'));
  await expect.poll(() => Buffer.concat(got).length, PATIENTLY).toBe(16);
  socket.destroy();
});

test('aimed at a gateway with a connection here → cut', async () => {
  const struck = relay.strikeAt('gateway', { gatewayPid: process.pid, until: NEVER });
  const { socket, closed } = await connected();
  socket.write(message('0200'));
  expect(await struck).toBe(true);
  await closed;
});
