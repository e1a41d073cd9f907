// Positions: where an event stands in the feed. They only grow; the day that is part of each says in which slot of the ring it lies.

/** A position is a day times this, plus a count. */
const DAY = 10_000_000_000;
const SLOTS = 64;

/** The slots in which everything after one position and up to another lies. */
export function slotsBetween(after: number, upTo: number): number[] {
  const last = Math.floor(upTo / DAY);
  const first = Math.max(Math.floor(after / DAY), last - SLOTS + 1);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, at) => (first + at) % SLOTS);
}

export function onSameDay(one: number, other: number): boolean {
  return Math.floor(one / DAY) === Math.floor(other / DAY);
}

/** Where the day of a position begins. */
export function beginningOfDay(position: number): number {
  return Math.floor(position / DAY) * DAY;
}
