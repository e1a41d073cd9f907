// What operators look at on the console: it ends when the browser has gone, little of it runs at a time, and asking for what is not
// permitted does not fill the journal.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConsoleClient, signedIn } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
let viewer: ConsoleClient;
const locking: pg.Client[] = [];
beforeAll(async () => {
  // A statement that nobody cancels goes on for longer than the tests wait for its end.
  gateway = await testGateway({ settings: { DATABASE_TIMEOUT_MS: '60000' } });
  viewer = await signedIn(gateway, { role: 'viewer' });
});
afterAll(async () => {
  await Promise.all(locking.map((client) => client.end()));
  await gateway.close();
});

/** Until it is let go, whoever reads the table waits. */
async function lockTable(table: string): Promise<() => Promise<unknown>> {
  const client = new pg.Client({ connectionString: gateway.databaseUrl });
  locking.push(client);
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  return () => client.query('ROLLBACK');
}

async function waiting(): Promise<number> {
  const [row] = await gateway.sql<{ count: number }>(
    `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE datname = current_database()
      AND application_name = 'tollgate-console' AND wait_event_type = 'Lock'`,
  );
  return row?.count ?? 0;
}

function abandoned(method: string, path: string): AbortController {
  const leaving = new AbortController();
  const headers = { cookie: viewer.cookie, origin: gateway.operatorsUrl, 'content-type': 'application/json' };
  fetch(`${gateway.operatorsUrl}/console/api${path}`, {
    method,
    headers,
    signal: leaving.signal,
    ...(method === 'POST' && { body: '{}' }),
  }).catch(() => {});
  return leaving;
}

// catches(console: a read ends with its asker)
test.each([
  // Not a table that is read to find the session.
  ['GET', '/merchants', 'merchant'],
  ['POST', '/journal/verify', 'journal_block'],
  ['GET', '/transactions', 'transaction'],
])('%s %s, the browser goes → the running statement is cancelled', async (method, path, table) => {
  const letGo = await lockTable(table);
  const leaving = abandoned(method, path);
  await expect.poll(waiting).toBe(1);
  leaving.abort();
  await expect.poll(waiting).toBe(0);
  await letGo();
  expect((await viewer.get('/session')).status).toBe(200);
});

// catches(console: an operator reads little at a time)
test('reads of one operator beyond the bound → 429 with Retry-After, and others go on', async () => {
  const letGo = await lockTable('journal_block, merchant');
  const first = viewer.post('/journal/verify');
  await expect.poll(waiting).toBe(1);
  const second = await viewer.post('/journal/verify');
  expect([second.status, second.body.error_code]).toEqual([429, 'too_many_reads']);
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
  const statuses: number[] = [];
  const asking = Array.from({ length: 12 }, async () => {
    statuses.push((await viewer.get('/merchants')).status);
  });
  await expect.poll(() => statuses).toContain(429);
  const colleague = await signedIn(gateway, { role: 'operator' });
  expect((await colleague.post('/sign-out')).status).toBe(204);
  await letGo();
  await Promise.all(asking);
  expect((await first).body).toMatchObject({ problem_count: 0 });
  await expect.poll(async () => (await viewer.get('/merchants')).status).toBe(200);
});

// catches(console: refusals do not fill the journal)
test('a refused route, asked for 50 times → one entry at once, and one with the count', async () => {
  for (let asked = 0; asked < 50; asked += 1) expect((await viewer.post('/keys/verify')).status).toBe(403);
  const entries = () =>
    gateway.sql<{ detail: string }>(
      `SELECT detail FROM journal WHERE action = 'operator.refused' AND actor = $1 ORDER BY id`,
      [`operator:${viewer.name}`],
    );
  expect((await entries()).map(({ detail }) => detail)).toEqual(['POST /keys/verify']);
});

// The last one: some of these requests may arrive only now.
test('200 checks of the journal, abandoned at once → one statement at a time, and none afterwards', async () => {
  const letGo = await lockTable('journal_block');
  const leaving = Array.from({ length: 200 }, () => abandoned('POST', '/journal/verify'));
  await expect.poll(waiting).toBe(1);
  for (const each of leaving) each.abort();
  await expect.poll(waiting).toBe(0);
  await letGo();
  expect((await gateway.api.purchase()).status).toBe(201);
});
