// What `node build/bench/bench.js --out FILE` writes, and `bench/plot` draws.
import type { MeasuredLoad } from './measured.js';

/** Purchases, and what they are held against. */
export type Ceiling = 'purchases' | 'statements' | 'fastify' | 'ungrouped';

export interface PerSecond {
  readonly perSecond: number;
}

export interface MeasuredOperation extends MeasuredLoad {
  readonly operation: string;
  readonly connections: number;
  /** In MiB. */
  readonly memory: number;
}

export interface BenchResults {
  readonly operations: MeasuredOperation[];
  /** Medians per second. */
  ceilings: (Record<Ceiling, number> & { readonly p99Ms: number }) | undefined;
}
