// Asks `ps` about processes on systems without /proc.
import { execFile } from 'node:child_process';

/**
 * Makes the output the same for every caller: dates in one language and time zone, and non-ASCII letters in paths unchanged, even for a
 * service without a locale. macOS always has this locale.
 */
const STEADY = { LC_ALL: 'en_US.UTF-8', TZ: 'UTC' };

/** Empty if there is no such process, or no `ps`. */
export function ps(args: readonly string[]): Promise<string> {
  return new Promise((resolve) =>
    execFile('ps', [...args], { env: { ...process.env, ...STEADY } }, (error, output) =>
      resolve(error ? '' : output.trim()),
    ),
  );
}
