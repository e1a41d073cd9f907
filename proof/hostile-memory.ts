// Whether memory stays flat: the medians of the second half of a run beside those of the first.
import { median } from '../testkit/report.js';
import type { Measures } from './hostile-inside.js';

export interface Growth {
  readonly firstRss: number;
  readonly secondRss: number;
  readonly firstHeap: number;
  readonly secondHeap: number;
}

// What a leak of a kilobyte a request would be in a long run, and more than compiled code still adds.
const allowed = (bytes: number) => Math.max(bytes * 0.1, 12 * 2 ** 20);

/** `planned`: how many stages the run was to have. The first one only warms up. */
export function memoryGrowth(
  stages: readonly Measures[],
  planned: number,
  broken: (detail: string) => void,
): Growth {
  const first = stages.slice(1, planned / 2);
  const second = stages.slice(planned / 2);
  const growth = {
    firstRss: median(first.map(({ rss }) => rss)),
    secondRss: median(second.map(({ rss }) => rss)),
    firstHeap: median(first.map(({ heapUsed }) => heapUsed)),
    secondHeap: median(second.map(({ heapUsed }) => heapUsed)),
  };
  if (growth.secondRss - growth.firstRss > allowed(growth.firstRss)) {
    broken(`RSS ${growth.firstRss} → ${growth.secondRss}`);
  }
  if (growth.secondHeap - growth.firstHeap > allowed(growth.firstHeap)) {
    broken(`heap ${growth.firstHeap} → ${growth.secondHeap}`);
  }
  return growth;
}
