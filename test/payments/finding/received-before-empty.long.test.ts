// An empty answer to a search is a promise: what had been received before it is not processed after it.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from '../../../testkit/client.js';
import {
  type Connection,
  connect,
  purchaseText,
  requestText,
  statusesOf,
} from '../../../testkit/connection.js';
import { gatedAcquirer } from '../../../testkit/gated-acquirer.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';

const PATIENT = { ACQUIRER_DEADLINE_MS: '60000' };

let one: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  one = await testGateway({ settings: PATIENT });
  other = await testGateway({ settings: PATIENT, shareWith: one });
});
afterAll(async () => {
  await other.close();
  await one.close();
});

const NOTHING = { results: [] };

const searchText = (gateway: TestGateway, id: string) =>
  requestText(gateway, `GET /v1/transactions?merchant_id=1&correlation_id_lookup=${id}`, {
    Connection: 'keep-alive',
  });

/** A purchase of which the last part of the body is missing. It has been received when this returns. */
async function halfSent(gateway: TestGateway, id: string): Promise<Connection & { sendTheRest(): void }> {
  const connection = await connect(gateway);
  const text = purchaseText(gateway, id);
  connection.socket.write(text.slice(0, -20));
  // Whatever came before it on another connection has been answered, so it has been read.
  await gateway.api.get('/transactions/1');
  return { ...connection, sendTheRest: () => void connection.socket.write(text.slice(-20)) };
}

const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
  AND query ~ 'INSERT INTO transaction|WITH asked|make_absences'`;

/** Holds back what the lock stands in the way of, until it is told to let go. */
async function held(lock: string) {
  const client = new pg.Client({ connectionString: one.databaseUrl });
  client.on('error', () => {});
  await client.connect();
  await client.query('BEGIN');
  await client.query(lock);
  return {
    /** Until so many claims and fences wait. */
    waiting: (count: number) => expect.poll(async () => (await one.sql(WAITING)).length).toBe(count),
    letGo: async () => {
      await client.query('COMMIT');
      await client.end();
    },
  };
}

const CHANGES = 'LOCK TABLE transaction IN SHARE ROW EXCLUSIVE MODE';

const rowsOf = (id: string) =>
  one.sql('SELECT audit, status FROM transaction WHERE correlation_id = $1', [id]);

async function until(status: number, send: () => Promise<Answer>): Promise<void> {
  await expect.poll(async () => (await send()).status, { timeout: 300_000, interval: 200 }).toBe(status);
}

test('a claim that waits for the database in another process → empty, and the claim is refused', async () => {
  const lock = await held(CHANGES);
  const late = one.api.purchase({ correlationId: 'claim-waits' });
  await lock.waiting(1);
  expect((await other.api.search('claim-waits')).body).toEqual(NOTHING);
  await lock.letGo();
  expect((await late).code).toBe('not_processed');
  expect(await rowsOf('claim-waits')).toEqual([]);
});

test('a claim that has passed the fence in another process → the search waits for it and finds it', async () => {
  const { audit } = (await one.api.purchase()).body;
  const lock = await held(`SELECT FROM transaction WHERE audit = ${audit} FOR UPDATE`);
  const refund = one.api.refund(audit, 500, { correlationId: 'claim-passed' });
  await lock.waiting(1);
  const search = other.api.search('claim-passed');
  await lock.waiting(2);
  await lock.letGo();
  expect((await refund).status).toBe(201);
  expect((await search).body.results).toHaveLength(1);
});

test('a half-sent body, searched for in another process → empty, and the request is refused', async () => {
  const { sendTheRest, closed } = await halfSent(one, 'half-there');
  expect((await other.api.search('half-there')).body).toEqual(NOTHING);
  sendTheRest();
  expect(statusesOf(await closed)).toEqual([503]);
  expect(await rowsOf('half-there')).toEqual([]);
});

// catches(search: what was turned away by a search is not processed)
test('a half-sent body, searched for twice in the same process → empty, and the request is refused', async () => {
  const { sendTheRest, closed } = await halfSent(one, 'half-here');
  const answers = await Promise.all([one.api.search('half-here'), one.api.search('half-here')]);
  expect(answers.map(({ body }) => body)).toEqual([NOTHING, NOTHING]);
  sendTheRest();
  expect(statusesOf(await closed)).toEqual([503]);
  expect(await rowsOf('half-here')).toEqual([]);
});

test('a body that is completed while the search waits for it → processed, and found', async () => {
  const { sendTheRest, closed } = await halfSent(one, 'in-time');
  const search = one.api.search('in-time');
  sendTheRest();
  expect(statusesOf(await closed)).toEqual([201]);
  expect((await search).body.results).toHaveLength(1);
});

test('a client that disconnected in the middle of its request → empty, and the request is never processed', async () => {
  const { socket, closed } = await halfSent(one, 'hung-up');
  socket.destroy();
  await closed;
  expect((await one.api.search('hung-up')).body).toEqual(NOTHING);
  expect(await rowsOf('hung-up')).toEqual([]);
});

test('one batch of claims, some searched for before → these are refused and the others processed', async () => {
  const [refundable, voidable] = [await one.api.purchase(), await one.api.purchase()];
  const lock = await held(CHANGES);
  // The first of each kind is under way alone; the others wait for it and travel together.
  const first = [one.api.purchase(), one.api.refund(refundable.body.audit, 1)];
  await lock.waiting(2);
  const rest = [
    ...['barred', 'free', 'barred-too'].map((id) => one.api.purchase({ correlationId: `mixed-${id}` })),
    one.api.refund(refundable.body.audit, 1, { correlationId: 'mixed-refund' }),
    one.api.void(voidable.body.audit, { correlationId: 'mixed-void' }),
  ];
  for (const id of ['barred', 'barred-too', 'refund']) {
    expect((await other.api.search(`mixed-${id}`)).body).toEqual(NOTHING);
  }
  await lock.letGo();
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual([201, 201]);
  expect((await Promise.all(rest)).map(({ status }) => status)).toEqual([503, 201, 503, 503, 201]);
  const { kvps } = (await one.api.lookUp(refundable.body.audit)).body;
  expect(kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT']).toBe('9999');
});

test('a completion that waits for the database in another process → empty, and its preauthorisation can still be completed', async () => {
  const { audit } = (await one.api.preauthorise()).body;
  const lock = await held(CHANGES);
  const late = one.api.complete(audit, 500, { correlationId: 'late-completion' });
  await lock.waiting(1);
  expect((await other.api.search('late-completion')).body).toEqual(NOTHING);
  await lock.letGo();
  expect((await late).code).toBe('not_processed');
  expect((await one.api.complete(audit, 10_000)).status).toBe(201);
});

test('a request sent after the answer → processed at once in the same process, and within seconds in another', async () => {
  expect((await one.api.search('after')).body).toEqual(NOTHING);
  expect((await other.api.purchase({ correlationId: 'after' })).code).toBe('not_processed');
  expect((await one.api.purchase({ correlationId: 'after' })).status).toBe(201);

  expect((await one.api.search('after-a-while')).body).toEqual(NOTHING);
  await until(201, () => other.api.purchase({ correlationId: 'after-a-while' }));
});

test('a request sent after the answer on the connection of the search → processed at once', async () => {
  for (let round = 0; round < 20; round += 1) {
    const id = `same-connection-${round}`;
    const { socket, closed } = await connect(one);
    socket.once('data', () => socket.write(purchaseText(one, id)));
    socket.write(searchText(one, id));
    expect(statusesOf(await closed)).toEqual([200, 201]);
  }
});

// catches(search: what was sent or held back before a search here found nothing is not processed)
test('a request on a connection that was there before the search for it → not processed, because it may have been late', async () => {
  const connection = await connect(one);
  connection.socket.write(requestText(one, 'GET /v1/transactions/1', { Connection: 'keep-alive' }));
  await once(connection.socket, 'data');
  expect((await one.api.search('late')).body).toEqual(NOTHING);
  connection.socket.write(purchaseText(one, 'late'));
  expect(statusesOf(await connection.closed).at(-1)).toBe(503);
  expect(await rowsOf('late')).toEqual([]);
});

test.each(['X-Forwarded-For: 203.0.113.1', 'Forwarded: for=203.0.113.1', 'Via: 1.1 proxy'])(
  '%s, sent after the search for it → not processed for ten seconds, because the proxy may have held it up',
  async (header) => {
    const [name = '', value = ''] = header.split(': ');
    const id = `held-up-by-${name}`;
    expect((await one.api.search(id)).body).toEqual(NOTHING);
    const send = async () => {
      const { socket, closed } = await connect(one);
      socket.write(purchaseText(one, id, { [name]: value }));
      return statusesOf(await closed);
    };
    expect(await send()).toEqual([503]);
    expect(await rowsOf(id)).toEqual([]);
    await expect.poll(send, { timeout: 300_000, interval: 500 }).toEqual([201]);
  },
);

// catches(search: what was sent or held back before a search here found nothing is not processed)
test('a pipelined request behind the search for it → not processed', async () => {
  const { socket, closed } = await connect(one);
  socket.write(searchText(one, 'ahead') + purchaseText(one, 'ahead'));
  expect(statusesOf(await closed)).toEqual([200, 503]);
  expect(await rowsOf('ahead')).toEqual([]);
});

test('a request searched for before it was sent, pipelined behind another → processed', async () => {
  expect((await one.api.search('searched-for-before')).body).toEqual(NOTHING);
  const { socket, closed } = await connect(one);
  const lookUp = requestText(one, 'GET /v1/transactions/1', { Connection: 'keep-alive' });
  socket.write(lookUp + purchaseText(one, 'searched-for-before'));
  expect(statusesOf(await closed).at(-1)).toBe(201);
});

test('a request searched for before it was sent, queued for its turn → processed', async () => {
  expect((await one.api.search('before-its-turn')).body).toEqual(NOTHING);
  const [searching, paying] = [await connect(one), await connect(one)];
  // Behind a new connection turns are short: both are read in the same one, and only the first is begun in it.
  searching.socket.write(searchText(one, 'before-its-turn'));
  paying.socket.write(purchaseText(one, 'before-its-turn'));
  expect(statusesOf(await paying.closed)).toEqual([201]);
  searching.socket.destroy();
});

for (const where of ['the same', 'another']) {
  test(`a request that waits for the one before it, searched for in ${where} process → empty, and not processed`, async () => {
    const acquirer = gatedAcquirer();
    const gateway = await testGateway({ settings: PATIENT, acquirers: [acquirer] });
    const asked =
      where === 'the same' ? gateway : await testGateway({ settings: PATIENT, shareWith: gateway });
    const { socket, closed } = await connect(gateway);
    const keep = { Connection: 'keep-alive' };
    socket.write(
      purchaseText(gateway, 'first', keep) +
        purchaseText(gateway, 'waiting', keep) +
        purchaseText(gateway, 'unasked'),
    );
    await acquirer.reached;
    expect((await asked.api.search('waiting')).body).toEqual(NOTHING);
    acquirer.release();
    expect(statusesOf(await closed)).toEqual([201, 503, 201]);
    expect(await gateway.sql('SELECT correlation_id FROM transaction ORDER BY audit')).toEqual([
      { correlation_id: 'first' },
      { correlation_id: 'unasked' },
    ]);
    await asked.close();
  });
}

test('a request on a connection that is not read because too many wait on it, searched for → empty, and not processed', async () => {
  const acquirer = gatedAcquirer();
  const gateway = await testGateway({ settings: PATIENT, acquirers: [acquirer] });
  const { socket, closed } = await connect(gateway);
  const passers = (count: number) => 'GET /v1/nowhere HTTP/1.1\r\nHost: gateway\r\n\r\n'.repeat(count);
  const keep = { Connection: 'keep-alive' };
  socket.write(purchaseText(gateway, 'first', keep) + passers(100));
  await acquirer.reached;
  // More than one read: the last of it is in the socket while the gateway has stopped reading for the second time.
  socket.write(passers(2_000) + purchaseText(gateway, 'unread', keep) + purchaseText(gateway, 'unasked'));
  expect((await gateway.api.search('unread')).body).toEqual(NOTHING);
  // Whatever is received from now on is none of that search's business.
  await expect
    .poll(() => gateway.sql('SELECT FROM process, gateway WHERE known_absence < newest_absence'), {
      timeout: 300_000,
    })
    .toEqual([]);
  acquirer.release();
  expect(statusesOf(await closed).filter((status) => status !== 404)).toEqual([201, 503, 201]);
  expect(await gateway.sql(`SELECT FROM transaction WHERE correlation_id = 'unread'`)).toEqual([]);
});

test('the same correlation ID at another merchant → neither waits for the other, and neither is refused because of it', async () => {
  const acquirer = gatedAcquirer();
  const gateway = await testGateway({ settings: PATIENT, acquirers: [acquirer] });
  const pending = gateway.api.purchase({ correlationId: 'shared' });
  await acquirer.reached;
  expect((await gateway.as(gateway.colleague).search('shared', 2)).body).toEqual(NOTHING);
  acquirer.release();
  expect((await pending).status).toBe(201);

  const { sendTheRest, closed } = await halfSent(one, 'shared-half');
  expect((await other.as(other.colleague).search('shared-half', 2)).body).toEqual(NOTHING);
  sendTheRest();
  expect(statusesOf(await closed)).toEqual([201]);
});

/** Opens connections one after the other and writes to each, in a thread of its own; wakes the flag's waiter when done. */
const CROWD = `
  const { workerData: { port, texts, flag } } = require('node:worker_threads');
  const open = ([text, ...rest]) => {
    const socket = require('node:net').connect(port, '127.0.0.1').resume().on('error', () => {});
    socket.on('connect', () => socket.write(text, () => {
      if (rest.length > 0) return open(rest);
      Atomics.store(flag, 0, 1);
      Atomics.notify(flag, 0);
    }));
  };
  open(texts);`;

test('a purchase on a connection behind many not accepted yet → found by the search, or not processed', async () => {
  const { socket, received } = await connect(one);
  const passerBy = requestText(one, 'GET /livez');
  const texts = [...Array.from({ length: 200 }, () => passerBy), purchaseText(one, 'crowded')];
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const port = Number(new URL(one.baseUrl).port);
  const crowd = new Worker(CROWD, { eval: true, workerData: { port, texts, flag } });
  await once(crowd, 'online');
  socket.write(searchText(one, 'crowded'));
  // The gateway's thread is this one: nothing is read while it waits.
  Atomics.wait(flag, 0, 0);
  await expect.poll(received).toContain('"results":');
  // Read, and held back for others' turns, when the search ends: then the claim finds the fence, and the ID stays free.
  if (!received().includes('"results":[{')) {
    await until(201, () => one.api.purchase({ correlationId: 'crowded' }));
  }
  expect(await one.sql(`SELECT FROM transaction WHERE correlation_id = 'crowded'`)).toHaveLength(1);
  await crowd.terminate();
  socket.destroy();
});
