// Processor seconds that processes have used up to now, read from the operating system. Only on Linux.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const TICKS_PER_SECOND = 100;

/** Of a process and of those it has waited for. */
export async function cpuSeconds(pid: number): Promise<number> {
  return (await ticks(pid)).used / TICKS_PER_SECOND;
}

/** Of the PostgreSQL of a data directory, with its sessions. */
export async function cpuSecondsOfDatabase(dataDir: string): Promise<number> {
  return cpuSecondsOfServer(
    Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10),
  );
}

/** Of a PostgreSQL, by its first process. */
export async function cpuSecondsOfServer(postmaster: number): Promise<number> {
  const running = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name));
  const backends = (await Promise.all(running.map(ticks))).filter(({ parent }) => parent === postmaster);
  const used = [await ticks(postmaster), ...backends].reduce((sum, each) => sum + each.used, 0);
  return used / TICKS_PER_SECOND;
}

async function ticks(pid: number | string): Promise<{ parent: number; used: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The name, in brackets, may hold anything; behind it come the state, the parent, and so on.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const used = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), used };
}
