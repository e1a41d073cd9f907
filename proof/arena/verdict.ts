// What a proof says at the end: every broken promise, and one line of figures.
import { say } from '../../testkit/report.js';

const SHOWN = 20;

/** Cases in which a promise was broken, in words, by the promise. */
export type Broken = Record<string, readonly string[]>;

/** Prints what was broken, then the figures with their sum, and returns the exit code. */
export function verdict(broken: Broken, figures: string): 0 | 1 {
  let total = 0;
  for (const [promise, cases] of Object.entries(broken)) {
    if (cases.length === 0) continue;
    total += cases.length;
    say(`BROKEN: ${promise} (${cases.length} times)`);
    for (const one of cases.slice(0, SHOWN)) say(`  ${one}`);
  }
  say(`${figures}; ${total} promises broken`);
  return total === 0 ? 0 : 1;
}
