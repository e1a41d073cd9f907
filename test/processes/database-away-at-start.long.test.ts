// A gateway started without its database waits for it, like one that has lost it. Errors that somebody has to fix end the
// start, and every command, in one line.
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client } from '../../testkit/client.js';
import { type Installation, installation } from '../../testkit/cloned-installation.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { administer } from '../../testkit/database-server.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import {
  dataDirectory,
  type Environment,
  eventually,
  freePort,
  type RunningProcess,
  run,
  start,
} from '../../testkit/gateway-process.js';
import { DatabaseProxy } from './database-proxy.js';

const WAITING = 'waiting for the database';
const login = `tollgate_limited_${process.pid}`;
const stranger = `tollgate_stranger_${process.pid}`;
let empty: TestDatabase;
let ours: TestDatabase;
let closedPort: number;

beforeAll(async () => {
  [empty, ours, closedPort] = await Promise.all([testDatabase('template0'), testDatabase(), freePort()]);
  const { username } = new URL(ours.url);
  // Superusers have slots of their own, and every right.
  await administer(
    ours.url,
    `CREATE ROLE ${login} LOGIN PASSWORD 'secret' CONNECTION LIMIT 0 IN ROLE ${username}`,
  );
  await administer(ours.url, `CREATE ROLE ${stranger} LOGIN PASSWORD 'secret'`);
});
afterAll(async () => {
  await administer(ours.url, `DROP ROLE ${login}`);
  await administer(ours.url, `DROP ROLE ${stranger}`);
  await Promise.all([empty.drop(), ours.drop()]);
});

function as(username: string, databaseUrl: string, password = 'secret'): string {
  const url = new URL(databaseUrl);
  [url.username, url.password] = [username, password];
  return url.href;
}

interface Started extends RunningProcess {
  readonly origin: string;
  /** The reasons for waiting, one for each log line. */
  causes(): string[];
}

async function serve({ dataDir }: Pick<Installation, 'dataDir'>, settings: Environment): Promise<Started> {
  const port = await freePort();
  const started = start(['serve'], {
    TOLLGATE_PORT: String(port),
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_DATABASE_TIMEOUT_MS: '15000',
    ...settings,
  });
  const lines = () => started.output().split('\n');
  return {
    ...started,
    origin: `http://127.0.0.1:${port}`,
    causes: () => lines().flatMap((line) => (line.includes(WAITING) ? [JSON.parse(line).cause] : [])),
  };
}

async function until(done: () => boolean): Promise<void> {
  await eventually(async () => done() || undefined);
}

/** Undefined while nobody listens there. */
async function answer(url: string, request?: RequestInit) {
  const response = await fetch(url, request).catch(() => undefined);
  return response && { status: response.status, body: await response.json(), headers: response.headers };
}

describe('serve, the database is away', () => {
  test.concurrent.each(['1', '2'])(
    'with %s workers → logs it, is alive and not ready, and processes nothing; database back → serves',
    async (workers) => {
      const shared = await installation();
      const proxy = await DatabaseProxy.before(shared.databaseUrl);
      proxy.cut();
      const gateway = await serve(shared, { DATABASE_URL: proxy.url, TOLLGATE_WORKERS: workers });
      const live = await eventually(() => answer(`${gateway.origin}/livez`));
      expect([live.status, live.body]).toEqual([200, { status: 'live' }]);
      const ready = await answer(`${gateway.origin}/readyz`);
      expect([ready?.status, ready?.body]).toEqual([
        503,
        { status: 'not ready', reason: 'the database cannot be reached' },
      ]);
      const api = client(`${gateway.origin}/v1`, shared.owner);
      const paid = await api.purchase({ correlationId: `away-${workers}` });
      expect([paid.status, paid.code]).toEqual([503, 'not_processed']);
      expect(paid.headers.get('x-correlation-id')).toBe(`away-${workers}`);
      expect(Number(paid.headers.get('retry-after'))).toBeGreaterThan(0);
      const lookedUp = await api.lookUp(1);
      expect([lookedUp.status, lookedUp.code]).toEqual([503, 'unavailable']);
      // Ten seconds later it says so again.
      await until(() => gateway.causes().length > 1);

      proxy.open();
      expect(await gateway.listening).toBe(`${gateway.origin}/v1`);
      const again = await api.purchase({ correlationId: `away-${workers}` });
      expect([again.status, again.body.status?.transaction_status_code]).toEqual([201, 'approved']);
      gateway.kill('SIGTERM');
      expect((await gateway.ended).code).toBe(0);
    },
  );

  test.concurrent('and the gateway is stopped → it ends cleanly, even while it waits for an answer', async () => {
    // Accepts connections, and never answers.
    const silent: Server = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    const asked = new Promise((resolve) => silent.once('connection', resolve));
    const gateway = await serve(
      { dataDir: await dataDirectory() },
      { DATABASE_URL: `postgres://gateway:secret@127.0.0.1:${port}/gateway` },
    );
    await asked;
    gateway.kill('SIGTERM');
    const { code, signal, stdout } = await gateway.ended;
    expect([code, signal]).toEqual([0, null]);
    expect(stdout).toContain('"msg":"stopped"');
    silent.close();

    const refused = await serve(
      { dataDir: await dataDirectory() },
      { DATABASE_URL: `postgres://gateway:secret@127.0.0.1:${closedPort}/gateway` },
    );
    await until(() => refused.causes().length > 0);
    expect(refused.causes()[0]).toContain('ECONNREFUSED');
    refused.kill('SIGTERM');
    expect(await refused.ended).toMatchObject({ code: 0, signal: null });
  });
});

test.each(['1', '2'])(
  'serve with %s workers, the server is out of connections, for the first session or a later one → waits; connections free → serves',
  async (workers) => {
    const shared = await installation();
    const gateway = await serve(shared, {
      DATABASE_URL: as(login, shared.databaseUrl),
      TOLLGATE_WORKERS: workers,
      TOLLGATE_LOG_LEVEL: 'debug',
    });
    await until(() => gateway.causes().length > 0);
    expect(gateway.causes()[0]).toContain('too many connections');
    // Enough to check and prepare the server, but not to serve.
    await administer(shared.databaseUrl, `ALTER ROLE ${login} CONNECTION LIMIT 2`);
    await until(() => gateway.causes().length > 1);
    await administer(shared.databaseUrl, `ALTER ROLE ${login} CONNECTION LIMIT -1`);
    expect(await gateway.listening).toBe(`${gateway.origin}/v1`);
    const paid = await client(`${gateway.origin}/v1`, shared.owner).purchase();
    expect(paid.status).toBe(201);
    gateway.kill('SIGTERM');
    expect((await gateway.ended).code).toBe(0);
    await administer(shared.databaseUrl, `ALTER ROLE ${login} CONNECTION LIMIT 0`);
  },
);

interface Wrong {
  readonly what: string;
  readonly databaseUrl: () => string;
  /** What a command says. */
  readonly line: RegExp;
  /** `migrate` and `serve`, which begins with it. */
  readonly migrating?: RegExp;
  /** Of `doctor`. */
  readonly found?: RegExp;
}

const MAY_NOT_MIGRATE =
  /^the schema of this database is not current, and its login may not change it \(permission denied for schema public\); set TOLLGATE_MIGRATING_DATABASE_URL to the login that owns the database, or run `tollgate migrate` with that one$/;

const WRONG: readonly Wrong[] = [
  {
    what: 'the wrong password',
    databaseUrl: () => as(stranger, ours.url, 'guessed'),
    line: /^DATABASE_URL: the database cannot be used \(password authentication failed for user "\w+"\)$/,
  },
  {
    what: 'a database that does not exist',
    databaseUrl: () => new URL('/nowhere', ours.url).href,
    line: /^DATABASE_URL: the database cannot be used \(database "nowhere" does not exist\)$/,
  },
  {
    what: 'an empty database in which the login may not make tables',
    databaseUrl: () => as(stranger, empty.url),
    line: /^the schema of this database is not current; run `tollgate migrate` first$/,
    migrating: MAY_NOT_MIGRATE,
    found: /^is not current: schema missing$/,
  },
  {
    what: 'a login that may read nothing',
    databaseUrl: () => as(stranger, ours.url),
    line: /^the login to the database lacks a right \(permission denied for table \w+\); see "Roles in the database" in docs\/operations\.md$/,
    found: /permission denied for table schema_migration/,
  },
];

describe.each(WRONG)('$what', ({ databaseUrl, line, migrating = line, found = /cannot be used/ }) => {
  const environment = async () => ({ DATABASE_URL: databaseUrl(), TOLLGATE_DATA_DIR: await dataDirectory() });

  test('serve → exits with one line', async () => {
    const { code, stdout, stderr } = await run(['serve'], {
      TOLLGATE_PORT: '0',
      // A busy server answers late, and is waited for, too.
      TOLLGATE_DATABASE_TIMEOUT_MS: '60000',
      ...(await environment()),
    });
    expect([code, stdout]).toEqual([1, expect.not.stringContaining(WAITING)]);
    expect(stderr.split('\n')).toEqual([expect.stringMatching(/^tollgate: /), '']);
    expect(stderr.slice('tollgate: '.length).trimEnd()).toMatch(migrating);
  });

  test('migrate, organisation add → one line; doctor → one finding, with what to do', async () => {
    const settings = await environment();
    const tollgate = commands((words) => runHere(wordsOf(words), settings));
    expect(await tollgate.refusal('migrate')).toMatch(migrating);
    expect(await tollgate.refusal('organisation add Ours')).toMatch(line);
    const { code, stdout, stderr } = await runHere(['doctor', '--json'], settings);
    expect([code, stderr]).toEqual([1, '']);
    expect(JSON.parse(stdout).findings).toContainEqual({
      check: expect.stringMatching(/^(database|schema)$/),
      result: 'failed',
      found: expect.stringMatching(found),
      todo: expect.any(String),
    });
  });
});

test('migrate, organisation add, the database is away → one line; doctor → one finding', async () => {
  const settings = {
    DATABASE_URL: `postgres://gateway:secret@127.0.0.1:${closedPort}/gateway`,
    TOLLGATE_DATA_DIR: await dataDirectory(),
  };
  const line = /^DATABASE_URL: the database cannot be used \(connect ECONNREFUSED 127\.0\.0\.1:\d+\)$/;
  const tollgate = commands((words) => runHere(wordsOf(words), settings));
  expect(await tollgate.refusal('migrate')).toMatch(line);
  expect(await tollgate.refusal('organisation add Ours')).toMatch(line);
  const { stdout } = await runHere(['doctor', '--json'], settings);
  expect(JSON.parse(stdout).findings).toContainEqual(
    expect.objectContaining({ check: 'database', result: 'failed' }),
  );
});
