// What a load cost the processor and the memory, read from the operating system. Only on Linux.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LoadOptions, load } from '../testkit/load.js';
import type { LoadResult } from '../testkit/load-generator.js';
import type { StandaloneGateway } from '../testkit/standalone.js';

export interface MeasuredLoad extends LoadResult {
  /** What each request cost, in milliseconds. */
  readonly cpuMs: { readonly gateway: number; readonly database: number; readonly load: number };
}

/** Processor time used up to now, in clock ticks of a hundredth of a second, by a process and by those it has waited for. */
async function ticks(pid: number | string): Promise<{ parent: number; used: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The name, in brackets, may hold anything; behind it come the state, the parent, and so on.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const used = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), used };
}

/** Processor seconds that the gateway and its PostgreSQL have used up to now. */
export async function cpuSeconds({
  pid,
  dataDir,
}: StandaloneGateway): Promise<{ gateway: number; database: number }> {
  const postmaster = Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
  const running = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name));
  const backends = (await Promise.all(running.map(ticks))).filter(({ parent }) => parent === postmaster);
  const database = [await ticks(postmaster), ...backends].reduce((sum, { used }) => sum + used, 0);
  return { gateway: (await ticks(pid)).used / 100, database: database / 100 };
}

/** Loads a gateway, and adds what each request cost the processor, by part. */
export async function measuredLoad(gateway: StandaloneGateway, options: LoadOptions): Promise<MeasuredLoad> {
  const before = await cpuSeconds(gateway);
  const result = await load(gateway, options);
  const after = await cpuSeconds(gateway);
  const each = (seconds: number) => Number(((seconds * 1000) / result.requests).toFixed(4));
  return {
    ...result,
    cpuMs: {
      gateway: each(after.gateway - before.gateway),
      database: each(after.database - before.database),
      load: each(result.cpuSeconds),
    },
  };
}

/** Resident memory of the gateway process. */
export async function memoryMiB({ pid }: StandaloneGateway): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
