// STANs leased from the database in blocks for each terminal. No two processes ever send the same STAN, even after a restart, and most
// payments need no query.
import type { Database } from '../../postgres/database.js';
import type { Stans } from './numbers.js';
import { LEASE_STANS } from './stan-leases.sql.js';

interface Supply {
  next: number;
  end: number;
  size: number;
  leasedAtMs: number;
  leasing: Promise<void> | undefined;
}

const SMALLEST_BLOCK = 16;
const LARGEST_BLOCK = 2_048;
/** A block that lasted less than this was too small. */
const BLOCK_SHOULD_LAST_MS = 1_000;
/** A block is not used after this age: the database relies on it. */
const USABLE_MS = 3_600_000;

export class StanLeases implements Stans {
  readonly #supplies = new Map<string, Supply>();

  constructor(
    private readonly database: Database,
    /** Milliseconds of a clock that also runs while the process is suspended. */
    private readonly now: () => number = Date.now,
  ) {}

  take(terminal: string): number | Promise<number> {
    let supply = this.#supplies.get(terminal);
    if (supply === undefined) {
      supply = { next: 0, end: 0, size: SMALLEST_BLOCK / 2, leasedAtMs: 0, leasing: undefined };
      this.#supplies.set(terminal, supply);
    }
    if (this.#isUsable(supply)) return supply.next++;
    return this.#takeLeased(terminal, supply);
  }

  async #takeLeased(terminal: string, supply: Supply): Promise<number> {
    for (;;) {
      if (this.#isUsable(supply)) return supply.next++;
      supply.leasing ??= this.#lease(terminal, supply);
      await supply.leasing;
    }
  }

  /** If the clock went back, the age of a block is unknown, and the block is not used. */
  #isUsable({ next, end, leasedAtMs }: Supply): boolean {
    if (next >= end) return false;
    const ageMs = this.now() - leasedAtMs;
    // guard(ISO 8583: an old lease is not used): 0 && ageMs < USABLE_MS ⇒ Number.NEGATIVE_INFINITY && USABLE_MS > 0
    return ageMs >= 0 && ageMs < USABLE_MS;
  }

  async #lease(terminal: string, supply: Supply): Promise<void> {
    const nowMs = this.now();
    if (nowMs - supply.leasedAtMs < BLOCK_SHOULD_LAST_MS || supply.leasedAtMs === 0)
      supply.size = Math.min(supply.size * 2, LARGEST_BLOCK);
    try {
      const values = [terminal, supply.size];
      const { rows } = await this.database.query<{ first: number; count: number }>(LEASE_STANS, values);
      const [block] = rows;
      if (block === undefined) throw new Error(`terminal ${terminal} has used up its STANs of a day`);
      supply.leasedAtMs = nowMs;
      supply.next = block.first;
      supply.end = block.first + block.count;
    } finally {
      supply.leasing = undefined;
    }
  }
}
