// A test run's traces on the machine: one folder for all temporary files, and processes whose TMPDIR is that folder. Both are
// removed when the run ends, however it ends.
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** How long processes have to end by themselves, so that PostgreSQL releases its shared memory. */
const PATIENCE_MS = 10_000;
/** The pid of the run, and when that process began: pids are used again. */
const NAME = /^tollgate-run-(\d+)-(\w+)-/;
/** Leads to the folder that vitest has made for itself. */
const VITEST = 'vitest';

/** Makes the folder of this run. */
export async function makeRunFolder(place: string, vitestFolder: string): Promise<string> {
  const folder = await mkdtemp(join(place, `tollgate-run-${process.pid}-${await startOf(process.pid)}-`));
  // Like any folder for temporary files: programs of other users put theirs there, too.
  await chmod(folder, 0o1777);
  await symlink(vitestFolder, join(folder, VITEST));
  return folder;
}

/** Removes the traces of runs whose process is gone. Other users' runs and running ones are left alone. */
export async function removeAbandonedRuns(place: string): Promise<void> {
  for (const name of await readdir(place)) {
    const [, pid, start] = NAME.exec(name) ?? [];
    if (pid === undefined || (await startOf(Number(pid))) === start) continue;
    await removeRun(join(place, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPERM' && error.code !== 'EACCES') throw error;
    });
  }
}

/** Ends every process of a run, and removes its folder. */
export async function removeRun(folder: string): Promise<void> {
  await endProcesses(folder);
  await unmountAll(folder);
  await removeSharedMemory(folder);
  const vitestFolder = await readlink(join(folder, VITEST)).catch(() => undefined);
  if (vitestFolder !== undefined) await rm(vitestFolder, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** When a living process began; undefined if there is none. Without /proc only whether it lives is known. */
async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
    // The program's name comes second, in parentheses, and may hold anything.
    return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  }
  try {
    process.kill(pid, 0);
    return 'alive';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'alive' : undefined;
  }
}

async function endProcesses(folder: string): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  const asked = new Set<number>();
  for (;;) {
    const pids = await processesOf(folder);
    if (pids.length === 0) return;
    for (const pid of pids) {
      // PostgreSQL takes SIGINT for a fast shutdown. A stopped process must be continued first.
      if (performance.now() > untilMs) signal(pid, 'SIGKILL');
      else if (!asked.has(pid)) for (const each of ['SIGCONT', 'SIGINT'] as const) signal(pid, each);
      asked.add(pid);
    }
    await sleep(50);
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

/** Those that were started with this folder as their TMPDIR, or one inside of it. Only Linux tells. */
async function processesOf(folder: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => {
        const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
        const place = environment.split('\0').find((variable) => variable.startsWith('TMPDIR='));
        return `${place}/`.startsWith(`TMPDIR=${folder}/`) ? [Number(pid)] : [];
      }),
  );
  return found.flat().filter((pid) => pid !== process.pid);
}

async function unmountAll(folder: string): Promise<void> {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '');
  for (const line of mounts.split('\n')) {
    const [, place = ''] = line.split(' ');
    if (place.startsWith(`${folder}/`)) await promisify(execFile)('umount', ['--lazy', place]);
  }
}

/** A PostgreSQL that was killed has left a few bytes of it, whose key and ID are in its `postmaster.pid`. */
async function removeSharedMemory(folder: string): Promise<void> {
  const segments = (await readFile('/proc/sysvipc/shm', 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  if (segments.length < 3) return;
  const names = await readdir(folder, { recursive: true, encoding: 'utf8' }).catch(() => []);
  for (const name of names.filter((path) => path.endsWith('/postmaster.pid'))) {
    const line = (await readFile(join(folder, name), 'utf8').catch(() => '')).split('\n')[6] ?? '';
    const [key, id] = line.trim().split(/\s+/);
    const isUnused = segments.some((each) => each[0] === key && each[1] === id && each[6] === '0');
    if (id && isUnused) await promisify(execFile)('ipcrm', ['-m', id]).catch(() => {});
  }
}
