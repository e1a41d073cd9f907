// Where a webhook goes: the address that an operator typed, read once and by one parser, so that the checked address is the one
// called.
import { isIP } from 'node:net';
import type { WebhookUrlProblem } from '../values/refusal.js';
import { isLocalhost, judge, judgeLoopback, type Network } from './addresses.js';

export interface Destination {
  readonly secure: boolean;
  /** A name, or an address without brackets. */
  readonly hostname: string;
  /** Whether `hostname` is an address. */
  readonly literal: boolean;
  readonly port: number;
  /** With the query. */
  readonly path: string;
  /** For the header. */
  readonly host: string;
}

export const URL_MAX_LENGTH = 2_048;

/** An address is judged here, and so is `localhost`; a name is judged by its addresses at each attempt. */
export function readDestination(text: string, networks: readonly Network[]): Destination | WebhookUrlProblem {
  if (text.length > URL_MAX_LENGTH) return 'too_long';
  // The parser would silently drop these.
  if (/[\s\\\p{Cc}]/u.test(text) || !URL.canParse(text)) return 'unreadable';
  const url = new URL(text);
  const secure = url.protocol === 'https:';
  if (!secure && url.protocol !== 'http:') return 'not_https';
  if (url.username !== '' || url.password !== '') return 'with_credentials';
  if (text.includes('#')) return 'with_fragment';
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (hostname === '') return 'unreadable';
  const literal = isIP(hostname) !== 0;
  // guard(webhooks: localhost is refused as soon as it is read): isLocalhost(hostname) ⇒ hostname === ""
  const verdict = literal
    ? judge(hostname, networks)
    : isLocalhost(hostname)
      ? judgeLoopback(networks)
      : undefined;
  // guard(webhooks: an address that is forbidden cannot be added): if (verdict === 'forbidden') return 'address_forbidden'; ⇒
  if (verdict === 'forbidden') return 'address_forbidden';
  if (!secure && (networks.length === 0 || verdict === 'public')) return 'not_https';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  if (port === 0) return 'unreadable';
  return { secure, hostname, literal, port, path: url.pathname + url.search, host: url.host };
}
