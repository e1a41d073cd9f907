// Where a request was made: by the console's own page, over a connection that a session may travel on, or elsewhere.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { hostIn } from '../http/operators-listener.js';
import { isLoopback } from '../values/network.js';
import type { ConsoleParts } from './parts.js';
import { ConsoleProblem } from './problems.js';

/** The origin under which the browser has the page: where it is said to be, or where it was called. */
export function originOf(
  { socket, headers }: IncomingMessage,
  { publicUrl, onLoopback }: Pick<ConsoleParts, 'publicUrl' | 'onLoopback'>,
): string {
  const called = `${socket instanceof TLSSocket ? 'https' : 'http'}://${headers.host ?? ''}`;
  const direct = isLoopback(hostIn(headers.host));
  if (publicUrl !== undefined && !(onLoopback && direct)) return new URL(publicUrl).origin;
  return called.toLowerCase();
}

/** What a session is sent over can be read by nobody on its way. */
export function isSafe(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname } = new URL(origin);
  return protocol === 'https:' || isLoopback(hostname);
}

/**
 * Throws unless the console's own page has sent this. Browsers say so themselves: with whatever changes something by Origin, which has
 * to be there, with the rest by Sec-Fetch-Site, which not all of them send.
 */
export function checkOrigin({ method, headers }: IncomingMessage, origin: string): void {
  const site = headers['sec-fetch-site'];
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none';
  const isOwn = method === 'GET' || method === 'HEAD' || headers.origin === origin;
  if (isForeign || !isOwn) throw new ConsoleProblem('origin_not_allowed');
}
