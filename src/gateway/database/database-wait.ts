// A start whose database is away: it is tried again until the database is there, and the log says what is waited for.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isAway, reasonOf } from './connection.js';

/** As soon as that it is tried again. */
const PAUSE_MS = 500;
const TELL_EVERY_MS = 10_000;

export interface DatabaseWait {
  readonly log: Logger;
  /** Ends the wait. */
  readonly stop: Promise<unknown>;
  /** Called whenever it is found to be away. */
  onAway(): Promise<void>;
}

/** Opens what needs the database: again and again while that is away. Whatever else is wrong is thrown. */
export async function whenDatabaseIsThere(
  open: () => Promise<void>,
  { log, stop, onAway }: DatabaseWait,
): Promise<void> {
  const sinceMs = performance.now();
  let toldMs = Number.NEGATIVE_INFINITY;
  let stopped = false;
  void stop.then(() => {
    stopped = true;
  });
  while (!stopped) {
    try {
      await open();
      return;
    } catch (error) {
      if (!isAway(error)) throw error;
      const nowMs = performance.now();
      if (nowMs - toldMs >= TELL_EVERY_MS) {
        const seconds = Math.round((nowMs - sinceMs) / 1_000);
        log.warn({ cause: reasonOf(error), seconds }, 'waiting for the database');
        toldMs = nowMs;
      }
    }
    await onAway();
    await Promise.race([sleep(PAUSE_MS), stop]);
  }
}
