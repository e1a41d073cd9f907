// What a load cost the processor and the memory, read from the operating system. Only on Linux.
import { readFile } from 'node:fs/promises';
import type { Page, Pages } from '../../client/src/index.js';
import { cpuSeconds as cpuSecondsOf, cpuSecondsOfDatabase } from '../../testkit/cpu-seconds.js';
import { type LoadOptions, load } from '../../testkit/load.js';
import type { LoadResult } from '../../testkit/load-generator.js';
import type { StandaloneGateway } from '../../testkit/standalone.js';

export interface MeasuredLoad extends LoadResult {
  /** What each request cost, in milliseconds. */
  readonly cpuMs: { readonly gateway: number; readonly database: number; readonly load: number };
}

/** Processor seconds that the gateway and its PostgreSQL have used up to now. */
export async function cpuSeconds({
  pid,
  dataDir,
}: StandaloneGateway): Promise<{ gateway: number; database: number }> {
  const [gateway, database] = await Promise.all([cpuSecondsOf(pid), cpuSecondsOfDatabase(dataDir)]);
  return { gateway, database };
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

export async function firstPage<Item>(list: Pages<Item>): Promise<Page<Item>> {
  for await (const page of list.pages()) return page;
  throw new Error('a list without a page');
}
