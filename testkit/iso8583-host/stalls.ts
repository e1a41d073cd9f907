// Connections that stall for a while, and which ones a test means.
import type { Connection } from './connection.js';

export interface Stall {
  /** The host does not read, or it reads and its answers stay behind. Nothing is lost, and everything stays in order. */
  readonly of: 'reads' | 'answers';
  /** By their numbers. All but one: the oldest goes on. */
  readonly connections: readonly number[] | 'all' | 'all but one';
  /** For ever, or until the test has it go on, where there is none. */
  readonly ms?: number | undefined;
}

/** The numbers of those that stand still now. */
export function stallSome(
  connections: Iterable<Connection>,
  { of, connections: wanted, ms }: Stall,
): number[] {
  const oldestFirst = [...connections].sort((one, other) => one.number - other.number);
  const meant = oldestFirst.filter(({ number }, place) =>
    typeof wanted === 'string' ? wanted === 'all' || place > 0 : wanted.includes(number),
  );
  for (const connection of meant) stallOne(connection, { of, ms });
  return meant.map(({ number }) => number);
}

export function stallOne(connection: Connection, { of, ms }: Omit<Stall, 'connections'>): void {
  if (of === 'reads') connection.stallReads(ms);
  else connection.stallAnswers(ms);
}
