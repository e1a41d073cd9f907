// Which parts of the past the demo's history fills. A closed settlement day with any entries stays as it is; the open day is
// filled up to now, from where it was filled before.
import { previousBusinessDay, settlementCutOff, settlementDay, sydneyTimestamp } from '../values/time.js';

const DAY_MS = 86_400_000;
/** A payment this close to the close of a day could be decided after it. */
export const BEFORE_CLOSE_MS = 20_000;

/** A settlement day, or the part of it to fill. */
export interface Window {
  readonly day: string;
  /** The close of the day before, and its own. */
  readonly opensMs: number;
  readonly closesMs: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Wanted {
  readonly windows: readonly Window[];
  /** The gateway's time. */
  readonly nowMs: number;
}

/** What exists already. */
export interface Filled {
  /** Settlement days with entries. */
  readonly days: readonly string[];
  /** When the newest transaction was created. */
  readonly newestMs: number | undefined;
}

/** Oldest first. */
export function windowsOf(nowMs: number, days: number, { days: filled, newestMs }: Filled): Window[] {
  const windows: Window[] = [];
  const today = settlementDay(nowMs);
  for (let day = today; ; day = previousBusinessDay(day)) {
    const opensMs = settlementCutOff(previousBusinessDay(day));
    const closesMs = settlementCutOff(day);
    const untilMs = Math.min(closesMs, nowMs);
    if (untilMs <= nowMs - days * DAY_MS) return windows.reverse();
    if (day === today)
      windows.push({ day, opensMs, closesMs, fromMs: Math.max(opensMs, (newestMs ?? 0) + 1), untilMs });
    else if (!filled.includes(day)) windows.push({ day, opensMs, closesMs, fromMs: opensMs, untilMs });
  }
}

/** The settlement day at a time within the windows. Asking the calendar each time would take long. */
export function dayAt({ windows }: Wanted, atMs: number): Pick<Window, 'day' | 'closesMs'> {
  const window = windows.find(({ opensMs, closesMs }) => atMs >= opensMs && atMs < closesMs);
  if (window === undefined) throw new Error('nothing happens outside of the days that are filled');
  return window;
}

/** Whether something can happen then: only within the part being filled. */
export function isOpen({ windows }: Wanted, atMs: number): boolean {
  return windows.some(({ fromMs, untilMs }) => atMs >= fromMs && atMs < untilMs - BEFORE_CLOSE_MS);
}

/** Of a week in Sydney; Monday is 0. */
export function hourIn(instantMs: number): { readonly weekday: number; readonly hour: number } {
  const sydney = sydneyTimestamp(instantMs);
  const weekday = (new Date(`${sydney.slice(0, 10)}T00:00:00Z`).getUTCDay() + 6) % 7;
  return { weekday, hour: Number(sydney.slice(11, 13)) };
}
