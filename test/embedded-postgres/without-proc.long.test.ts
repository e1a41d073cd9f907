// What is known of processes on macOS, which has no /proc: here by the `ps` of this system.
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { withLock } from '../../src/embedded-postgres/lock.js';
import { hasLostRecovery } from '../../src/embedded-postgres/lost-recovery.js';
import { findPostmaster } from '../../src/embedded-postgres/process.js';
import { openEmbeddedPostgres } from '../../src/embedded-postgres/server.js';
import { eventually } from '../../testkit/gateway-process.js';
import { copyPreparedCluster } from '../../testkit/prepared-cluster.js';
import { newDirectory, removeWhatWasMade, spawned } from './data-directories.js';

const hasPs = spawnSync('ps', ['-o', 'lstart=', '-p', String(process.pid)]).status === 0;
const here = process.platform;

function pretend(platform: NodeJS.Platform): void {
  Object.defineProperty(process, 'platform', { value: platform });
}

afterEach(async () => {
  pretend(here);
  vi.unstubAllEnvs();
  await removeWhatWasMade();
});

describe.runIf(hasPs && here !== 'win32')('processes seen by ps', () => {
  test('a server is recognised by its cluster, not confused with another, and its recovery process is found', async () => {
    const dataDir = await newDirectory();
    await copyPreparedCluster(dataDir);
    const server = await openEmbeddedPostgres({ dataDir });
    const cluster = join(dataDir, 'postgres');
    const pidFile = await readFile(join(cluster, 'postmaster.pid'), 'utf8');
    const pid = Number.parseInt(pidFile, 10);
    const other = join(await newDirectory(), 'postgres');
    await mkdir(other);
    await writeFile(join(other, 'postmaster.pid'), pidFile);
    pretend('darwin');
    // Its file says so a little later than it answers.
    await eventually(async () => ((await findPostmaster(cluster)).state === 'ready' ? true : undefined));
    expect(await findPostmaster(cluster)).toMatchObject({ pid });
    expect(await findPostmaster(other)).toMatchObject({ state: 'left behind', formerPid: pid });
    expect(await hasLostRecovery(pid)).toBe(false);
    pretend(here);
    await server.stop();
    await writeFile(join(cluster, 'postmaster.pid'), pidFile);
    pretend('darwin');
    expect(await findPostmaster(cluster)).toMatchObject({ state: 'left behind', formerPid: pid });
  });

  test('a server without a recovery process → recovery is missing, until there is one', async () => {
    const child = (title: string) =>
      spawned(['-e', 'setInterval(() => {}, 1000)'], { argv0: `postgres: ${title} ` });
    pretend('darwin');
    child('checkpointer');
    await eventually(async () => ((await hasLostRecovery(process.pid)) ? true : undefined));
    child('startup recovering 000000010000000000000003');
    await eventually(async () => ((await hasLostRecovery(process.pid)) ? undefined : true));
  });
});

describe.runIf(hasPs && here !== 'win32')('the lock, with processes seen by ps', () => {
  beforeEach(() => pretend('darwin'));

  test('held by a process of another time zone → waits for it', async () => {
    const path = join(await newDirectory(), 'lock');
    const order: string[] = [];
    vi.stubEnv('TZ', 'Australia/Sydney');
    let second: Promise<unknown> = Promise.resolve();
    await withLock(
      path,
      () => {},
      async () => {
        vi.stubEnv('TZ', 'America/New_York');
        await new Promise<void>((resolve) => {
          second = withLock(path, resolve, async () => order.push('second'));
          void second.then(() => resolve());
        });
        order.push('first');
      },
    );
    await second;
    expect(order).toEqual(['first', 'second']);
  });

  test.each([
    ['that has ended', '2147483646 Tue_Nov_17_00:00:00_2026 abc\n'],
    ['whose number another has now', `${process.pid} Tue_Nov_17_00:00:00_2015 abc\n`],
  ])('left by a process %s → taken', async (_, held) => {
    const path = join(await newDirectory(), 'lock');
    await writeFile(path, held);
    expect(
      await withLock(
        path,
        () => {},
        async () => 'done',
      ),
    ).toBe('done');
  });
});
