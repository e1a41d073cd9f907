// Several workers behind one address: one gateway to its clients, whichever worker ends.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readdir, readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { Database } from '../../src/postgres/database.js';
import { client, type PaymentChange, paymentBody } from '../../testkit/client.js';
import {
  type Installation,
  type InstalledGateway,
  installation,
  outcomeOf,
} from '../../testkit/cloned-installation.js';
import { signedIn } from '../../testkit/console.js';
import { credentialKeyOf } from '../../testkit/gateway.js';
import { dataDirectory, type Environment, eventually, run, start } from '../../testkit/gateway-process.js';
import { scrape } from '../../testkit/scrape.js';
import { SLOW_CARD } from '../../testkit/test-cards.js';

let shared: Installation;
let gateway: InstalledGateway;
let dataDir: string;
beforeAll(async () => {
  shared = await installation();
  dataDir = shared.dataDir;
  // A worker of a busy machine is not dead because its heartbeat is late.
  gateway = await shared.start({ WORKERS: '2', DATA_DIR: dataDir, PROCESS_TIMEOUT_MS: '6000' });
});

async function isRunning(pid: number, parent?: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  // A zombie still has its entry.
  if (!/^State:\t[^ZX]/m.test(status)) return false;
  return parent === undefined || status.includes(`\nPPid:\t${parent}\n`);
}

/** The processes that this one has started and that are running. */
async function childrenOf(pid: number): Promise<number[]> {
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const running = await Promise.all(all.map((one) => isRunning(one, pid)));
  return all.filter((_, index) => running[index]);
}

const gone = (pids: readonly number[]) =>
  eventually(async () =>
    (await Promise.all(pids.map((pid) => isRunning(pid)))).includes(true) ? undefined : true,
  );

/** On a connection of its own, so that any worker may get it. */
function purchase(change: PaymentChange = {}) {
  return gateway.api.call('/transactions/purchase', {
    body: paymentBody(change),
    headers: { connection: 'close' },
    ...(change.correlationId !== undefined && { correlationId: change.correlationId }),
  });
}

/** Not by a search: at another worker that could be too early, and the purchase would be refused. */
async function inDoubt(count: number): Promise<void> {
  await eventually(async () => {
    const rows = await shared.sql(`SELECT FROM transaction WHERE status = 'unknown'`);
    return rows.length === count ? true : undefined;
  });
}

test('a refund on the console, whose process serves no payments → done, and that process is no longer in the registry', async () => {
  const settings = readSettings({ TOLLGATE_DATA_DIR: dataDir });
  const database = new Database(shared.databaseUrl, { maxConnections: 1 });
  const credentialKey = await credentialKeyOf(database, settings).finally(() => database.close());
  const operatorsUrl = await gateway.operatorsUrl();
  const installed = { databaseUrl: shared.databaseUrl, settings, credentialKey, operatorsUrl };
  const operator = await signedIn(installed, { role: 'operator' });
  const { audit } = (await purchase({ amount: 800 })).body;
  const form = { reason: 'because', key: randomUUID(), amount_cents: 300 };
  const { status, body } = await operator.post(`/transactions/1/${audit}/refund`, form);
  expect([status, body.status]).toEqual([200, 'approved']);
  expect((await shared.ledgerOf(body.audit)).map(({ operation }) => operation)).toEqual(['refund']);
  expect(await shared.sql('SELECT FROM process WHERE pid = $1', [gateway.pid])).toEqual([]);
});

test('two workers → both serve, on one address', async () => {
  expect(await childrenOf(gateway.pid)).toHaveLength(2);
  await eventually(async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => purchase()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const served = await shared.sql('SELECT DISTINCT process_id FROM audit_lease');
    return served.length === 2 ? true : undefined;
  });
});

const PURCHASES = 'tollgate_request_duration_seconds_count';
const OF_PURCHASES = { operation: 'createPurchase', status: '201' };

// catches(metrics: what a worker has counted outlives it) slow, processes
test('one scrape has the metrics of both workers; a worker is killed → no counter goes back, and its successor is included', async () => {
  const operators = await gateway.operatorsUrl();
  const purchases = async () => (await scrape(operators)).sum(PURCHASES, OF_PURCHASES) ?? 0;
  const before = await purchases();
  const answers = await Promise.all(Array.from({ length: 20 }, () => purchase()));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  const both = await scrape(operators);
  expect(both.sum(PURCHASES, OF_PURCHASES)).toBe(before + 20);
  expect([both.sum('tollgate_processes'), both.sum('tollgate_processes_silent')]).toEqual([2, 0]);
  expect(both.sum('tollgate_pool_sessions_max', { pool: 'commits' })).toBe(14);
  expect(both.sum('tollgate_stored_figures_up')).toBe(1);
  // Metrics from the database are not summed.
  expect(both.sum('tollgate_database_up')).toBe(1);

  const [first] = await childrenOf(gateway.pid);
  process.kill(first as number, 'SIGKILL');
  await gone([first as number]);
  await eventually(async () => {
    const seen = await scrape(operators);
    expect(seen.sum(PURCHASES, OF_PURCHASES)).toBe(before + 20);
    return seen.sum('tollgate_processes') === 2 ? true : undefined;
  });
});

test('a worker is killed → the others continue, it is replaced, and its transactions in doubt are resolved', async () => {
  const ids = Array.from({ length: 12 }, () => randomUUID());
  const sending = ids.map((correlationId) =>
    purchase({ correlationId, pan: SLOW_CARD }).catch(() => undefined),
  );
  await inDoubt(ids.length);
  const before = await childrenOf(gateway.pid);
  process.kill(before[0] as number, 'SIGKILL');
  // Until then the next request may hit a connection that the killed worker had accepted.
  await gone(before.slice(0, 1));
  expect((await purchase()).status).toBe(201);
  await eventually(async () => {
    const now = await childrenOf(gateway.pid);
    return now.length === 2 && !now.includes(before[0] as number) ? true : undefined;
  });
  await Promise.all(sending);
  for (const id of ids) {
    const outcome = await outcomeOf(gateway.api, id);
    expect(outcome?.status.transaction_status_code).toBeOneOf(['approved', 'error']);
  }
  expect(gateway.output()).toContain('"msg":"worker exited; a new one is started"');
});

test('the first process is killed → its workers end by themselves', async () => {
  const workers = await eventually(async () => {
    const now = await childrenOf(gateway.pid);
    return now.length === 2 ? now : undefined;
  });
  await gateway.crash();
  await gone(workers);
});

test.concurrent('two workers with a demo → created and shown once; SIGTERM → all end in order', async () => {
  const demonstrating = await shared.start({ WORKERS: '2', DEMO: 'true', DATA_DIR: dataDir });
  await eventually(async () => demonstrating.output().includes("  -d '") || undefined);
  expect(demonstrating.output().split('curl -s')).toHaveLength(2);
  const demo = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
  expect(demo.base_url).toBe(demonstrating.baseUrl);
  const api = client(demonstrating.baseUrl, demo);
  const workers = await childrenOf(demonstrating.pid);
  expect(workers).toHaveLength(2);
  const underWay = api.purchase({ pan: SLOW_CARD, merchant: demo.merchants[0] });
  await inDoubt(1);
  const ended = await demonstrating.stop();
  expect((await underWay).status).toBe(201);
  expect(ended.code).toBe(0);
  expect(ended.stdout).toContain('"msg":"stopped"');
  // Others here are killed, and leave transactions in doubt and late events on this database: the process that finds them logs
  // it.
  const warnings = ended.stdout.split('\n').filter((line) => /"level":"(warn|error)"/.test(line));
  expect(warnings.filter((line) => !/"msg":"(transactions? in doubt|events came late)/.test(line))).toEqual(
    [],
  );
  await gone(workers);
});

test.concurrent('heavy logging in both workers, and a slow reader → every line is whole, and “listening” is logged once', async () => {
  const pipe = join(await dataDirectory(), 'log');
  await promisify(execFile)('mkfifo', [pipe]);
  const script = `exec ${process.execPath} bin/tollgate.js serve > '${pipe}'`;
  const logging = start(
    ['-c', script],
    {
      DATABASE_URL: shared.databaseUrl,
      TOLLGATE_DATA_DIR: dataDir,
      TOLLGATE_PORT: '0',
      TOLLGATE_CHECKOUT_PORT: 'off',
      TOLLGATE_WORKERS: '2',
    },
    { command: 'sh' },
  );
  const log = await open(pipe);
  const [, port] = await eventually(
    async () => /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(logging.output()) ?? undefined,
  );
  const request = 'GET /livez HTTP/1.1\r\nHost: gateway\r\n\r\n';
  const last = 'GET /livez HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n';
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(request.repeat(49) + last);
      return text(socket);
    }),
  );
  expect(answers.join('').split('"live"')).toHaveLength(3_001);
  // Only now: the pipe was full for a while, and each worker had to wait for the other.
  let written = '';
  const reading = log.createReadStream({ encoding: 'utf8', highWaterMark: 4_096 }).on('data', (chunk) => {
    written += chunk;
  });
  await eventually(async () => written.split('"msg":"request"').length > 3_000 || undefined);
  logging.kill('SIGTERM');
  await once(reading, 'end');
  const messages = written
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).msg);
  expect(messages.filter((message) => message === 'request')).toHaveLength(3_000);
  expect(messages.filter((message) => message === 'listening')).toHaveLength(1);
  expect((await logging.ended).code).toBe(0);
});

async function expectOneLine(settings: Environment, line: RegExp): Promise<void> {
  const environment = {
    DATABASE_URL: shared.databaseUrl,
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_PORT: '0',
    TOLLGATE_WORKERS: '2',
    ...settings,
  };
  const { code, stdout, stderr } = await run(['serve'], environment);
  expect(stderr).toMatch(line);
  expect([code, stdout]).toEqual([1, '']);
}

test.concurrent('a port in use → exit code 1, and one line', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await expectOneLine(
    { TOLLGATE_PORT: String(port) },
    /^tollgate: port \d+ on 127\.0\.0\.1 is taken .*TOLLGATE_PORT.*\n$/,
  );
  await expectOneLine(
    { TOLLGATE_CONSOLE_PORT: String(port) },
    /^tollgate: port \d+ on 127\.0\.0\.1 is taken .*TOLLGATE_CONSOLE_PORT to a free one.* or to off\n$/,
  );
  server.close();
});

test.concurrent('an invalid number of workers, or a setting that only the workers find wrong → exit code 1, and one line', async () => {
  const directory = join(await dataDirectory(), 'directory');
  await mkdir(directory);
  await Promise.all([
    expectOneLine(
      { TOLLGATE_WORKERS: '0' },
      /^tollgate: TOLLGATE_WORKERS must be a whole number from 1 to 256\n$/,
    ),
    expectOneLine(
      { TOLLGATE_SIMULATOR_LEDGER: directory },
      /^tollgate: TOLLGATE_SIMULATOR_LEDGER: \S+directory cannot be written \(EISDIR\)\n$/,
    ),
  ]);
});
