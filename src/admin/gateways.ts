// The gateways that run on this database, and what each says of its links with its heartbeats.
import type { LinkReport } from '../acquirers/links.js';
import type { Queryable } from '../postgres/database.js';
import { RUNNING_GATEWAYS } from './gateways.sql.js';

interface RunningGateway {
  readonly process: number;
  /** Null of one that is older than this version. */
  readonly machine: string | null;
  readonly pid: number | null;
  readonly seenAt: Date;
  readonly links: readonly LinkReport[];
}

/** How a running gateway is connected to an acquirer. */
export interface GatewayOfLink extends Omit<RunningGateway, 'links'> {
  readonly signedOn: number;
  readonly connections: number;
  /** For how many organisations it is taken out there, because payments got no answer. */
  readonly failingFor: number;
  /** Whether it goes by the settings as they are now, and not by earlier ones. */
  readonly current: boolean;
}

/** What names a link, and its settings. */
interface LinkVersion {
  readonly name: string;
  readonly version: number;
}

export async function runningGateways(database: Queryable): Promise<RunningGateway[]> {
  return (await database.query<RunningGateway>(RUNNING_GATEWAYS)).rows;
}

/** One that does not know the link has none of its connections. */
export function gatewaysOf(link: LinkVersion, gateways: readonly RunningGateway[]): GatewayOfLink[] {
  return gateways.map(({ process, machine, pid, seenAt, links }) => {
    const report = links.find(({ name }) => name === link.name);
    const { signedOn = 0, connections = 0, failingFor = 0, version } = report ?? {};
    const current = version === link.version;
    return { process, machine, pid, signedOn, connections, failingFor, current, seenAt };
  });
}
