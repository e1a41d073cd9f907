// The PostgreSQL that comes with the gateway ends under it, in several ways. It is restarted once, whoever shares it. Each test
// continues where the previous one stopped.
import { readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { withLock } from '../../src/embedded-postgres/lock.js';
import { hasLostRecovery } from '../../src/embedded-postgres/lost-recovery.js';
import { client } from '../../testkit/client.js';
import {
  dataDirectory,
  eventually,
  type GatewayProcess,
  postgresPid,
  startGatewayProcess,
} from '../../testkit/gateway-process.js';

let dataDir: string;
let gateways: readonly GatewayProcess[];
let demo: { username: string; password: string };
/** The audits of all purchases. */
const paid: number[] = [];

beforeAll(async () => {
  dataDir = await dataDirectory();
  const environment = { TOLLGATE_DATA_DIR: dataDir };
  gateways = await Promise.all([startGatewayProcess(environment), startGatewayProcess(environment)]);
  demo = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
});

async function readiness({ origin }: GatewayProcess): Promise<string> {
  const response = await fetch(`${origin}/readyz`);
  const { reason = 'ready' } = (await response.json()) as { reason?: string };
  return reason;
}

async function allAre(expected: string): Promise<void> {
  for (const gateway of gateways)
    await eventually(async () => ((await readiness(gateway)) === expected ? true : undefined));
}

async function allPay(): Promise<void> {
  for (const { baseUrl } of gateways) {
    const { status, body } = await client(baseUrl, demo).purchase();
    expect([status, body.status?.transaction_status_code]).toEqual([201, 'approved']);
    paid.push(body.audit);
    for (const audit of paid)
      expect((await client(baseUrl, demo).lookUp(audit)).body.status.transaction_status_code).toBe(
        'approved',
      );
  }
}

/** How often each gateway has logged this, in order. */
function logged(msg: string): number[] {
  return gateways.map(({ output }) => output().split(`"msg":"${msg}"`).length - 1);
}

async function allHaveLogged(msg: string): Promise<void> {
  await eventually(async () => (logged(msg).every((times) => times > 0) ? true : undefined));
}

interface Seen {
  readonly pid: number;
  readonly parent: number;
  readonly commandLine: string;
}

/** Of all processes of this machine. */
async function processes(): Promise<Seen[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const read = (path: string) => readFile(`/proc/${path}`, 'utf8').catch(() => '');
  return Promise.all(
    pids.map(async (pid) => {
      const parent = /^PPid:\s*(\d+)$/m.exec(await read(`${pid}/status`))?.[1];
      return { pid: Number(pid), parent: Number(parent), commandLine: await read(`${pid}/cmdline`) };
    }),
  );
}

/** Servers of this data directory: not their sessions, which have another command line. */
async function servers(): Promise<number[]> {
  const mark = `tollgate.cluster=${join(dataDir, 'postgres')}`;
  return (await processes())
    .filter(({ commandLine }) => commandLine.split('\0').includes(mark))
    .map(({ pid }) => pid);
}

/** A session dies, so that the server recovers; recovery finds no log, and dies; then the log is back. */
async function loseRecovery(): Promise<void> {
  const server = (await postgresPid(dataDir)) as number;
  const part = async (name: string) =>
    (await processes()).find((each) => each.parent === server && each.commandLine.startsWith(name))?.pid;
  const session = await eventually(() => part('postgres: tollgate'));
  const log = join(dataDir, 'postgres', 'pg_wal');
  await rename(log, `${log}.away`);
  try {
    process.kill(session, 'SIGKILL');
  } catch {
    // The process that needed the log has died already, and all others with it.
  }
  await eventually(async () => ((await part('postgres: walwriter')) === undefined ? true : undefined));
  await eventually(async () => ((await hasLostRecovery(server)) ? true : undefined));
  await rename(`${log}.away`, log);
}

/** A session that is just being forked still looks like a server. */
async function expectOneServer(): Promise<void> {
  await eventually(async () => {
    const [server, ...others] = await servers();
    return others.length === 0 && server === (await postgresPid(dataDir)) ? true : undefined;
  });
}

const ENDED = 'PostgreSQL of the data directory has ended; starting it again';
const RUNS = 'PostgreSQL of the data directory runs again';

// catches(embedded PostgreSQL: one that has ended is started again) slow, processes
test('kill -9 of PostgreSQL → not ready, one line; then one new server, ready, and nothing is lost', async () => {
  await allPay();
  const before = await postgresPid(dataDir);
  // Nobody can start it while this test holds the lock.
  await withLock(
    join(dataDir, 'postgres.lock'),
    () => {},
    async () => {
      process.kill(before as number, 'SIGKILL');
      await allAre('the database cannot be reached');
      await allHaveLogged(ENDED);
      await allHaveLogged('database lost');
      const { status, code } = await client((gateways[0] as GatewayProcess).baseUrl, demo).purchase();
      expect([status, code]).toEqual([503, 'not_processed']);
    },
  );
  await allAre('ready');
  await allPay();
  expect(await postgresPid(dataDir)).not.toBe(before);
  if (process.platform === 'linux') await expectOneServer();
  // Log lines may come later than answers.
  for (const msg of [RUNS, 'database back']) await allHaveLogged(msg);
  expect([ENDED, RUNS, 'database lost', 'database back'].map(logged)).toEqual([
    [1, 1],
    [1, 1],
    [1, 1],
    [1, 1],
  ]);
});

// catches(embedded PostgreSQL: it is started again under the address that everybody knows) slow, processes
test('PostgreSQL is shut down manually → it is started again', async () => {
  const before = await postgresPid(dataDir);
  process.kill(before as number, 'SIGINT');
  await eventually(async () => {
    const pid = await postgresPid(dataDir);
    return pid === undefined || pid === before ? undefined : pid;
  });
  await allAre('ready');
  await allPay();
});

// catches(embedded PostgreSQL: one that cannot be started is tried again) slow, processes
test('PostgreSQL cannot be started → the reason is logged once, and the start repeated; once possible → it runs without intervention', async () => {
  const control = join(dataDir, 'postgres', 'global', 'pg_control');
  await rename(control, `${control}.away`);
  process.kill((await postgresPid(dataDir)) as number, 'SIGKILL');
  await allHaveLogged('PostgreSQL of the data directory cannot be started; tried again');
  await allAre('the database cannot be reached');
  await rename(`${control}.away`, control);
  await allAre('ready');
  await allPay();
});

const seesProcesses = process.platform === 'linux';

test.runIf(seesProcesses)(
  // catches(embedded PostgreSQL: one that nobody recovers is ended) slow, processes
  'PostgreSQL misses that its recovery has died → it is ended and runs again, without anybody’s help, and nothing is lost',
  async () => {
    const before = await postgresPid(dataDir);
    await loseRecovery();
    await allAre('the database cannot be reached');
    await eventually(async () => ((await postgresPid(dataDir)) === before ? undefined : true));
    await allAre('ready');
    await allPay();
    await expectOneServer();
  },
);

test('SIGTERM while PostgreSQL is down → every gateway exits with 0, and no server is left running', async () => {
  process.kill((await postgresPid(dataDir)) as number, 'SIGKILL');
  const ended = await Promise.all(gateways.map((gateway) => gateway.stop()));
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  if (process.platform === 'linux') expect(await servers()).toEqual([]);
});

test.runIf(seesProcesses)(
  // catches(embedded PostgreSQL: one that nobody recovers ends when it is stopped) slow, processes
  'SIGTERM while nobody recovers PostgreSQL → the gateway ends with 0, and no server is left; the next one finds everything',
  async () => {
    // Alone: any other gateway would restart it.
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    const stopped = await startGatewayProcess({ TOLLGATE_DATA_DIR: dataDir });
    // It has started wholly: what it asks the database for until then would fail.
    await eventually(async () => (stopped.output().includes('listening for operators') ? true : undefined));
    await loseRecovery();
    const { code, stdout, stderr } = await stopped.stop();
    expect(code, stdout + stderr).toBe(0);
    expect(await servers()).toEqual([]);
    gateways = [await startGatewayProcess({ TOLLGATE_DATA_DIR: dataDir })];
    await allPay();
  },
);
