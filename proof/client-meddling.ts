// What happens to the requests of a shop on their way.
import type { Chance } from '../testkit/chance.js';
import { type Fate, PASS, type ProxiedRequest } from '../testkit/meddling-proxy.js';

const STATUSES = [400, 404, 500, 502, 503, 504] as const;

/** So many percent meet some fate. `timeoutMs` is the shop's: some things take longer, and some do not. */
export function meddling(
  random: Chance,
  percent: number,
  timeoutMs: number,
): (request: ProxiedRequest) => Fate {
  const fates: readonly (() => Fate)[] = [
    () => ({ kind: 'lose_request' }),
    () => ({ kind: 'lose_answer' }),
    () => ({ kind: 'lose_answer' }),
    () => ({ kind: 'cut_answer' }),
    () => ({ kind: 'duplicate' }),
    () => ({ kind: 'duplicate' }),
    () => ({ kind: 'delay_answer', ms: random.between(10, 1_000) }),
    () => ({ kind: 'hold_request', ms: random.between(50, timeoutMs * 2) }),
    () => ({ kind: 'answer_otherwise', status: random.pick(STATUSES) }),
    // Rare, since the shop waits for all of its time-out each time.
    () =>
      random.percent(25)
        ? { kind: 'swallow_answer' }
        : { kind: 'delay_answer', ms: random.between(10, timeoutMs) },
  ];
  return () => (random.percent(percent) ? random.pick(fates)() : PASS);
}
