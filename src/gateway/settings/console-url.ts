// Where operators find the console, and payers their pages: the bases of links to them.
import { isLoopback } from '../../values/network.js';
import type { Settings } from './settings.js';
import { DEFAULT_CONSOLE_PORT } from './watching-settings.js';

/**
 * Where operators find the console, without a trailing slash. `listening`: where it listens, if known. Passkeys belong to a
 * host name, so loopback gets the name `localhost`.
 */
export function consoleUrlOf({ console: wanted, tls }: Settings, listening?: string): string {
  if (wanted?.publicUrl !== undefined) return wanted.publicUrl;
  const { host, port } = wanted ?? { host: 'localhost', port: DEFAULT_CONSOLE_PORT };
  // Only the gateway itself knows which free port it took.
  const known = port === 0 ? DEFAULT_CONSOLE_PORT : port;
  const own = listening === undefined ? known : new URL(listening).port;
  if (isLoopback(host)) return `http://localhost:${own}`;
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${own}`;
}

/** Where payers find their pages, without a trailing slash, as far as settings tell; undefined where there are none. */
export function checkoutUrlOf({ checkout: wanted, checkoutUrl }: Settings): string | undefined {
  if (checkoutUrl !== undefined || wanted === undefined) return checkoutUrl;
  const { host, port } = wanted;
  return `${isLoopback(host) ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
