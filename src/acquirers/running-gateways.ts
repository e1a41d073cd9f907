// The gateways that run on this database, and the state of their links as their heartbeats report it.
import type { Queryable } from '../postgres/database.js';
import type { LinkReport } from './links.js';
import { RUNNING_GATEWAYS } from './running-gateways.sql.js';

interface RunningGateway {
  readonly process: number;
  /** Null if the gateway is older than this version. */
  readonly machine: string | null;
  readonly pid: number | null;
  readonly seenAt: Date;
  readonly links: readonly LinkReport[];
}

/** The connection of a running gateway to an acquirer. */
export interface GatewayOfLink extends Omit<RunningGateway, 'links'> {
  readonly signedOn: number;
  readonly connections: number;
  /** For how many organisations the link is out of use there, because payments got no answer. */
  readonly failingFor: number;
  readonly failingSince: Date | null;
  /** While no connection is signed on: since when, and why the last attempt failed. */
  readonly downSince: Date | null;
  readonly downReason: string | null;
  /** Whether the gateway uses the current settings of the link. */
  readonly current: boolean;
}

export async function runningGateways(database: Queryable): Promise<RunningGateway[]> {
  return (await database.query<RunningGateway>(RUNNING_GATEWAYS)).rows;
}

/** A gateway that does not know the link has no connections to it. */
export function gatewaysOf(
  link: string,
  currentVersion: number,
  gateways: readonly RunningGateway[],
): GatewayOfLink[] {
  return gateways.map(({ process, machine, pid, seenAt, links }) => {
    const report = links.find(({ name }) => name === link);
    const { signedOn = 0, connections = 0, failingFor = 0, failingSince, down, version } = report ?? {};
    return {
      ...{ process, machine, pid, signedOn, connections, failingFor },
      failingSince: instantOf(failingSince),
      downSince: instantOf(down?.since),
      downReason: down?.reason ?? (report === undefined ? UNMADE : null),
      current: version === currentVersion,
      seenAt,
    };
  });
}

const UNMADE = 'the gateway could not create it; its log says why';

/** The condition of a link over all gateways. */
export interface LinkCondition {
  /** `down`: no connection is signed on. `not_answering`: payments get no answer. */
  readonly condition: 'up' | 'partly_down' | 'not_answering' | 'connecting' | 'down' | 'no_gateway';
  readonly since: Date | null;
  readonly reason: string | null;
}

export function conditionOf(gateways: readonly GatewayOfLink[]): LinkCondition {
  if (gateways.length === 0) return { condition: 'no_gateway', since: null, reason: null };
  const away = gateways.filter(({ signedOn }) => signedOn === 0);
  const reasons = [...new Set(away.flatMap(({ downReason }) => downReason ?? []))];
  const down = {
    since: earliest(away.map(({ downSince }) => downSince)),
    reason: reasons.join('; ') || null,
  };
  if (away.length === gateways.length) {
    return { condition: reasons.length === 0 ? 'connecting' : 'down', ...down };
  }
  const organisations = Math.max(...gateways.map(({ failingFor }) => failingFor));
  if (organisations > 0) {
    return {
      condition: 'not_answering',
      since: earliest(gateways.map(({ failingSince }) => failingSince)),
      reason: `payments of ${organisations === 1 ? 'an organisation' : `${organisations} organisations`} get no answer`,
    };
  }
  return away.length > 0
    ? { condition: 'partly_down', ...down }
    : { condition: 'up', since: null, reason: null };
}

function instantOf(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text);
}

function earliest(instants: readonly (Date | null)[]): Date | null {
  const known = instants.filter((instant) => instant !== null);
  return known.length === 0 ? null : new Date(Math.min(...known.map(Number)));
}
