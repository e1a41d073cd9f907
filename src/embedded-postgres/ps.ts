// What `ps` tells of processes, where the system has no /proc.
import { execFile } from 'node:child_process';

/**
 * Whoever asks, the answer is the same: dates are not in the language and the time zone of the one who asks, and letters beyond ASCII in
 * a path are written as they are, also for a service that has no language. macOS has this one always.
 */
const STEADY = { LC_ALL: 'en_US.UTF-8', TZ: 'UTC' };

/** Nothing where there is no such process, or no `ps`. */
export function ps(args: readonly string[]): Promise<string> {
  return new Promise((resolve) =>
    execFile('ps', [...args], { env: { ...process.env, ...STEADY } }, (error, output) =>
      resolve(error ? '' : output.trim()),
    ),
  );
}
