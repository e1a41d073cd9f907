// How a process stops: on a signal, and within a bounded time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gateway } from './gateway.js';
import type { Settings } from './settings/settings.js';

/** Two signals within this time are one Ctrl-C: npm forwards what the terminal has already sent to the gateway. */
const SAME_SIGNAL_MS = 1_000;
/** A request in flight may wait for an acquirer until its deadline; the rest of a stop takes no longer than this. */
const AFTER_THE_DEADLINE_MS = 5_000;

/** SIGTERM or SIGINT, whichever comes first. A second one ends the process at once. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      firstMs ??= performance.now();
      resolve(signal);
      if (performance.now() - firstMs > SAME_SIGNAL_MS) process.exit(1);
    };
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  });
}

/** A supervisor must wait longer than this before it kills the process. */
export function longestStopMs({ acquirerDeadlineMs }: Pick<Settings, 'acquirerDeadlineMs'>): number {
  return acquirerDeadlineMs + AFTER_THE_DEADLINE_MS;
}

/** Closes the gateway within a bounded time. Returns whether that was enough. */
export async function closeInTime(
  gateway: Gateway,
  settings: Pick<Settings, 'acquirerDeadlineMs'>,
): Promise<boolean> {
  const late = sleep(longestStopMs(settings), false, { ref: false });
  return Promise.race([gateway.close().then(() => true), late]);
}
