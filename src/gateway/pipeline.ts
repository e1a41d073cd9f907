// The pipeline of a gateway: what a transaction passes on its way, and what looks after it in the background.
import type { Logger } from 'pino';
import type { Acquirer } from '../acquirers/contract.js';
import { SimulatedBank } from '../acquirers/simulator/bank.js';
import type { SimulatorLedger } from '../acquirers/simulator/ledger.js';
import { Clearing } from '../directdebit/clearing.js';
import { DirectDebitFiles } from '../directdebit/files.js';
import { Claims } from '../transactions/claim.js';
import { Creation, type Point } from '../transactions/create.js';
import { Finisher } from '../transactions/finish.js';
import { Lookup } from '../transactions/lookup.js';
import { Records } from '../transactions/record.js';
import { Resolver } from '../transactions/resolver.js';
import { Room } from '../transactions/room.js';
import { Background } from './background.js';
import type { DatabaseWatch } from './database-watch.js';
import type { Databases } from './databases.js';
import type { Membership } from './membership.js';
import type { Settings } from './settings.js';
import type { Vault } from './vault.js';

const HOUR_MS = 3_600_000;

export interface PipelineParts {
  readonly settings: Settings;
  readonly log: Logger;
  readonly watch: DatabaseWatch;
  readonly databases: Databases;
  readonly ledger: SimulatorLedger;
  readonly links: ReadonlyMap<string, Acquirer>;
  readonly vault: Vault;
  readonly membership: Membership;
}

export interface Pipeline {
  readonly lookup: Lookup;
  readonly room: Room;
  readonly creation: Creation;
  readonly finisher: Finisher;
  /** Not started yet. */
  readonly background: Background;
}

export function assemblePipeline(parts: PipelineParts): Pipeline {
  const { settings, databases, links, vault, membership } = parts;
  const { registry, leases, referenceOf, clock } = membership;
  const batches = { maxBatch: settings.maxBatch, lanes: settings.maxBatch === 1 ? 8 : 1 };
  const lookup = new Lookup(databases.lookUps, settings.correlationIdHours * HOUR_MS, batches);
  const records = new Records(databases.commits, batches);
  const claims = new Claims(databases.commits, registry, batches);
  const background = new Background({
    ...parts,
    ...membership,
    resolver: makeResolver(parts, records),
    clearing: makeClearing(parts),
  });
  const finisher = new Finisher(records, lookup, leases, registry, clock, () => background.resolveNow());
  const room = new Room({ maxInFlight: settings.maxInFlight, maxDelayMs: settings.maxDelayMs });
  const creation = new Creation(
    clock,
    leases,
    referenceOf,
    vault.tokens,
    vault.keys,
    claims,
    finisher,
    lookup,
    links,
    room,
    {
      deadlineMs: settings.acquirerDeadlineMs,
      ...(settings.crashAt !== undefined && { passing: crashing(settings.crashAt) }),
    },
  );
  return { lookup, room, creation, finisher, background };
}

function makeResolver({ settings, databases, links, membership }: PipelineParts, records: Records): Resolver {
  const { registry, referenceOf, clock } = membership;
  return new Resolver(databases.background, registry, referenceOf, records, links, clock, {
    deadlineMs: settings.acquirerDeadlineMs,
    firstPauseMs: settings.resolverFirstPauseMs,
    longestPauseMs: settings.resolverLongestPauseMs,
    presumedDeadMs: settings.processTimeoutMs,
  });
}

function makeClearing({ databases, ledger, vault, membership }: PipelineParts): Clearing {
  return new Clearing(
    databases.background,
    new DirectDebitFiles(databases.background, vault.keys),
    new SimulatedBank(ledger),
    membership.clock,
    membership.referenceOf,
  );
}

function crashing({ point, time }: NonNullable<Settings['crashAt']>): (passed: Point) => void {
  let left = time;
  return (passed) => {
    if (passed === point && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
