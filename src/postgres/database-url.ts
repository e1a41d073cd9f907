// The database URL, which may name several servers: postgres://user:secret@one:5432,two:5432/name.
import pg from 'pg';
import { isLoopback } from '../values/network.js';

export class DatabaseUrlError extends Error {}

export interface ServerAddress {
  /** The URL of this server alone. */
  readonly url: string;
  /** Host and port without the password, for messages. */
  readonly name: string;
}

const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;
const HOST = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]*)(?::(\d*))?$/;

/** Every server in the URL, in its order. */
export function serversOf(url: string): readonly [ServerAddress, ...ServerAddress[]] {
  const [, before, hosts = '', after] = PARTS.exec(url) ?? [];
  if (before === undefined) throw new DatabaseUrlError('must begin with postgres:// or postgresql://');
  const several = hosts.includes(',');
  const servers = hosts.split(',').map((host) => {
    const [, name, port = ''] = HOST.exec(host) ?? [];
    if (name === undefined || (several && name === '')) {
      throw new DatabaseUrlError(
        `must name its servers as host:port, separated by commas; ${host || 'one of them'} does not`,
      );
    }
    if (port !== '' && (Number(port) < 1 || Number(port) > 65_535)) {
      throw new DatabaseUrlError(`has a port that does not exist: ${port}`);
    }
    return { url: `${before}${host}${after}`, name: host };
  });
  return servers as [ServerAddress, ...ServerAddress[]];
}

/** The remote servers in the URL that are used without TLS, or without verifying their certificate. */
export function unsafeServers(url: string): string[] {
  return serversOf(url)
    .filter((server) => !isSafe(server.url))
    .map(({ name }) => name);
}

/** Asks the driver, because a URL may give the host and the connection options in more than one place. */
function isSafe(url: string): boolean {
  const { host, ssl } = new pg.Client({ connectionString: url }) as unknown as {
    readonly host: string;
    readonly ssl: boolean | { readonly rejectUnauthorized?: boolean };
  };
  if (host.startsWith('/') || isLoopback(host)) return true;
  // guard(production: no database elsewhere without verified TLS): typeof ssl === 'object' ? ssl.rejectUnauthorized !== false : ssl ⇒ ssl !== undefined
  return typeof ssl === 'object' ? ssl.rejectUnauthorized !== false : ssl;
}
