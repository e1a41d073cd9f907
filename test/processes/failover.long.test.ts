// A primary and its synchronous standby, with connections to the wrong one: no promise is made that the other could break.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect, DatabaseAway } from '../../src/gateway/database/connection.js';
import { startGateway } from '../../src/gateway/gateway.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { Database, DatabaseUnavailable } from '../../src/postgres/database.js';
import { migrate } from '../../src/postgres/schema.js';
import { type Answer, type Client, client } from '../../testkit/client.js';
import { addCast, type Credentials } from '../../testkit/gateway.js';
import { dataDirectory, eventually, start } from '../../testkit/gateway-process.js';
import { Pair } from '../../testkit/pair.js';
import { Switch } from '../../testkit/switch.js';
import { SLOW_CARD } from '../../testkit/test-cards.js';
import { asynchronousFailover, synchronousFailover } from './journal-on-pair.js';
import { droppingSettings, forgingGreetings, relayed } from './pooler.js';

const LIMIT_MS = 120_000;
const SEALING = Buffer.alloc(32, 7).toString('base64');
const ONE = { name: '', text: 'SELECT 1 AS one' };

let pair: Pair;
let directory: string;
let owner: Credentials;
let failedOver = false;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tollgate-pair-'));
  pair = await Pair.open(directory);
  process.on('exit', () => pair.kill());
  const database = new Database(pair.primary.url, { maxConnections: 1 });
  await migrate(database);
  await database.close();
  ({ owner } = await addCast(pair.primary.url, readSettings({ TOLLGATE_KEY_ENCRYPTION_KEY: SEALING })));
}, LIMIT_MS);
afterAll(async () => {
  await pair.stop();
  await rm(directory, { recursive: true, force: true });
}, LIMIT_MS);
beforeEach(async () => {
  if (failedOver) await pair.rejoin();
  failedOver = false;
}, LIMIT_MS);

async function promote(): Promise<void> {
  failedOver = true;
  await pair.promote();
}

function opened(url: string, options = {}): Database {
  const database = new Database(url, { maxConnections: 2, ...options });
  onTestFinished(() => database.close());
  return database;
}

interface Scene {
  readonly api: Client;
  readonly way: Switch;
  logged(): string;
}

/**
 * A gateway whose database connection can be redirected. It waits two seconds for a silent database: a busy machine takes one
 * to open a session.
 */
async function gateway(): Promise<Scene> {
  const way = await Switch.open(pair.primary.port);
  const dataDir = await dataDirectory();
  const settings = readSettings({
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_PORT: '0',
    TOLLGATE_CHECKOUT_PORT: 'off',
    TOLLGATE_DATABASE_TIMEOUT_MS: '2000',
    TOLLGATE_RESOLVER_INTERVAL_MS: '50',
    // None of these failovers takes longer.
    TOLLGATE_SIMULATOR_SLOW_MS: '6000',
    // All servers have the same sealed rows.
    TOLLGATE_KEY_ENCRYPTION_KEY: SEALING,
  });
  const lines: string[] = [];
  const log = pino({ level: 'debug', base: null }, { write: (line: string) => void lines.push(line) });
  const started = await startGateway({ settings, databaseUrl: way.urlOf(pair.primary.url), log });
  onTestFinished(async () => {
    await started.close();
    way.close();
  });
  return { way, api: client(started.baseUrl, owner), logged: () => lines.join('') };
}

const answer = async (response: Promise<Answer>) => {
  const { status, code } = await response;
  return code === undefined ? status : `${status} ${code}`;
};

describe('sessions', () => {
  // catches(failover: no session on a standby is used) slow, processes
  test('a standby → no session on it is used, and a start waits until it is the primary', async () => {
    const refused = opened(pair.standby.url).query(ONE);
    await expect(refused).rejects.toThrow(DatabaseUnavailable);
    await expect(refused).rejects.toMatchObject({ cause: { message: expect.stringContaining('standby') } });
    await expect(connect(readSettings({ DATABASE_URL: pair.standby.url }))).rejects.toThrow(
      new DatabaseAway('DATABASE_URL: the server is a standby; name the primary'),
    );
    const started = start(['serve'], {
      DATABASE_URL: pair.standby.url,
      TOLLGATE_PORT: '0',
      TOLLGATE_DATA_DIR: await dataDirectory(),
      TOLLGATE_KEY_ENCRYPTION_KEY: SEALING,
    });
    const waiting = /"cause":"the server is a standby; name the primary".*"msg":"waiting for the database"/;
    await eventually(async () => waiting.test(started.output()) || undefined);
    await promote();
    const baseUrl = (await started.listening) as string;
    expect((await client(baseUrl, owner).purchase()).status).toBe(201);
    started.kill('SIGTERM');
    expect((await started.ended).code).toBe(0);
  });

  test('several servers, one of them the primary → it is found, at first and after a failover', async () => {
    const { port } = pair.standby;
    const url = pair.primary.url.replace(/@([^/]+)/, (_, host) => `@127.0.0.1:${port},${host}`);
    expect((await connect(readSettings({ DATABASE_URL: url }))).logins.serving).toBe(url);
    const database = opened(url, { answerLimitMs: 1_000 });
    expect((await database.query(ONE)).rows).toEqual([{ one: 1 }]);
    // The other one continues, and claims to be the primary; but it cannot commit.
    await promote();
    const commit = `SELECT pg_logical_emit_message(true, 'test', ''), inet_server_port() AS port`;
    const rows = await eventually(async () =>
      database.query({ name: '', text: commit }).then(
        (committed) => committed.rows,
        () => undefined,
      ),
    );
    expect(rows).toMatchObject([{ port }]);
  });

  test('several servers, none of them a primary → refused in one line that names each', async () => {
    const url = pair.standby.url.replace(/@([^/]+)/, '@127.0.0.1:1,$1');
    await expect(connect(readSettings({ DATABASE_URL: url }))).rejects.toThrow(
      /^DATABASE_URL: none of the servers is a primary \(127\.0\.0\.1:1: .*ECONNREFUSED.*; 127\.0\.0\.1:\d+: the server is a standby; name the primary\)$/,
    );
  });

  test('a statement that a read-only session refuses (25006) → unavailable, and the session is not used again', async () => {
    const database = opened(`${pair.primary.url}?options=-c%20default_transaction_read_only%3Don`, {
      maxConnections: 1,
    });
    const pid = { name: '', text: 'SELECT pg_backend_pid() AS pid' };
    const before = await database.query(pid);
    const write = { name: '', text: 'CREATE TABLE never (id integer)' };
    await expect(database.query(write)).rejects.toThrow(DatabaseUnavailable);
    expect((await database.query(pid)).rows).not.toEqual(before.rows);
  });

  test('standbys without synchronous replication → logged at start that payments can be lost', async () => {
    const settings = readSettings({ DATABASE_URL: pair.primary.url });
    expect((await connect(settings)).warnings).toEqual([]);
    const [before] = await pair.primary.sql('SHOW synchronous_standby_names');
    const set = async (names: unknown) => {
      await pair.primary.sql(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      await pair.primary.sql('SELECT pg_reload_conf()');
    };
    await set('');
    onTestFinished(() => set(before?.synchronous_standby_names));
    const warned = await eventually(async () => {
      const { warnings } = await connect(settings);
      return warnings.length > 0 ? warnings : undefined;
    });
    expect(warned).toEqual([expect.stringContaining('a failover may lose acknowledged payments')]);
  });

  test('a pooler that answers for the server, or hides its settings → refused in one line', async () => {
    for (const pooler of [forgingGreetings, droppingSettings]) {
      const url = await relayed(pair.primary, pooler);
      await expect(connect(readSettings({ DATABASE_URL: url }))).rejects.toThrow(
        /^DATABASE_URL: a connection pooler stands before the server, and session settings do not last; connect to PostgreSQL itself$/,
      );
    }
  });
});

describe('promises', () => {
  // catches(failover: the last look of a search ends with a commit) slow, processes
  // catches(failover: that nobody knows the outcome is said after a commit) slow, processes
  // catches(failover: "not there" is said after a commit) slow, processes
  // catches(failover: a former primary is not used again) slow, processes
  test('the old primary, still reachable → never 404, empty or unknown, but 503; the new primary → everything is there', async () => {
    const old = await gateway();
    const made = await old.api.purchase();
    const slowly = randomUUID();
    const paying = answer(old.api.purchase({ pan: SLOW_CARD, correlationId: slowly }));
    const [underWay] = await eventually(async () => {
      const { results } = (await old.api.search(slowly)).body;
      return results.length > 0 ? results : undefined;
    });
    expect(underWay.status.transaction_status_code).toBe('unknown');
    await promote();
    expect(await answer(old.api.lookUp(underWay.audit))).toBe('503 unavailable');
    expect(await answer(old.api.search(slowly))).toBe('503 unavailable');
    expect(await paying).toBe('504 acquirer_timeout');
    const fresh = await gateway();
    const later = randomUUID();
    const madeThere = await fresh.api.purchase({ correlationId: later });
    expect(madeThere.status).toBe(201);

    const { audit } = madeThere.body;
    expect(await answer(old.api.lookUp(made.body.audit))).toBe(200);
    expect(await answer(old.api.lookUp(audit))).toBe('503 unavailable');
    expect(await answer(old.api.search(later))).toBe('503 unavailable');
    expect(await answer(old.api.get('/transactions/history'))).toBe('503 unavailable');
    expect(await answer(old.api.refund(audit, 1))).toBe('503 not_processed');
    expect(await answer(old.api.purchase())).toBe('503 not_processed');

    old.way.lead(pair.primary.port);
    old.way.cut();
    await eventually(async () => ((await old.api.lookUp(audit)).status === 200 ? true : undefined));
    expect((await old.api.search(later)).body.results).toHaveLength(1);
    expect((await old.api.get('/transactions/history')).body.results[0].audit).toBe(audit);
    expect(await answer(old.api.lookUp(2_000_000_000))).toBe('404 transaction_not_found');

    // A process that has seen the new primary no longer believes the old one.
    old.way.lead(pair.standby.port);
    old.way.cut();
    // The first may fail because its connection was just cut; the next ones open their own.
    for (let round = 0; round < 3; round += 1)
      expect(await answer(old.api.lookUp(made.body.audit))).toBe('503 unavailable');
  });

  test('the address leads to a standby half of the time → every answer is right, none is 500', async () => {
    const { api, way } = await gateway();
    const made = await eventually(async () => {
      const answered = await api.purchase();
      return answered.status === 201 ? answered : undefined;
    });
    way.lead(pair.standby.port, pair.primary.port);
    for (let round = 0; round < 5; round += 1) {
      way.cut();
      expect(['200', '503 unavailable']).toContain(String(await answer(api.lookUp(made.body.audit))));
      const { status, body } = await api.search(made.headers.get('x-correlation-id') as string);
      if (status === 200) expect(body.results).toHaveLength(1);
      else expect(status).toBe(503);
      expect(['201', '503 not_processed']).toContain(String(await answer(api.purchase())));
    }
  });

  // catches(failover: a commit that did not wait for its standby is not acknowledged) slow, processes
  test('a commit that no longer waits for its standby → not acknowledged, and decided once the standby is back', async () => {
    const { api } = await gateway();
    await api.purchase();
    const { standby, primary } = pair;
    standby.signal('SIGSTOP');
    onTestFinished(() => standby.signal('SIGCONT'));
    const correlationId = randomUUID();
    const paying = answer(api.purchase({ correlationId }));
    await eventually(async () => {
      const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE wait_event = 'SyncRep' AND query LIKE '%INSERT INTO transaction%'`;
      return (await primary.sql(cancel)).length > 0 || undefined;
    });
    expect(await paying).toBe('503 not_processed');
    standby.signal('SIGCONT');
    const found = await eventually(async () => {
      const { body } = await api.search(correlationId);
      const [transaction] = body.results ?? [];
      return transaction?.status.transaction_status_code === 'error' ? transaction : undefined;
    });
    expect(found.status.gateway_status_code).toBe(1);
  });

  test('a stalled database → 503; it continues → payments again, and the log has one line for each', async () => {
    const { api, logged } = await gateway();
    const made = await api.purchase();
    pair.primary.signal('SIGSTOP');
    const answers = await Promise.all([
      answer(api.purchase()),
      answer(api.lookUp(made.body.audit)),
      answer(api.search(randomUUID())),
    ]);
    const lines = (message: string) => logged().split(`"msg":"${message}"`).length - 1;
    await eventually(async () => lines('database lost') > 0 || undefined);
    // Background jobs retry meanwhile: only time shows that nothing more is logged.
    await sleep(1_500);
    pair.primary.signal('SIGCONT');
    expect(answers).toEqual(['503 not_processed', '503 unavailable', '503 unavailable']);
    await eventually(async () => ((await api.purchase()).status === 201 ? true : undefined));
    await eventually(async () => lines('database back') > 0 || undefined);
    expect([lines('database lost'), lines('database back'), lines('background job failed')]).toEqual([
      1, 1, 0,
    ]);
    expect(logged()).toMatch(/"cause":"[^"]+","msg":"database lost"/);
    expect(logged()).toMatch(/"seconds":\d+(\.\d)?,"msg":"database back"/);
  });
});

describe('the journal', () => {
  test('written while the synchronous standby is promoted → nothing acknowledged is missing, and its chain is valid', async () => {
    await synchronousFailover(pair, promote);
  });

  test('an incomplete standby is promoted → a checkpoint finds what is lost, and nothing else looks forged', async () => {
    await asynchronousFailover(pair, promote);
  });
});
