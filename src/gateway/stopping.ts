// How a process is stopped: by a signal, and within a bounded time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gateway } from './gateway.js';
import type { Settings } from './settings/settings.js';

/** Twice within this time is one Ctrl-C: npm passes on what the terminal has sent to the gateway already. */
const SAME_SIGNAL_MS = 1_000;
/** What is begun may wait for an acquirer until its deadline; the rest of a stop takes no longer than this. */
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

/** Whoever ends the process by force has to wait for longer than this. */
export function longestStopMs({ acquirerDeadlineMs }: Pick<Settings, 'acquirerDeadlineMs'>): number {
  return acquirerDeadlineMs + AFTER_THE_DEADLINE_MS;
}

/** Closes the gateway, and does not wait for it for ever. Returns whether it was in time. */
export async function closeInTime(
  gateway: Gateway,
  settings: Pick<Settings, 'acquirerDeadlineMs'>,
): Promise<boolean> {
  const late = sleep(longestStopMs(settings), false, { ref: false });
  return Promise.race([gateway.close().then(() => true), late]);
}
