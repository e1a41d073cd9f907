// The console while its database is away, or has become a standby: nobody is taken for signed out, and nothing is said to be done.
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type ConsoleClient, signedIn } from '../../testkit/console.js';
import { administer } from '../../testkit/database-server.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
let operator: ConsoleClient;
beforeAll(async () => {
  gateway = await testGateway();
  operator = await signedIn(gateway);
});
afterAll(() => gateway.close());

const nameOfDatabase = () => new URL(gateway.databaseUrl).pathname.slice(1);
const administrate = (statement: string) => administer(inject('adminUrl'), statement);
/** Those that it opens from now on have the database's settings. */
const cutOff = () =>
  administrate(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tollgate-console' AND datname = '${nameOfDatabase()}'`,
  );

async function untilSignedIn(): Promise<void> {
  await expect.poll(async () => (await operator.get('/session')).status).toBe(200);
}

test('a database that is away → 503, and neither 401 nor 500; the session goes on when it is back', async () => {
  await untilSignedIn();
  await administrate(`ALTER DATABASE ${nameOfDatabase()} ALLOW_CONNECTIONS false`);
  try {
    await cutOff();
    const { status, body } = await operator.get('/session');
    expect([status, body.error_code]).toEqual([503, 'unavailable']);
    const out = await operator.post('/sign-out');
    expect([out.status, out.body.error_code, out.headers.get('set-cookie')]).toEqual([
      503,
      'not_processed',
      null,
    ]);
  } finally {
    await administrate(`ALTER DATABASE ${nameOfDatabase()} ALLOW_CONNECTIONS true`);
  }
  await untilSignedIn();
});

test('a read-only database, such as a standby → 503, and nothing is reported as done', async () => {
  await untilSignedIn();
  await administrate(`ALTER DATABASE ${nameOfDatabase()} SET default_transaction_read_only = on`);
  try {
    await cutOff();
    const out = await operator.post('/sign-out');
    expect([out.status, out.headers.get('set-cookie')]).toEqual([503, null]);
    const link = await operator.post('/sign-in/link', { name: operator.name, token: 'x' });
    expect(link.status).toBe(503);
  } finally {
    await administrate(`ALTER DATABASE ${nameOfDatabase()} RESET default_transaction_read_only`);
    await cutOff();
  }
  await untilSignedIn();
});
