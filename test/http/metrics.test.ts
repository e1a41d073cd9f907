// What an operator sees at `/metrics` of what clients and acquirers do.
import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { StoredFigures } from '../../src/gateway/observability/stored-figures.js';
import { METRICS } from '../../src/http/observability/metrics.js';
import { Database } from '../../src/postgres/database.js';
import { client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type Scrape, scrape } from '../../testkit/scrape.js';
import { answered, ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import { cardAnsweredWith } from '../../testkit/test-cards.js';
import { startReceiver } from '../../testkit/webhook-receiver.js';
import { until, WEBHOOK_SETTINGS, webhooksOf } from '../../testkit/webhooks.js';

const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ acquirers: [acquirer], settings: WEBHOOK_SETTINGS });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = 2`);
});
afterAll(() => gateway.close());

const look = () => scrape(gateway.operatorsUrl);
const PATIENTLY = { timeout: 300_000 };

/** What a deed has added to each figure that is asked for. */
async function added(
  deed: () => Promise<unknown>,
  ...asked: [name: string, labels?: Record<string, string>][]
): Promise<number[]> {
  const figures = async () => {
    const seen = await look();
    return asked.map(([name, labels]) => seen.sum(name, labels) ?? 0);
  };
  const before = await figures();
  await deed();
  const after = await figures();
  return after.map((figure, place) => figure - (before[place] as number));
}

const seenWith = (test: (seen: Scrape) => boolean) =>
  vi.waitUntil(async () => {
    const seen = await look();
    return test(seen) && seen;
  }, PATIENTLY);

describe('requests', () => {
  const COUNT = 'tollgate_request_duration_seconds_count';

  test('are counted by operation and status, with their duration', async () => {
    const purchases = { operation: 'createPurchase' };
    const deed = async () => {
      await gateway.api.purchase();
      await gateway.api.purchase({ pan: 'x' });
      await gateway.api.lookUp(999_999);
      await gateway.api.call('/nowhere');
    };
    const operations = [
      ...[
        { ...purchases, status: '201' },
        { ...purchases, status: '422' },
      ],
      ...[
        { operation: 'lookUpTransaction', status: '404' },
        { operation: 'none', status: '404' },
      ],
    ];
    expect(
      await added(deed, ...operations.map((labels): [string, typeof labels] => [COUNT, labels])),
    ).toEqual([1, 1, 1, 1]);
    const seen = await look();
    const buckets = (le: string) =>
      seen.sum('tollgate_request_duration_seconds_bucket', { ...purchases, status: '201', le });
    expect(buckets('+Inf')).toBe(seen.sum(COUNT, { ...purchases, status: '201' }));
    expect(buckets('0.0025')).toBeLessThanOrEqual(buckets('30') ?? 0);
    expect(seen.sum('tollgate_request_duration_seconds_sum', purchases)).toBeGreaterThan(0);
  });

  // catches(metrics: a client makes no new series with its addresses)
  test('any address, method, correlation ID or card type that a client sends → no new series', async () => {
    const series = (seen: Scrape) =>
      new Set(seen.samples.map(({ name, labels }) => JSON.stringify([name, labels])));
    const strange = async () => {
      for (const word of ['alpha', 'beta']) {
        await gateway.api.call(`/${word}/${randomUUID()}`);
        await gateway.api.call('/transactions/purchase', {
          method: 'PUT',
          headers: { 'x-correlation-id': word },
        });
        await gateway.api.purchase({ pan: `${word}`, correlationId: randomUUID() });
        await gateway.api.purchase({ merchant: 77 });
        await client(gateway.baseUrl, { username: word, password: word }).purchase();
      }
    };
    await strange();
    const before = series(await look());
    await strange();
    expect([...series(await look())].filter((each) => !before.has(each))).toEqual([]);
  });

  test('failed log-ins, with and without credentials, are counted', async () => {
    const nobody = client(gateway.baseUrl, { username: 'owner', password: 'wrong' });
    const deed = async () => {
      expect((await nobody.purchase()).status).toBe(401);
      await fetch(`${gateway.baseUrl}/customers`);
    };
    expect(await added(deed, ['tollgate_failed_log_ins_total'])).toEqual([2]);
  });
});

describe('seals', () => {
  test('a user that was inserted into the database → a broken seal', async () => {
    await gateway.sql(
      `INSERT INTO gateway_user (username, organisation_id, merchant_id) VALUES ('thief', 1, 1)`,
    );
    const thief = client(gateway.baseUrl, { username: 'thief', password: 'hunter2' });
    const deed = async () => expect((await thief.purchase()).status).toBe(401);
    const [broken] = await added(deed, ['tollgate_broken_seals_total', { of: 'user' }]);
    expect(broken).toBeGreaterThan(0);
  });
});

describe('transactions', () => {
  const TOTAL = 'tollgate_transactions_total';
  const RESOLVED = 'tollgate_in_doubt_resolved_total';

  test('are counted by operation, acquirer, card type, status and response code', async () => {
    const deed = async () => {
      await gateway.api.purchase();
      await gateway.api.purchase({ pan: cardAnsweredWith('51') });
      await gateway.api.purchase({ bankAccount: {} });
    };
    const figures = await added(
      deed,
      [
        TOTAL,
        {
          operation: 'purchase',
          acquirer: 'simulator',
          card_type: 'visa',
          status: 'approved',
          response_code: '00',
        },
      ],
      [TOTAL, { status: 'declined', response_code: '51', card_type: 'visa' }],
      [TOTAL, { status: 'pending', card_type: 'none', response_code: 'none' }],
      ['tollgate_acquirer_duration_seconds_count', { acquirer: 'simulator' }],
    );
    expect(figures).toEqual([1, 1, 1, 2]);
  });

  // catches(metrics: an acquirer makes no new series with its response codes)
  test('unknown response codes → all of them "other"', async () => {
    const codes = ['Z1', '§§', 'tollgate"}\n', '4111111111111111'];
    acquirer.nextAnswers(...codes.map((code) => () => answered(code)));
    const deed = () => Promise.all(codes.map(() => gateway.api.purchase({ merchant: 2 })));
    expect(await added(deed, [TOTAL, { acquirer: 'scripted', response_code: 'other' }])).toEqual([
      codes.length,
    ]);
    expect((await look()).text).not.toContain('41111111');
  });

  test('without a readable answer → unknown, and then how it was resolved', async () => {
    const ours = { acquirer: 'scripted' };
    acquirer.nextFindings(() => answered('00'));
    acquirer.nextAnswers(() => ({ kind: 'unknown', reason: 'unreadable' }));
    const deed = async () => {
      const { headers } = await gateway.api.purchase({ merchant: 2 });
      await gateway.api.decided(Number(headers.get('location')?.split('/').at(-1)));
      await seenWith((seen) => seen.sum(RESOLVED, { ...ours, found: 'approved', by: 'inquiry' }) === 1);
    };
    expect(await added(deed, [TOTAL, { ...ours, status: 'unknown' }])).toEqual([1]);
  });

  test('in doubt, a reversal not acknowledged → counted, with the age of the oldest, until it is resolved', async () => {
    const ours = { acquirer: 'scripted' };
    acquirer.nextAnswers(() => ({ kind: 'unknown', reason: 'unreadable' }));
    acquirer.nextFindings(() => ({ kind: 'not_seen' }));
    acquirer.nextReversals(() => 'no_answer');
    await gateway.api.purchase({ merchant: 2 });
    await vi.waitUntil(
      async () =>
        (await gateway.sql('SELECT FROM transaction WHERE reversing AND resolve_attempts = 1')).length > 0,
      PATIENTLY,
    );
    // Far enough ahead that no resolver takes it meanwhile.
    const [row] = await gateway.sql<{ audit: number }>(
      `UPDATE transaction SET resolve_at = now() + interval '1 hour', created_at = created_at - interval '10 minutes'
       WHERE audit = (SELECT max(audit) FROM transaction WHERE merchant_id = 2) RETURNING audit`,
    );
    const seen = await seenWith((each) => each.sum('tollgate_reversals_unacknowledged', ours) === 1);
    expect(seen.sum('tollgate_in_doubt', ours)).toBe(1);
    expect(seen.sum('tollgate_in_doubt_oldest_seconds', ours)).toBeGreaterThan(600);
    expect(seen.sum('tollgate_in_doubt', { acquirer: 'simulator' })).toBe(0);
    expect(seen.sum('tollgate_stored_figures_up')).toBe(1);
    await gateway.sql(`UPDATE transaction SET resolve_at = now() WHERE audit = $1`, [row?.audit]);
    const over = await seenWith((each) => each.sum('tollgate_in_doubt', ours) === 0);
    expect(over.sum('tollgate_reversals_unacknowledged', ours)).toBe(0);
    expect(over.sum(RESOLVED, { ...ours, found: 'reversed', by: 'reversal' })).toBe(1);
  });
});

describe('internals', () => {
  test('batches, pools, room and event loop', async () => {
    const deed = () => Promise.all(Array.from({ length: 10 }, () => gateway.api.purchase()));
    const [claimed = 0, batches = 0, recorded] = await added(
      deed,
      ['tollgate_batch_entries_sum', { batch: 'claims' }],
      ['tollgate_batch_entries_count', { batch: 'claims' }],
      ['tollgate_batch_entries_sum', { batch: 'records' }],
    );
    expect([claimed, recorded]).toEqual([10, 10]);
    expect(batches).toBeLessThanOrEqual(10);
    // Background work may wait for a moment.
    const seen = await seenWith((each) => each.sum('tollgate_pool_waiting') === 0);
    expect(seen.sum('tollgate_pool_sessions', { pool: 'commits' })).toBeGreaterThan(0);
    expect(seen.sum('tollgate_pool_sessions_max', { pool: 'commits' })).toBe(7);
    expect(seen.sum('tollgate_transactions_in_flight_max')).toBe(5_000);
    expect(seen.sum('tollgate_transactions_in_flight')).toBe(0);
    expect(seen.sum('tollgate_event_loop_delay_seconds', { percentile: '100' })).toBeGreaterThanOrEqual(0);
    expect(seen.sum('tollgate_database_up')).toBe(1);
    expect(seen.sum('tollgate_database_disk_full')).toBe(0);
  });

  test('webhooks: delivered with their lag, refused, and waiting', async () => {
    const webhooks = webhooksOf(gateway);
    const shop = await startReceiver();
    try {
      await webhooks.add(shop.url);
      await gateway.api.purchase();
      await until(() => shop.received.length > 0);
      const delivered = await seenWith((seen) => (seen.sum('tollgate_webhook_lag_seconds_count') ?? 0) > 0);
      expect(delivered.sum('tollgate_webhook_attempts_total', { result: 'delivered' })).toBeGreaterThan(0);
      expect(delivered.sum('tollgate_feed_events_total')).toBeGreaterThan(0);
      await seenWith((seen) => seen.sum('tollgate_webhook_endpoints', { state: 'delivering' }) === 1);
    } finally {
      await shop.close();
      await webhooks.close();
    }
    await gateway.api.purchase();
    const waiting = await seenWith((seen) => (seen.sum('tollgate_webhook_deliveries_waiting') ?? 0) > 0);
    expect(waiting.sum('tollgate_webhook_endpoints', { state: 'failing' })).toBe(1);
  });

  test('keys: their number, and the age of the oldest one in use; a replaced key does not count', async () => {
    const database = new Database(gateway.databaseUrl, { maxConnections: 1 });
    const keys = async () => {
      // Kept for minutes by a gateway that has looked before.
      const { dataKeys, dataKeyOldest } = await new StoredFigures(database, { names: [] }).read();
      return [dataKeys?.[0]?.[1], Math.round(Number(dataKeyOldest?.[0]?.[1]) / 86_400)];
    };
    try {
      await gateway.api.purchase();
      await gateway.sql(`UPDATE data_key SET created_at = now() - interval '40 days' WHERE merchant_id = 1`);
      const [count] = await keys();
      expect(await keys()).toEqual([count, 40]);
      await gateway.sql(
        `INSERT INTO data_key (organisation_id, merchant_id, version, key_encryption_key, wrapped)
         SELECT organisation_id, merchant_id, version + 1, key_encryption_key, wrapped FROM data_key WHERE merchant_id = 1`,
      );
      expect(await keys()).toEqual([Number(count) + 1, 0]);
    } finally {
      await gateway.sql(`DELETE FROM data_key WHERE merchant_id = 1 AND version > 1`);
      await database.close();
    }
  });

  test('every figure has the name, type and labels of its metric, and no label names a merchant or customer', async () => {
    const seen = await look();
    const known = new Map(Object.values(METRICS).map((metric) => [metric.name, metric]));
    expect([...seen.types].filter(([name, type]) => known.get(name)?.kind !== type)).toEqual([]);
    for (const { name, labels } of seen.samples) {
      const metric = known.get(name) ?? known.get(name.replace(/_(bucket|sum|count)$/, ''));
      const allowed = [...(metric?.labels ?? []), ...(metric?.kind === 'histogram' ? ['le'] : [])];
      expect(
        Object.keys(labels).filter((label) => !allowed.includes(label)),
        name,
      ).toEqual([]);
      expect(Object.keys(labels).join()).not.toMatch(/merchant|customer|organisation|user|token/);
    }
  });
});

describe('the listener', () => {
  const status = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<number | undefined>((resolve, reject) => {
      request(gateway.operatorsUrl + path, { method, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });

  // catches(metrics: not on the merchants’ port)
  test('the merchants’ port has no metrics, and the operators’ no payments', async () => {
    expect((await fetch(new URL('/metrics', gateway.baseUrl))).status).toBe(404);
    expect(await status('/v1/transactions/purchase', {}, 'POST')).toBe(404);
    expect(await status('/console/api/transactions/purchase')).toBe(404);
    expect(await status('/metrics', {}, 'POST')).toBe(405);
    expect(await status('/metrics?name=x', {}, 'HEAD')).toBe(200);
  });

  // catches(operators’ listener: nobody reads it by a name of their own)
  test('a foreign page that gives this machine another host name → refused', async () => {
    expect(await status('/metrics', { host: 'attacker.example' })).toBe(421);
    expect(await status('/metrics', { host: 'localhost:1' })).toBe(200);
  });
});
