// The pipeline of a gateway: what a transaction passes on its way, and what looks after it in the background.
import type { Logger } from 'pino';
import type { AcquirerLinks } from '../acquirers/links.js';
import { SimulatedBank } from '../acquirers/simulator/bank.js';
import type { SimulatorLedger } from '../acquirers/simulator/ledger.js';
import { Clearing } from '../directdebit/clearing.js';
import { DirectDebitFiles } from '../directdebit/files.js';
import {
  RECORD_DIRECT_DEBIT_REFUNDS,
  RECORD_DIRECT_DEBITS,
  RECORD_RESOLUTIONS,
} from '../directdebit/intake.sql.js';
import { Asking } from '../transactions/asking.js';
import { type BatchOptions, Claims } from '../transactions/claim.js';
import { Creation, type Point } from '../transactions/create.js';
import { Finisher } from '../transactions/finish.js';
import { LateAnswers } from '../transactions/late-answers.js';
import { LinkChoice } from '../transactions/link.js';
import { Lookup } from '../transactions/lookup.js';
import { Orders } from '../transactions/orders.js';
import { Records } from '../transactions/record.js';
import { Rerouting } from '../transactions/rerouting.js';
import { Resolver } from '../transactions/resolver.js';
import { Room } from '../transactions/room.js';
import { Routes } from '../transactions/routes.js';
import { Background } from './background.js';
import type { DatabaseWatch } from './database-watch.js';
import type { Databases } from './databases.js';
import type { Membership } from './membership.js';
import { resolverLog } from './resolver-log.js';
import type { Settings } from './settings.js';
import type { Vault } from './vault.js';

const HOUR_MS = 3_600_000;

export interface PipelineParts {
  readonly settings: Settings;
  readonly log: Logger;
  readonly watch: DatabaseWatch;
  readonly databases: Databases;
  readonly ledger: SimulatorLedger;
  readonly links: AcquirerLinks;
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
  const intake = {
    direct: RECORD_DIRECT_DEBITS,
    targeted: RECORD_DIRECT_DEBIT_REFUNDS,
    resolutions: RECORD_RESOLUTIONS,
  };
  const records = new Records({ database: databases.commits, clock, intake }, batches);
  const claims = new Claims(databases.commits, registry, batches);
  const orders = new Orders({ database: databases.others, keys: vault.keys, referenceOf });
  const background = new Background({
    ...parts,
    ...membership,
    resolver: makeResolver(parts, records, orders),
    clearing: makeClearing(parts),
  });
  const finisher = new Finisher({
    records,
    lookup,
    leases,
    process: registry,
    clock,
    onDoubt: () => background.resolveNow(),
  });
  const room = new Room({ maxInFlight: settings.maxInFlight, maxDelayMs: settings.maxDelayMs });
  const creation = new Creation({
    clock,
    leases,
    tokens: vault.tokens,
    keys: vault.keys,
    claims,
    finisher,
    lookup,
    links,
    ...makeAsking(parts, records, room, batches),
    orders,
    room,
    ...(settings.crashAt !== undefined && { passing: crashing(settings.crashAt) }),
  });
  return { lookup, room, creation, finisher, background };
}

/** What chooses links, and asks them. */
function makeAsking(
  { settings, log, databases, links, membership }: PipelineParts,
  records: Records,
  room: Room,
  batches: BatchOptions,
): { readonly choice: LinkChoice; readonly asking: Asking } {
  const { registry, clock } = membership;
  const deadlineMs = settings.acquirerDeadlineMs;
  const { breakers } = links;
  const routes = new Routes(databases.vital);
  const choice = new LinkChoice({ links, routes, room, breakers, deadlineMs });
  const rerouting = new Rerouting(databases.commits, batches);
  const { onResolved } = resolverLog(log);
  const lateAnswers = new LateAnswers({
    database: databases.background,
    records,
    clock,
    deadlineMs,
    onResolved,
  });
  const asking = new Asking({
    links,
    choice,
    breakers,
    rerouting,
    room,
    lateAnswers,
    process: registry,
    deadlineMs,
  });
  return { choice, asking };
}

function makeResolver(
  { settings, log, databases, links, membership }: PipelineParts,
  records: Records,
  orders: Orders,
): Resolver {
  const { registry, clock } = membership;
  return new Resolver({
    database: databases.background,
    process: registry,
    records,
    links,
    orders,
    clock,
    deadlineMs: settings.acquirerDeadlineMs,
    firstPauseMs: settings.resolverFirstPauseMs,
    longestPauseMs: settings.resolverLongestPauseMs,
    presumedDeadMs: settings.processTimeoutMs,
    ...resolverLog(log),
  });
}

function makeClearing({ databases, ledger, vault, membership }: PipelineParts): Clearing {
  const { clock, referenceOf } = membership;
  return new Clearing({
    database: databases.background,
    files: new DirectDebitFiles(databases.background, vault.keys),
    bank: new SimulatedBank(ledger),
    clock,
    referenceOf,
  });
}

function crashing({ point, time }: NonNullable<Settings['crashAt']>): (passed: Point) => void {
  let left = time;
  return (passed) => {
    if (passed === point && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
