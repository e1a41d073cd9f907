// Lets one process at a time prepare and start the embedded PostgreSQL of a data directory.
import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { cannot, EmbeddedPostgresError, errorCode } from './error.js';
import { ps } from './ps.js';

const WAIT_LIMIT_MS = 300_000;
const HALF_WRITTEN_LIMIT_MS = 3_000;

/**
 * The lock avoids waste and confusion; safety does not depend on it. If two processes ever held it, each would initialise in a directory
 * of its own, only one could rename its work into place, and PostgreSQL itself refuses a second server.
 */
export async function withLock<T>(path: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const mine = `${process.pid} ${(await startOf(process.pid)) ?? ''} ${randomBytes(6).toString('hex')}\n`;
  await acquire(path, mine, onWait);
  try {
    return await work();
  } finally {
    if ((await contentOf(path)) === mine) await rm(path, { force: true });
  }
}

async function acquire(path: string, mine: string, onWait: () => void): Promise<void> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  let isFirstWait = true;
  for (;;) {
    try {
      return await writeFile(path, mine, { flag: 'wx', mode: 0o600 });
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw cannot(`The data directory cannot be written: ${path}`, error);
    }
    const held = await contentOf(path);
    if (held !== undefined && (await isAbandoned(path, held))) {
      await removeAbandoned(path, held);
      continue;
    }
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `Process ${held?.split(' ')[0]} has been starting PostgreSQL for too long (it holds ${path})`,
      );
    }
    if (isFirstWait) onWait();
    isFirstWait = false;
    await sleep(50);
  }
}

async function isAbandoned(path: string, held: string): Promise<boolean> {
  const [pid, start] = held.split(' ');
  if (!held.endsWith('\n') || pid === undefined) {
    // The holder died, or still is, between creating the file and writing to it.
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    return Date.now() - mtimeMs > HALF_WRITTEN_LIMIT_MS;
  }
  return (await startOf(Number(pid))) !== start;
}

/**
 * Moving before removing lets only one of several processes succeed that saw the same dead holder. The lock may have passed to a living
 * holder in the meantime: that one keeps it.
 */
async function removeAbandoned(path: string, held: string): Promise<void> {
  if ((await contentOf(path)) !== held) return;
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  await rename(path, aside).catch((error) => {
    if (errorCode(error) !== 'ENOENT') throw cannot(`The data directory cannot be written: ${path}`, error);
  });
  const moved = await contentOf(aside);
  if (moved !== undefined && moved !== held) await link(aside, path).catch(() => {});
  await rm(aside, { force: true });
}

async function contentOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}

/** When a living process started, in whatever form the system gives it: pid and start together identify a process. */
async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    // The program's name comes second, in parentheses, and may contain anything.
    const fields = line?.slice(line.lastIndexOf(')') + 2).split(' ');
    return fields === undefined || fields[0] === 'Z' ? undefined : fields[19];
  }
  if (process.platform === 'win32') {
    try {
      process.kill(pid, 0);
      return 'alive';
    } catch (error) {
      return errorCode(error) === 'EPERM' ? 'alive' : undefined;
    }
  }
  return (await ps(['-o', 'lstart=', '-p', String(pid)])).replaceAll(' ', '_') || undefined;
}
