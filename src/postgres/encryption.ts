// Whether a database is reached safely: over TLS, and with a look at whom it belongs to. On this machine nobody is in between.
import pg from 'pg';
import { isLoopback } from '../values/network.js';
import { serversOf } from './database-url.js';

/** Of the servers that an address names, those that are elsewhere and are spoken to without TLS, or without asking who they are. */
export function unsafeServers(url: string): string[] {
  return serversOf(url)
    .filter((server) => !isSafe(server.url))
    .map(({ name }) => name);
}

/** As the driver understands the address: it may name the host, and how to connect, in more than one place. */
function isSafe(url: string): boolean {
  const { host, ssl } = new pg.Client({ connectionString: url }) as unknown as {
    readonly host: string;
    readonly ssl: boolean | { readonly rejectUnauthorized?: boolean };
  };
  if (host.startsWith('/') || isLoopback(host)) return true;
  // guard(production: no database elsewhere without verified TLS): typeof ssl === 'object' ? ssl.rejectUnauthorized !== false : ssl ⇒ ssl !== undefined
  return typeof ssl === 'object' ? ssl.rejectUnauthorized !== false : ssl;
}
