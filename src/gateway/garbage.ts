// Overwrites what requests have left behind in memory. A text cannot be erased: it lies as garbage in JavaScript's young memory until
// something else is put in its place, which in an idle gateway may take hours.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** So little at once that no request has to wait for it: a fraction of a millisecond. */
const SLICE_BYTES = 1 << 20;
/** What `[0, 0]` takes. Small ones leave no gaps at the ends of pages. */
const ARRAY_BYTES = 64;
/** Both halves of the young memory are gone through; what is alive stands in between. */
const ENOUGH = 1.25;

/**
 * Before the first request: a page of young memory on which most is alive would be made old as a whole, and what lies dead in between
 * would stay there. Not before the program is loaded: V8 takes nothing that was compiled under other flags (bin/program.js).
 */
export function keepGarbageYoung(): void {
  setFlagsFromString('--no-page-promotion');
}

const kept: unknown[] = new Array(64).fill(undefined);

export async function overwriteGarbage(): Promise<void> {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  const slices = Math.ceil(((young?.space_size ?? 0) * ENOUGH) / SLICE_BYTES);
  for (let slice = 0; slice < slices; slice += 1) {
    for (let place = 0; place < SLICE_BYTES / ARRAY_BYTES; place += 1) kept[place & 63] = [place, slice];
    await nextTurn();
  }
}
