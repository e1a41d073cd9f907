// Starting while the database is lost: retries until the database is back, and logs the reason.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isAway, reasonOf } from './connection.js';

/** The pause before a retry. */
const PAUSE_MS = 500;
const TELL_EVERY_MS = 10_000;

export interface DatabaseWait {
  readonly log: Logger;
  /** Ends the wait. */
  readonly stop: Promise<unknown>;
  /** Called whenever the database is found to be lost. */
  onAway(): Promise<void>;
}

/** Opens things that need the database, and retries while the database is lost. Other errors are thrown. */
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
