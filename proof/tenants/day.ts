// What the victim of `npm run proof tenants` saw in some seconds of its ordinary day, and whether that is good enough.
import type { Attended } from './client.js';

const LEAST_SERVED = 0.99;
const TIMES_UNDISTURBED = 10;
const ALWAYS_GOOD_MS = 100;

export interface Day {
  /** As a share of all. Of nothing nothing was served. */
  readonly served: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly statuses: readonly Record<string, number>[];
}

/** Of all that it does together; purchases come first. `anyTime`: what could not be sent in time does not count. */
export function dayOf(parts: readonly Attended[], { anyTime }: { anyTime: boolean }): Day {
  const good = parts.reduce((sum, { statuses }) => sum + (statuses['200'] ?? 0) + (statuses['201'] ?? 0), 0);
  // What was not even sent, since every connection was waiting, depends on the time.
  const all = parts.reduce((sum, { requests, unsent }) => sum + requests + (anyTime ? 0 : unsent), 0);
  return {
    served: all === 0 ? 0 : good / all,
    // The slowest of the three would hide that purchases are slow.
    p50Ms: Math.max(...parts.map((part) => part.p50Ms)),
    p99Ms: parts[0]?.p99Ms ?? 0,
    statuses: parts.map(({ statuses }) => statuses),
  };
}

export function isServed({ served }: Day): boolean {
  return served >= LEAST_SERVED;
}

export function isInTime(during: Day, before: Day): boolean {
  return during.p50Ms <= Math.max(TIMES_UNDISTURBED * before.p50Ms, ALWAYS_GOOD_MS);
}

export function told(day: Day): string {
  const { served, p50Ms, p99Ms, statuses } = day;
  if (statuses.every((each) => Object.keys(each).length === 0)) return 'no request was answered';
  const refused = isServed(day) ? '' : ` ${JSON.stringify(statuses)}`;
  return `${(served * 100).toFixed(1)} % p50 ${p50Ms} ms p99 ${p99Ms} ms${refused}`;
}
