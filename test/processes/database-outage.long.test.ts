// The database is lost and comes back while the gateway runs. Nobody restarts anything.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import {
  type Installation,
  type InstalledGateway,
  installation,
  outcomeOf,
} from '../../testkit/cloned-installation.js';
import { administer } from '../../testkit/database-server.js';
import { eventually } from '../../testkit/gateway-process.js';
import { expectRepetitionRefused, OPERATIONS, prepare, send } from '../../testkit/operations.js';
import { scrape } from '../../testkit/scrape.js';
import { SLOW_CARD } from '../../testkit/test-cards.js';
import { DatabaseProxy } from './database-proxy.js';

interface Scene {
  readonly shared: Installation;
  readonly proxy: DatabaseProxy;
  readonly gateway: InstalledGateway;
}

async function gatewayBehindProxy(): Promise<Scene> {
  const shared = await installation();
  const proxy = await DatabaseProxy.before(shared.databaseUrl);
  return { shared, proxy, gateway: await shared.start({ DATABASE_URL: proxy.url }) };
}

async function probe({ origin }: InstalledGateway, path: '/livez' | '/readyz') {
  const response = await fetch(origin + path);
  return { status: response.status, body: await response.json() };
}

async function ready(gateway: InstalledGateway): Promise<void> {
  await eventually(async () => ((await probe(gateway, '/readyz')).status === 200 ? true : undefined));
}

// catches(metrics: what was read from a database that is away is not shown) slow, processes
test.concurrent('the database is away → payments and lookups 503, not ready but alive; back again → everything works as before', async () => {
  const { shared, proxy, gateway } = await gatewayBehindProxy();
  const { api } = gateway;
  const earlier = await api.purchase();
  const attempts = await Promise.all(
    OPERATIONS.map((operation) => prepare(api, operation, '4111111111111111')),
  );
  expect(await probe(gateway, '/readyz')).toEqual({ status: 200, body: { status: 'ready' } });
  const operators = await gateway.operatorsUrl();
  expect((await scrape(operators)).sum('tollgate_in_doubt')).toBe(0);

  proxy.cut();
  for (const attempt of attempts) {
    const refused = await send(api, attempt);
    expect([refused.status, refused.code]).toEqual([503, 'not_processed']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-correlation-id')).toBe(attempt.correlationId);
    expect(refused.headers.get('location')).toBeNull();
  }
  for (const lookup of [api.lookUp(earlier.body.audit), api.search(randomUUID())]) {
    const { status, code, headers } = await lookup;
    // Nothing that a client could take for the outcome of a payment.
    expect([status, code]).toEqual([503, 'unavailable']);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  }
  const lost = await eventually(async () => {
    const seen = await scrape(operators);
    return seen.sum('tollgate_database_up') === 0 && seen.sum('tollgate_stored_figures_up') === 0
      ? seen
      : undefined;
  });
  // Metrics from the database are omitted instead of stale; all others are present.
  expect(lost.sum('tollgate_in_doubt')).toBeUndefined();
  expect(lost.sum('tollgate_request_duration_seconds_count', { status: '503' })).toBeGreaterThan(0);
  const notReady = await probe(gateway, '/readyz');
  expect(notReady).toEqual({
    status: 503,
    body: { status: 'not ready', reason: expect.stringMatching(/database/) },
  });
  expect((await probe(gateway, '/livez')).status).toBe(200);

  proxy.open();
  await ready(gateway);
  const after = await eventually(async () => {
    const seen = await scrape(operators);
    return seen.sum('tollgate_database_up') === 1 && seen.sum('tollgate_in_doubt') !== undefined
      ? seen
      : undefined;
  });
  // Every job has failed repeatedly meanwhile. Only its last attempts may have met a database that was back already.
  const failed = after.samples.filter(({ name }) => name === 'tollgate_background_jobs_failed_total');
  expect(failed.filter(({ value }) => value > 3)).toEqual([]);
  expect((await api.lookUp(earlier.body.audit)).body.status.transaction_status_code).toBe('approved');
  for (const attempt of attempts) {
    // "Certainly not processed": nothing was stored, so that even the correlation ID is free.
    expect((await api.search(attempt.correlationId)).body.results).toEqual([]);
    expect((await send(api, attempt)).status).toBe(201);
  }
  await expectBooksToAgree(shared);
  expect((await gateway.stop()).code).toBe(0);
});

test.concurrent('the database goes away while the acquirer is asked → 504 with Location; back again → the transaction is resolved by itself', async () => {
  const { shared, proxy, gateway } = await gatewayBehindProxy();
  const { api } = gateway;
  const attempts = await Promise.all(OPERATIONS.map((operation) => prepare(api, operation, SLOW_CARD)));
  const answering = attempts.map((attempt) => send(api, attempt));
  // Not by a search: an empty result is binding, and a late request would be refused.
  const claimed = 'SELECT audit FROM transaction WHERE correlation_id = $1';
  const audits = await Promise.all(
    attempts.map(({ correlationId }) =>
      eventually(async () => (await shared.sql<{ audit: number }>(claimed, [correlationId]))[0]?.audit),
    ),
  );

  proxy.cut();
  const answers = await Promise.all(answering);
  for (const [index, { status, code, headers }] of answers.entries()) {
    expect([status, code]).toEqual([504, 'acquirer_timeout']);
    expect(headers.get('location')).toBe(`/v1/transactions/${audits[index]}`);
  }

  proxy.open();
  await ready(gateway);
  for (const [index, attempt] of attempts.entries()) {
    const { audit, status } = await outcomeOf(api, attempt.correlationId);
    expect(audit).toBe(audits[index]);
    expect(status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'approved' });
    await expectRepetitionRefused(api, attempt, audit);
  }
  await expectBooksToAgree(shared);
  expect((await gateway.stop()).code).toBe(0);
});

test.concurrent('the database hangs while it receives the payment → 503, not ready; it goes on → a late claim is never charged', async () => {
  const { shared, proxy, gateway } = await gatewayBehindProxy();
  const { api } = gateway;
  await api.purchase();

  proxy.block();
  const attempt = await prepare(api, 'purchase', '4111111111111111');
  const sent = send(api, attempt);
  const notReady = await probe(gateway, '/readyz');
  expect(notReady).toEqual({
    status: 503,
    body: { status: 'not ready', reason: expect.stringMatching(/database/) },
  });
  expect((await probe(gateway, '/livez')).status).toBe(200);
  const refused = await sent;
  expect([refused.status, refused.code]).toEqual([503, 'not_processed']);

  proxy.open();
  await ready(gateway);
  // The claim may have arrived after all. It was not sent to the acquirer, and never will be.
  const outcome = await outcomeOf(api, attempt.correlationId);
  if (outcome !== undefined) {
    expect(outcome.status).toMatchObject({ gateway_status_code: 1, transaction_status_code: 'error' });
    expect(await shared.ledgerOf(outcome.audit)).toEqual([]);
  }
  expect((await api.purchase()).status).toBe(201);
  await expectBooksToAgree(shared);
  expect((await gateway.stop()).code).toBe(0);
});

test.concurrent('the server has no connection left, after a quiet time → payments use the gateway’s connections; others wait for one, or get 503', async () => {
  const shared = await installation();
  const url = new URL(shared.databaseUrl);
  const login = `tollgate_slots_${process.pid}`;
  // Superusers have slots of their own.
  await administer(url.href, `CREATE ROLE ${login} LOGIN PASSWORD 'secret' IN ROLE ${url.username}`);
  [url.username, url.password] = [login, 'secret'];
  const gateway = await shared.start({ DATABASE_URL: url.href });
  const { api } = gateway;
  const { body: earlier } = await api.purchase();
  await api.refund(earlier.audit, 1);
  await api.lookUp(earlier.audit);
  await api.call('/transactions/history');
  const operators = await gateway.operatorsUrl();
  const sessions = async (pool: string) => (await scrape(operators)).sum('tollgate_pool_sessions', { pool });
  // Used last, and closed because it was idle long enough.
  await eventually(async () => ((await sessions('searches')) === 0 ? true : undefined));
  expect(await sessions('commits')).toBeGreaterThan(0);

  await administer(shared.databaseUrl, `ALTER ROLE ${login} CONNECTION LIMIT 0`);
  const together = await Promise.all(
    Array.from({ length: 8 }, () => [
      api.purchase(),
      api.refund(earlier.audit, 1),
      api.lookUp(earlier.audit),
    ]).flat(),
  );
  expect(together.map(({ status }) => status)).toEqual(Array(8).fill([201, 201, 200]).flat());
  const searched = await api.call('/transactions/history');
  expect([searched.status, searched.code]).toEqual([503, 'unavailable']);

  await administer(shared.databaseUrl, `ALTER ROLE ${login} CONNECTION LIMIT -1`);
  expect((await api.call('/transactions/history')).status).toBe(200);
  await expectBooksToAgree(shared);
  expect((await gateway.stop()).code).toBe(0);
  await administer(shared.databaseUrl, `DROP ROLE ${login}`);
});
