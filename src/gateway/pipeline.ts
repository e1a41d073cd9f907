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
import { Claims } from '../transactions/claim.js';
import { Creation, type Point } from '../transactions/create.js';
import { Finisher } from '../transactions/finish.js';
import { LateAnswers } from '../transactions/late-answers.js';
import { Lookup } from '../transactions/lookup.js';
import { Orders } from '../transactions/orders.js';
import { Records } from '../transactions/record.js';
import { Resolver } from '../transactions/resolver.js';
import { Room } from '../transactions/room.js';
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
  const deadlineMs = settings.acquirerDeadlineMs;
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
    lateAnswers: new LateAnswers({
      database: databases.background,
      records,
      clock,
      deadlineMs,
      onResolved: resolverLog(parts.log).onResolved,
    }),
    lookup,
    links,
    orders,
    room,
    deadlineMs,
    ...(settings.crashAt !== undefined && { passing: crashing(settings.crashAt) }),
  });
  return { lookup, room, creation, finisher, background };
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
