// Limits: requests of a user, transactions in flight, room that organisations share, and the end of the gateway.
import { once } from 'node:events';
import net from 'node:net';
import { describe, expect, onTestFailed, onTestFinished, test } from 'vitest';
import { connect, purchaseText, requestText, statusesOf } from '../../testkit/connection.js';
import { gatedAcquirer } from '../../testkit/gated-acquirer.js';
import { testGateway } from '../../testkit/gateway.js';
import { storedRows } from '../../testkit/requests.js';

const PATIENTLY = { timeout: 300_000 };

describe('requests per second of one user', () => {
  test('more than the setting allows → 429 with Retry-After; others are not affected; accepted again later', async () => {
    const gateway = await testGateway({
      settings: { ACQUIRER_DEADLINE_MS: '60000', USER_REQUESTS_PER_SECOND: '2' },
    });
    const answers = await Promise.all(Array.from({ length: 40 }, () => gateway.api.purchase()));
    const refused = answers.filter(({ status }) => status === 429);
    const created = answers.filter(({ status }) => status === 201);
    expect(refused.length).toBeGreaterThan(0);
    expect(created.length).toBeGreaterThanOrEqual(2);
    expect(refused.length + created.length).toBe(40);
    for (const { errors, headers } of refused) {
      expect(errors).toEqual(['too_many_requests ']);
      expect(headers.get('x-correlation-id')).not.toBeNull();
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    expect(await storedRows(gateway)).toBe(created.length);
    expect((await gateway.as(gateway.stranger).purchase({ merchant: 4 })).status).toBe(201);
    await expect
      .poll(async () => (await gateway.api.search('x')).status, { timeout: 300_000, interval: 600 })
      .toBe(200);
  });

  test('wrong credentials → 401 and not 429, and they do not count against the user’s limit', async () => {
    const { as, owner, api } = await testGateway({ settings: { USER_REQUESTS_PER_SECOND: '1' } });
    const guesses = Array.from({ length: 20 }, () => as({ ...owner, password: 'guess' }).search('x'));
    for (const { status } of await Promise.all(guesses)) expect(status).toBe(401);
    expect((await api.search('x')).status).toBe(200);
  });
});

describe('transactions in flight', () => {
  test('one more than the setting allows → 503 not_processed with Retry-After, nothing stored, and its ID is free', async () => {
    const acquirer = gatedAcquirer();
    const gateway = await testGateway({
      settings: { ACQUIRER_DEADLINE_MS: '60000', MAX_IN_FLIGHT: '1' },
      acquirers: [acquirer],
    });
    const first = gateway.api.purchase({ correlationId: 'first' });
    await acquirer.reached;
    const refused = await gateway.api.purchase({ correlationId: 'second' });
    expect({ status: refused.status, errors: refused.errors }).toEqual({
      status: 503,
      errors: ['not_processed '],
    });
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(refused.headers.get('x-correlation-id')).toBe('second');
    expect(await storedRows(gateway)).toBe(1);
    expect((await gateway.api.search('second')).body).toEqual({ results: [] });
    expect((await gateway.api.search('first')).body.results).toHaveLength(1);
    acquirer.release();
    expect((await first).status).toBe(201);
    expect((await gateway.api.purchase({ correlationId: 'second' })).status).toBe(201);
  });
});

describe('scarce capacity', () => {
  test('one organisation has most of it → its further requests get 503, nothing stored; another’s are accepted; look-ups are all served', async () => {
    const acquirer = gatedAcquirer();
    onTestFailed(() => acquirer.release());
    const gateway = await testGateway({
      settings: { ACQUIRER_DEADLINE_MS: '60000', MAX_IN_FLIGHT: '10' },
      acquirers: [acquirer],
    });
    // Who they are is known from here on.
    for (const one of ['owner', 'stranger'] as const) await gateway.as(gateway[one]).lookUp(1);
    let answered = 0;
    const purchases = Array.from({ length: 60 }, async () => {
      const answer = await gateway.api.purchase();
      answered += 1;
      return answer;
    });
    // Four fifths are for one alone.
    await expect.poll(() => answered, PATIENTLY).toBe(52);
    const others = gateway.as(gateway.stranger).purchase({ merchant: 4 });
    await expect.poll(() => storedRows(gateway), PATIENTLY).toBe(9);
    const lookUps = await Promise.all(Array.from({ length: 20 }, () => gateway.api.lookUp(1)));
    expect(new Set(lookUps.map(({ status }) => status))).toEqual(new Set([200]));
    acquirer.release();
    expect((await others).status).toBe(201);
    const refused = (await Promise.all(purchases)).filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(52);
    for (const { status, errors, headers } of refused) {
      expect([status, ...errors]).toEqual([503, 'not_processed ']);
      expect(headers.get('x-correlation-id')).not.toBeNull();
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    expect(await storedRows(gateway)).toBe(9);
    await expect.poll(() => gateway.logged(), PATIENTLY).toContain('"organisation":1,"msg":"overloaded"');
  });

  test('a link that does not answer → purchases over another link are accepted, also of the same organisation', async () => {
    const silent = { ...gatedAcquirer(), name: 'silent' };
    onTestFailed(() => silent.release());
    const gateway = await testGateway({
      settings: { ACQUIRER_DEADLINE_MS: '60000', MAX_IN_FLIGHT: '100' },
      acquirers: [silent],
    });
    await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'silent' WHERE id = 1`);
    let refused = 0;
    const stuck = Array.from({ length: 100 }, async () => {
      const answer = await gateway.api.purchase();
      if (answer.status === 503) refused += 1;
      return answer;
    });
    // The rest has come, too, and was refused, before anybody is let go.
    await expect.poll(() => refused, PATIENTLY).toBe(28);
    await expect.poll(() => storedRows(gateway), PATIENTLY).toBe(72);
    expect((await gateway.api.purchase({ merchant: 2 })).status).toBe(201);
    silent.release();
    const statuses = (await Promise.all(stuck)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(72);
  });
});

describe('many at once on an idle gateway', () => {
  test('→ all are served', async () => {
    const gateway = await testGateway();
    const answers = await Promise.all(Array.from({ length: 600 }, () => gateway.api.purchase()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  });
});

describe('while the gateway shuts down', () => {
  test('operations that create or change → 503 not_processed; that read → 503 unavailable; both with Retry-After and their correlation ID', async () => {
    const gateway = await testGateway();
    const texts = [
      purchaseText(gateway, 'late-purchase'),
      requestText(gateway, 'DELETE /v1/customers/1', { 'X-Correlation-Id': 'late-deletion' }),
      requestText(gateway, 'GET /v1/transactions/1', { 'X-Correlation-Id': 'late-look-up' }),
      requestText(gateway, 'GET /v1/customers', { 'X-Correlation-Id': 'late-list' }),
      requestText(gateway, 'HEAD /v1/transactions/1', { 'X-Correlation-Id': 'late-head' }),
    ];
    const connections = await Promise.all(texts.map(() => connect(gateway)));
    // A connection on which a request has begun to arrive is not idle, and so not closed.
    for (const [index, { socket }] of connections.entries())
      socket.write((texts[index] as string).slice(0, 9));
    await gateway.api.get('/transactions/1');
    const closing = gateway.close();
    for (const [index, { socket }] of connections.entries()) socket.write((texts[index] as string).slice(9));
    const answers = await Promise.all(connections.map(({ closed }) => closed));
    await closing;
    const names = ['late-purchase', 'late-deletion', 'late-look-up', 'late-list', 'late-head'];
    for (const [index, answer] of answers.entries()) {
      expect(statusesOf(answer)).toEqual([503]);
      expect(answer).toContain(`x-correlation-id: ${names[index]}\r\n`);
      expect(answer).toContain('retry-after: 1\r\n');
      expect(answer).toContain('cache-control: no-store\r\n');
    }
    const codes = answers.map((answer) => /"error_code":"(\w+)"/.exec(answer)?.[1]);
    // To HEAD there is no body.
    expect(codes).toEqual(['not_processed', 'not_processed', 'unavailable', 'unavailable', undefined]);
  });
});

describe('connections', () => {
  test('more than the setting allows → the longest idle one is closed, never one with a request in flight', async () => {
    const acquirer = gatedAcquirer();
    onTestFailed(() => acquirer.release());
    const gateway = await testGateway({
      settings: { ACQUIRER_DEADLINE_MS: '60000', MAX_CONNECTIONS: '4' },
      acquirers: [acquirer],
    });
    const purchase = gateway.api.purchase();
    await acquirer.reached;
    const { port } = new URL(gateway.baseUrl);
    const ended: number[] = [];
    for (let number = 1; number <= 8; number += 1) {
      const socket = net.connect(Number(port), '127.0.0.1').on('close', () => ended.push(number));
      socket.on('error', () => {});
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
    }
    // Three places beside the purchase.
    await expect.poll(() => ended, PATIENTLY).toEqual([1, 2, 3, 4, 5]);
    acquirer.release();
    expect((await purchase).status).toBe(201);
    await expect.poll(() => gateway.logged(), PATIENTLY).toContain('too many connections');
  });
});
