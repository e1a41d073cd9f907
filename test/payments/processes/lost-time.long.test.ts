// Lost time: a database that has gone back does not know recent payments, so no client is told that a transaction does not
// exist.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { OutcomeUnknown } from '../../../client/src/index.js';
import { guardRestored } from '../../../src/installation/restored.js';
import { Lookup } from '../../../src/payments/finding/lookup.js';
import { AuditLeases, ProcessRegistry } from '../../../src/payments/processes/process-registry.js';
import { processTimes } from '../../../src/payments/processes/process-times.js';
import { Database } from '../../../src/postgres/database.js';
import type { Audit, MerchantId, OrganisationId } from '../../../src/values/ids.js';
import { paymentBody } from '../../../testkit/bodies.js';
import {
  addCast,
  type TestDatabase,
  type TestGateway,
  testDatabase,
  testGateway,
} from '../../../testkit/gateway.js';
import { meddledClient } from '../../../testkit/meddled-client.js';
import { scrape } from '../../../testkit/scrape.js';

const HOUR_MS = 3_600_000;
const PATIENTLY = { timeout: 300_000 };

describe('a gateway on a database that was restored', () => {
  let gateway: TestGateway;
  let known: { audit: number; correlationId: string };
  let firstLost: number;
  beforeAll(async () => {
    gateway = await testGateway();
    const correlationId = randomUUID();
    known = { audit: (await gateway.api.purchase({ correlationId })).body.audit, correlationId };
    firstLost = known.audit + 1;
    const database = new Database(gateway.databaseUrl, { maxConnections: 1 });
    // As `tollgate restore` does, before anybody else can reach the database.
    await guardRestored(database, 'operator:test', {
      takenMs: Date.now() - HOUR_MS,
      times: 1,
      isAlone: true,
    });
    await database.close();
  });
  afterAll(() => gateway.close());

  const answerOf = async (asked: Promise<{ status: number; code?: string | undefined }>) => {
    const { status, code } = await asked;
    return code === undefined ? status : `${status} ${code}`;
  };

  // catches(lost time: what may be lost is not said not to be there)
  test('search that finds nothing → 503 unavailable; that finds a transaction → shown', async () => {
    expect(await answerOf(gateway.api.search(randomUUID()))).toBe('503 unavailable');
    expect((await gateway.api.search(known.correlationId)).body.results).toMatchObject([
      { audit: known.audit },
    ]);
  });

  // catches(lost time: audits of blocks that were leased at the backup may be lost, too)
  // catches(lost time: what may be lost is not said not to be there)
  test('look-up of an audit that may have been assigned in the lost time → 503, of any other → 404', async () => {
    // Among them audits of a block that was leased at the backup.
    expect(await answerOf(gateway.api.lookUp(firstLost))).toBe('503 unavailable');
    expect(await answerOf(gateway.api.lookUp(500_000))).toBe('503 unavailable');
    expect((await gateway.api.lookUp(known.audit)).status).toBe(200);
    expect(await answerOf(gateway.api.lookUp(2_000_000_000))).toBe('404 transaction_not_found');
  });

  test('refund of such an audit → 503 not processed', async () => {
    expect(await answerOf(gateway.api.refund(500_000, 1))).toBe('503 not_processed');
    expect(await answerOf(gateway.api.refund(2_000_000_000, 1))).toBe('404 transaction_not_found');
  });

  test('payments go on and are found; the gateway is ready, and /readyz, the log and a metric show the lost time', async () => {
    const correlationId = randomUUID();
    const { body } = await gateway.api.purchase({ correlationId });
    expect((await gateway.api.search(correlationId)).body.results).toMatchObject([{ audit: body.audit }]);
    const ready = async () => (await fetch(new URL('/readyz', gateway.baseUrl))).json();
    await expect.poll(ready, PATIENTLY).toMatchObject({
      status: 'ready',
      lost_time: { from: expect.stringMatching(/Z$/), until: expect.stringMatching(/Z$/) },
    });
    await expect
      .poll(() => gateway.logged(), PATIENTLY)
      .toContain('answered 503 until the lost time is reconciled');
    const seconds = (await scrape(gateway.operatorsUrl)).sum('tollgate_lost_time_seconds');
    expect(seconds).toBeGreaterThanOrEqual(3_600);
  });

  test('the client, its request lost → OutcomeUnknown, and nothing is paid twice', async () => {
    const { client, fates, requests, observed } = await meddledClient(gateway);
    fates.push({ kind: 'lose_request' });
    const unknown = await client
      .purchase(paymentBody({ reference: randomUUID() }), { outcomeTimeoutMs: 3_000 })
      .catch((error) => error);
    expect(unknown).toBeInstanceOf(OutcomeUnknown);
    expect(observed).toContainEqual(expect.objectContaining({ kind: 'answer', status: 503 }));
    expect(requests.filter((request) => request === 'POST /transactions/purchase')).toHaveLength(1);
  });
});

describe('a database restored by other means', () => {
  let own: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    own = await testDatabase();
    await addCast(own.url);
    database = new Database(own.url, { maxConnections: 2 });
  });
  afterEach(async () => {
    await database.close();
    await own.drop();
  });

  const query = async <Row>(text: string) => (await database.query<Row>({ name: '', text })).rows;
  /** As if it had been promoted, or recovered. */
  const newTimeline = () =>
    query(
      `CREATE OR REPLACE FUNCTION database_lineage() RETURNS text LANGUAGE sql STABLE AS $$SELECT 'this/00000002'$$`,
    );
  const isLost = async () =>
    (await query<{ lost: boolean }>('SELECT lost_from IS NOT NULL AS lost FROM gateway'))[0]?.lost;

  async function started() {
    const registry = await ProcessRegistry.register(database, processTimes(5_000));
    const leases = new AuditLeases(database, registry);
    return { registry, heartbeat: () => registry.heartbeat(leases) };
  }

  const look = () => {
    const lookup = new Lookup(database, HOUR_MS, { maxBatch: 1, lanes: 1 });
    const [organisationId, merchantId] = [1 as OrganisationId, 1 as MerchantId];
    const search = { organisationId, merchantId, correlationId: 'nobody', nowMs: Date.now() };
    return Promise.allSettled([
      lookup.provenByCorrelationId(search),
      lookup.provenByAudit({ organisationId }, 1_000_000_000 as Audit, [1]),
    ]).then((looks) => looks.map(({ status }) => status));
  };

  // catches(lost time: nothing is denied before a process has noticed that the database went back)
  test('before any process has noticed → nothing is reported as absent', async () => {
    expect(await look()).toEqual(['fulfilled', 'fulfilled']);
    await newTimeline();
    expect(await look()).toEqual(['rejected', 'rejected']);
  });

  test('with every heartbeat of a running process → a failover: nothing is lost', async () => {
    const process = await started();
    await process.heartbeat();
    await newTimeline();
    await process.heartbeat();
    expect(await isLost()).toBe(false);
    expect(await look()).toEqual(['fulfilled', 'fulfilled']);
  });

  // catches(lost time: a process that misses its own heartbeat notes it)
  test('without the last heartbeat of a running process → lost since the last heartbeat that it has', async () => {
    const process = await started();
    await process.heartbeat();
    await newTimeline();
    await query(`UPDATE process SET seen_at = seen_at - interval '10 minutes'`);
    await process.heartbeat();
    expect(process.registry.lost?.untilMs).toBeGreaterThan((process.registry.lost?.fromMs ?? 0) + 590_000);
    expect(await look()).toEqual(['rejected', 'fulfilled']);
  });

  test('another process noticed first, without knowing what was lost → the process that misses its heartbeat still reports it', async () => {
    const process = await started();
    await process.heartbeat();
    await newTimeline();
    await query(`UPDATE process SET seen_at = seen_at - interval '10 minutes'`);
    await query(`UPDATE gateway SET lineage = database_lineage()`);
    await process.heartbeat();
    expect(await isLost()).toBe(true);
  });

  test('without the row of a running process → lost', async () => {
    const process = await started();
    await process.heartbeat();
    await newTimeline();
    await query('DELETE FROM process');
    await process.heartbeat();
    expect(await isLost()).toBe(true);
  });

  test('a process that starts, on a server that was up at the last heartbeat → a standby that was promoted: nothing is lost', async () => {
    const former = await started();
    await former.heartbeat();
    await newTimeline();
    await (await started()).heartbeat();
    expect(await isLost()).toBe(false);
  });

  // catches(lost time: a process that starts on a server that went back notes it)
  test('a process that starts, on a server that was down at the last heartbeat → restored: lost from then on', async () => {
    const former = await started();
    await former.heartbeat();
    await newTimeline();
    await query(`UPDATE process SET seen_at = pg_postmaster_start_time() - interval '1 hour'`);
    const process = await started();
    await process.heartbeat();
    const { fromMs = 0 } = process.registry.lost ?? {};
    const [server] = await query<{ ms: number }>(
      `SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000)::float8 AS ms`,
    );
    expect(Math.round(((server?.ms ?? 0) - fromMs) / HOUR_MS)).toBe(1);
  });

  test('a process that starts, on a server without any heartbeat → lost, as far as can be known', async () => {
    await newTimeline();
    await (await started()).heartbeat();
    expect(await isLost()).toBe(true);
  });
});
