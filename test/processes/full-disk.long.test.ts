// The disk of the database is full. The file system is real, small, and in memory: made by `mount`, where that is allowed.
import { readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, client } from '../../testkit/client.js';
import {
  eventually,
  type GatewayProcess,
  removeDataDirectory,
  smallDisk,
  startGatewayProcess,
} from '../../testkit/gateway-process.js';
import { scrape } from '../../testkit/scrape.js';

/** Tried, and undone at once, so that a run without these tests leaves no disk behind. */
const canMount = await smallDisk('1m')
  .then(removeDataDirectory)
  .then(
    () => true,
    () => false,
  );

const skipped = canMount ? '' : ' (skipped: nothing can be mounted here)';
describe.skipIf(!canMount)(`a full disk${skipped}`, () => {
  let disk: string;
  const filler = () => join(disk, 'filler');
  let gateway: GatewayProcess;
  let api: Client;

  beforeAll(async () => {
    disk = await smallDisk('192m');
    gateway = await startGatewayProcess({ TOLLGATE_DATA_DIR: disk });
    api = client(gateway.baseUrl, JSON.parse(await readFile(join(disk, 'demo.json'), 'utf8')));
  });
  // A PostgreSQL without disk space cannot be stopped cleanly.
  afterAll(() => rm(filler(), { force: true }));

  async function readiness(): Promise<unknown> {
    return (await fetch(`${gateway.origin}/readyz`)).json();
  }

  async function diskFull(): Promise<number | undefined> {
    return (await scrape(await gateway.operatorsUrl())).sum('tollgate_database_disk_full');
  }

  function logged(msg: string): number {
    return gateway.output().split(`"msg":"${msg}"`).length - 1;
  }

  /** Writes until the disk is full. */
  async function fill(): Promise<void> {
    const { bavail, bsize } = await statfs(disk);
    await writeFile(filler(), Buffer.alloc(bavail * bsize)).catch(() => {});
    expect((await stat(filler())).size).toBeGreaterThan(0);
  }

  const FULL = 'the disk of the database is full';
  const ROOM = 'the disk of the database has space again';

  // catches(full disk: not ready) slow, processes
  // catches(full disk: it is looked for while nobody pays) slow, processes
  test('without payments → not ready, one line; space again → ready, one line', async () => {
    expect((await api.purchase()).status).toBe(201);
    expect(await readiness()).toEqual({ status: 'ready' });

    await fill();
    const notReady = await eventually(async () => {
      const body = (await readiness()) as { status: string };
      return body.status === 'ready' ? undefined : body;
    });
    expect(notReady).toEqual({ status: 'not ready', reason: FULL });
    await eventually(async () => (logged(FULL) === 1 ? true : undefined));
    expect(await diskFull()).toBe(1);
    expect((await fetch(`${gateway.origin}/livez`)).status).toBe(200);

    await rm(filler());
    await eventually(async () =>
      ((await readiness()) as { status: string }).status === 'ready' ? true : undefined,
    );
    await eventually(async () => (logged(ROOM) === 1 ? true : undefined));
    expect(await diskFull()).toBe(0);
    expect((await api.purchase()).status).toBe(201);
    expect([logged(FULL), logged(ROOM)]).toEqual([1, 1]);
  });

  test('under load → 503 not_processed and never charged, one line; space again → all are paid', async () => {
    await fill();
    // Existing pages still take some payments: until the first refusal.
    const refused = await eventually(async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => api.purchase()));
      return answers.find(({ status }) => status === 503);
    });
    expect(refused.code).toBe('not_processed');
    expect(await readiness()).toEqual({ status: 'not ready', reason: FULL });
    await rm(filler());
    await eventually(async () =>
      ((await readiness()) as { status: string }).status === 'ready' ? true : undefined,
    );
    expect((await api.purchase()).status).toBe(201);
    await eventually(async () => (logged(ROOM) === 2 ? true : undefined));
    expect([logged(FULL), logged(ROOM)]).toEqual([2, 2]);
  });

  test('no space for PostgreSQL’s log, so that it stops → not ready; space again → it runs, and all are paid', async () => {
    await fill();
    const [, , , port] = (await readFile(join(disk, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
    const password = (await readFile(join(disk, 'postgres-password'), 'utf8')).trim();
    const session = new pg.Client(`postgres://tollgate:${password}@127.0.0.1:${port}/tollgate`);
    session.on('error', () => {});
    await session.connect();
    const write = () => session.query(`SELECT pg_logical_emit_message(true, 'full', repeat('x', 1000000))`);
    await expect(eventually(() => write().then(() => undefined))).rejects.toThrow();
    await eventually(async () =>
      logged('PostgreSQL of the data directory cannot be started; tried again') > 0 ? true : undefined,
    );
    expect(await readiness()).toMatchObject({ status: 'not ready' });
    await rm(filler());
    await eventually(async () =>
      ((await readiness()) as { status: string }).status === 'ready' ? true : undefined,
    );
    expect((await api.purchase()).status).toBe(201);
    expect((await gateway.stop()).code).toBe(0);
  });
});
