// A shared pool of sessions: a waiting statement gets one when it becomes free, or an error if none does in time.
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { administer } from '../../testkit/database-server.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';

const ONE = { name: '', text: 'SELECT 1 AS one' };

let own: TestDatabase;
let database: Database;
beforeEach(async () => {
  own = await testDatabase();
  database = new Database(own.url, { maxConnections: 1 });
});
afterEach(async () => {
  await database.close();
  await own.drop();
});

/** The whole process, as on a machine that gives it no time. */
function standStill(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

test('the process stands still for longer than the session timeout → it gets the session afterwards', async () => {
  const first = database.query({ name: '', text: 'SELECT pg_sleep(0.2)' });
  const second = database.query(ONE);
  standStill(3_600);
  await first;
  expect((await second).rows).toEqual([{ one: 1 }]);
});

test('the only session is in use for too long → unavailable, and the next one gets it', async () => {
  const other = new pg.Client({ connectionString: own.url });
  await other.connect();
  await other.query('SELECT pg_advisory_lock(1)');
  const kept = database.query({ name: '', text: 'SELECT pg_advisory_lock(1)' });
  await expect(database.query(ONE)).rejects.toThrow('not available');
  await other.end();
  await kept;
  expect((await database.query(ONE)).rows).toEqual([{ one: 1 }]);
});

test('the server has no session left → requests for another wait for the existing one; without one → unavailable', async () => {
  const login = `tollgate_pool_${process.pid}`;
  const url = new URL(own.url);
  await administer(own.url, `CREATE ROLE ${login} LOGIN PASSWORD 'secret' CONNECTION LIMIT 1`);
  [url.username, url.password] = [login, 'secret'];
  const several = new Database(url.href, { maxConnections: 5 });
  const pid = { name: '', text: 'SELECT pg_backend_pid() AS pid FROM pg_sleep(0.01)' };
  const pids = await Promise.all(Array.from({ length: 20 }, () => several.query<{ pid: number }>(pid)));
  expect(new Set(pids.map(({ rows }) => rows[0]?.pid)).size).toBe(1);
  const none = new Database(url.href, { maxConnections: 5 });
  await expect(none.query(ONE)).rejects.toMatchObject({ code: '53300', transient: true });
  await Promise.all([several.close(), none.close()]);
  await administer(own.url, `DROP ROLE ${login}`);
});

test('the pool is closed while a request waits for a session → the request fails', async () => {
  const kept = database.query({ name: '', text: 'SELECT pg_sleep(0.5)' });
  const waiting = expect(database.query(ONE)).rejects.toThrow('not available');
  await database.close();
  await waiting;
  await kept.catch(() => {});
});
