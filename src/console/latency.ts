// How long acquirers take, of late: what the gateways have counted now, without what they had counted some minutes ago.
import type { LatencyFigure } from '../figures/today.js';
import type { Figures } from '../http/observability/metrics.js';

type Buckets = { readonly bounds: readonly number[]; readonly counts: readonly number[] };
type Sample = { readonly atMs: number; readonly byLink: ReadonlyMap<string, Buckets> };

/** As far as somebody has looked: one who looks first sees what was counted since the gateway started. */
const WINDOW_MS = 900_000;
const SAMPLE_EVERY_MS = 15_000;

export class Latency {
  readonly #samples: Sample[] = [];

  constructor(private readonly gather: () => Promise<readonly Figures[]>) {}

  async read(): Promise<LatencyFigure[]> {
    const now: Sample = { atMs: performance.now(), byLink: addedUp(await this.gather()) };
    while ((this.#samples[0]?.atMs ?? Number.POSITIVE_INFINITY) < now.atMs - WINDOW_MS) this.#samples.shift();
    const [oldest] = this.#samples;
    if (now.atMs - (this.#samples.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) >= SAMPLE_EVERY_MS)
      this.#samples.push(now);
    return [...now.byLink]
      .map(([name, buckets]) => figureOf(name, since(buckets, oldest?.byLink.get(name))))
      .sort((one, other) => one.name.localeCompare(other.name));
  }
}

function addedUp(processes: readonly Figures[]): Map<string, Buckets> {
  const byLink = new Map<string, Buckets>();
  for (const { acquirerDuration = [] } of processes)
    for (const [[name = ''], value] of acquirerDuration) {
      if (typeof value === 'number') continue;
      const { bounds, counts } = value;
      const before = byLink.get(name)?.counts ?? [];
      byLink.set(name, { bounds, counts: counts.map((count, place) => count + (before[place] ?? 0)) });
    }
  return byLink;
}

/** A process that ended and came back has counted less than before: then it is taken as it is. */
function since(now: Buckets, before: Buckets | undefined): Buckets {
  const counts = now.counts.map((count, place) => count - (before?.counts[place] ?? 0));
  const fell = counts.some((count) => count < 0);
  const none = counts.every((count) => count === 0);
  return fell || none ? now : { bounds: now.bounds, counts };
}

function figureOf(name: string, buckets: Buckets): LatencyFigure {
  const count = buckets.counts.reduce((sum, one) => sum + one, 0);
  const at = (share: number) => percentileMs(buckets, count, share);
  return { name, count, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
}

/** Within its bucket as if all of it lay evenly. What lies beyond the last bound is said to lie at it. */
function percentileMs({ bounds, counts }: Buckets, count: number, share: number): number | null {
  if (count === 0) return null;
  let below = 0;
  for (const [place, here] of counts.entries()) {
    if (below + here >= share * count && here > 0) {
      const low = bounds[place - 1] ?? 0;
      const high = bounds[place] ?? low;
      return Math.round((low + ((share * count - below) / here) * (high - low)) * 10_000) / 10;
    }
    below += here;
  }
  return null;
}
