// Overwrites secrets that requests have left in memory. A string cannot be erased: it stays in V8's young generation until the
// memory is reused, which in an idle gateway may take hours.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** So little at once that no request is delayed: a fraction of a millisecond. */
const SLICE_BYTES = 1 << 20;
/** The size of `[0, 0]`. Small arrays leave no gaps at the ends of heap pages. */
const ARRAY_BYTES = 64;
/** Covers both semi-spaces of the young generation, with a margin for live objects. */
const ENOUGH = 1.25;

/**
 * Before the first request: a heap page of the young generation with mostly live objects would be promoted whole, and dead
 * secrets with it. Not before the program is loaded: V8 rejects code compiled under other flags (bin/program.js).
 */
export function keepSecretsInYoungHeap(): void {
  setFlagsFromString('--no-page-promotion');
}

const kept: unknown[] = new Array(64).fill(undefined);

export async function wipeYoungHeap(): Promise<void> {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  const slices = Math.ceil(((young?.space_size ?? 0) * ENOUGH) / SLICE_BYTES);
  for (let slice = 0; slice < slices; slice += 1) {
    for (let place = 0; place < SLICE_BYTES / ARRAY_BYTES; place += 1) kept[place & 63] = [place, slice];
    await nextTurn();
  }
}
