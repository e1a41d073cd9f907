// What a purchase costs on this machine, for the simulation: measured with several numbers of connections, since a batch costs something
// whatever its size. Only on Linux.
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { load, PURCHASE } from '../../testkit/load.js';
import { median, say } from '../../testkit/report.js';
import { type Scrape, scrape } from '../../testkit/scrape.js';
import type { StandaloneGateway } from '../../testkit/standalone.js';
import { type MeasuredLoad, measuredLoad, memoryMiB } from '../measuring/measured.js';
import type { Costs } from './model.js';

export interface Point extends MeasuredLoad {
  readonly connections: number;
  /** How many purchases shared a batch. */
  readonly batch: number;
}

export interface Measured {
  readonly points: readonly Point[];
  readonly costs: Costs;
  readonly memoryMiB: number;
  /** Of a purchase that is stored, with everything that belongs to it. */
  readonly storedBytes: number;
  readonly walBytes: number;
}

/** Of the two commits of a purchase. */
const COMMITS = ['claims', 'records'];

export async function measureCosts(
  gateway: StandaloneGateway,
  operatorsUrl: string,
  options: { readonly connections: readonly number[]; readonly seconds: number; readonly rounds: number },
): Promise<Measured> {
  await load(gateway, { ...PURCHASE, connections: 64, seconds: 15 });
  const before = await room(gateway);
  const rounds: Point[] = [];
  let made = 0;
  // In turns: a noisy moment then hits none of them alone.
  for (let round = 0; round < options.rounds; round += 1) {
    for (const connections of options.connections) {
      const earlier = await scrape(operatorsUrl);
      const result = await measuredLoad(gateway, { ...PURCHASE, connections, seconds: options.seconds });
      rounds.push({ ...result, connections, batch: meanBatch(earlier, await scrape(operatorsUrl)) });
      made += result.requests;
    }
  }
  const after = await room(gateway);
  const points = options.connections.map((connections) =>
    middle(rounds.filter((point) => point.connections === connections)),
  );
  for (const { connections, perSecond, batch, cpuMs, p50Ms } of points) {
    say(
      `${connections} connections: ${perSecond}/s, p50 ${p50Ms} ms, batches of ${batch.toFixed(1)}; CPU µs each: gateway ` +
        `${Math.round(cpuMs.gateway * 1000)}, database ${Math.round(cpuMs.database * 1000)}, load ${Math.round(cpuMs.load * 1000)}`,
    );
  }
  const inGateway = fitted(points, ({ cpuMs }) => cpuMs.gateway);
  const inDatabase = fitted(points, ({ cpuMs }) => cpuMs.database);
  return {
    points,
    memoryMiB: await memoryMiB(gateway),
    storedBytes: (after.stored - before.stored) / made,
    walBytes: (after.wal - before.wal) / made,
    costs: {
      gatewayEach: inGateway.each,
      gatewayBatch: inGateway.batch,
      databaseEach: inDatabase.each,
      databaseBatch: inDatabase.batch,
      load: median(points.map(({ cpuMs }) => cpuMs.load * 1000)),
      commit: await commitUs(gateway.dataDir),
    },
  };
}

/** The round in the middle, by its rate. */
function middle(rounds: readonly Point[]): Point {
  return rounds.toSorted((one, other) => one.perSecond - other.perSecond)[rounds.length >> 1] as Point;
}

function meanBatch(before: Scrape, after: Scrape): number {
  const grown = (name: string) =>
    COMMITS.reduce((sum, batch) => {
      const labels = { batch };
      return sum + (after.sum(name, labels) ?? 0) - (before.sum(name, labels) ?? 0);
    }, 0);
  return grown('tollgate_batch_entries_sum') / grown('tollgate_batch_entries_count');
}

/** Least squares of `each + batch / size`, in microseconds; neither is less than nothing. */
export function fitted(
  points: readonly Point[],
  costMs: (point: Point) => number,
): { each: number; batch: number } {
  const pairs = points.map((point) => [1 / point.batch, costMs(point) * 1000] as const);
  const mean = (of: (pair: readonly [number, number]) => number) =>
    pairs.reduce((sum, pair) => sum + of(pair), 0) / pairs.length;
  const [x, y] = [mean(([share]) => share), mean(([, cost]) => cost)];
  const spread = mean(([share]) => (share - x) ** 2);
  const slope = spread === 0 ? 0 : mean(([share, cost]) => (share - x) * (cost - y)) / spread;
  const batch = Math.max(0, slope);
  return { each: Math.max(0, y - batch * x), batch };
}

async function room(gateway: StandaloneGateway): Promise<{ stored: number; wal: number }> {
  const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
  await database.connect();
  try {
    const { rows } = await database.query<{ stored: string; wal: string }>(
      `SELECT pg_database_size(current_database()) AS stored, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal`,
    );
    return { stored: Number(rows[0]?.stored), wal: Number(rows[0]?.wal) };
  } finally {
    await database.end();
  }
}

const WAL_PAGE = Buffer.alloc(8192, 1);

/** How long the disk under the data directory takes to have a page of the write-ahead log for good. */
async function commitUs(directory: string): Promise<number> {
  const path = join(directory, 'disk-test');
  const file = await open(path, 'w');
  const tookUs: number[] = [];
  try {
    for (let turn = 0; turn < 200; turn += 1) {
      const fromMs = performance.now();
      await file.write(WAL_PAGE, 0, WAL_PAGE.length, turn * WAL_PAGE.length);
      await file.datasync();
      tookUs.push((performance.now() - fromMs) * 1000);
    }
  } finally {
    await file.close();
    await rm(path);
  }
  return median(tookUs);
}
