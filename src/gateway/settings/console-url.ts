// Where operators find the console: what links of theirs lead to.
import { isLoopback } from '../../values/network.js';
import type { Settings } from './settings.js';
import { DEFAULT_CONSOLE_PORT } from './watching-settings.js';

/**
 * Where operators find the console, without a slash at its end. `listening`: where it listens, if that is known. Passkeys belong to a
 * name, so that this machine is called by its own.
 */
export function consoleUrlOf({ console: wanted, tls }: Settings, listening?: string): string {
  if (wanted?.publicUrl !== undefined) return wanted.publicUrl;
  const { host, port } = wanted ?? { host: 'localhost', port: DEFAULT_CONSOLE_PORT };
  // Only the gateway itself knows which free one it took.
  const known = port === 0 ? DEFAULT_CONSOLE_PORT : port;
  const own = listening === undefined ? known : new URL(listening).port;
  if (isLoopback(host)) return `http://localhost:${own}`;
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${own}`;
}
