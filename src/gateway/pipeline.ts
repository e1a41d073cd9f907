// Assembles the pipeline of a gateway: the steps of a transaction, and the background work that looks after it.
import type { Logger } from 'pino';
import type { AcquirerLinks } from '../acquirers/links.js';
import { SimulatedBank } from '../acquirers/simulator/bank.js';
import type { SimulatorLedger } from '../acquirers/simulator/ledger.js';
import { Clearing } from '../directdebit/clearing.js';
import { Banks } from '../directdebit/direct-entry.js';
import { DirectDebitFiles } from '../directdebit/files/files.js';
import { RECORD_DIRECT_DEBITS, RECORD_RESOLUTIONS } from '../directdebit/intake.sql.js';
import { rotation } from '../installation/keys.js';
import type { ChainKey } from '../journal/blocks.js';
import type { SealWatch } from '../journal/seal-watch.js';
import { Routes } from '../organisations/routing/routes.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { LateAnswers } from '../payments/doubt/late-answers.js';
import { Resolver } from '../payments/doubt/resolver.js';
import { Lookup } from '../payments/finding/lookup.js';
import { Asking, LinkChoice, Orders, Rerouting } from '../payments/pipeline/ask-acquirer.js';
import { Capacity } from '../payments/pipeline/capacity.js';
import { type BatchOptions, Claims } from '../payments/pipeline/claim.js';
import { Creation, type Point } from '../payments/pipeline/create.js';
import { LimitCounts } from '../payments/pipeline/limit-counts.js';
import { Finisher, Records } from '../payments/pipeline/record.js';
import { Retries } from '../payments/pipeline/retries.js';
import { RequestRunner } from '../payments/requests/request-runner.js';
import type { TransactionFigures } from '../payments/transaction-figures.js';
import { KeyRenewal } from '../vault/keys/renewal.js';
import { Background } from './background.js';
import type { Databases } from './database/databases.js';
import type { ClockWatch } from './observability/clock-watch.js';
import type { DatabaseWatch } from './observability/database-watch.js';
import { resolverLog } from './observability/resolver-log.js';
import type { ProcessRegistration } from './process-registration.js';
import type { Settings } from './settings/settings.js';
import type { Vault } from './vault.js';

const HOUR_MS = 3_600_000;
/** Beyond the acquirer's own time: afterwards another process takes over an operator's request. */
const FURTHER_LEASE_MS = 5_000;

export interface PipelineParts {
  readonly settings: Settings;
  readonly log: Logger;
  readonly databases: Databases;
  readonly links: AcquirerLinks;
  readonly vault: Vault;
  readonly registration: ProcessRegistration;
  readonly figures: TransactionFigures;
  readonly watch: DatabaseWatch;
  readonly clocks: ClockWatch;
  readonly ledger: SimulatorLedger;
  readonly chainKey: ChainKey;
  readonly seals: SealWatch;
  readonly credentialKey: CredentialKey;
}

/** The steps of a transaction. */
interface Payments {
  readonly claims: Claims;
  readonly records: Records;
  readonly lookup: Lookup;
  readonly orders: Orders;
  readonly capacity: Capacity;
  readonly limits: LimitCounts;
  readonly retries: Retries;
  readonly creation: Creation;
  readonly finisher: Finisher;
}

export interface Pipeline extends Payments {
  /** Not started yet. */
  readonly background: Background;
}

export function assemblePipeline(parts: PipelineParts): Pipeline {
  const payments = assemblePayments(parts, () => background.resolveNow());
  const background = new Background({
    ...parts,
    ...parts.registration,
    resolver: makeResolver(parts, payments.records, payments.orders),
    clearing: makeClearing(parts),
    renewal: makeRenewal(parts),
    requests: makeRunner(parts, payments.creation),
  });
  return { ...payments, background };
}

/** `onDoubt`: called when a transaction is handed to the resolver. */
function assemblePayments(parts: PipelineParts, onDoubt: () => void): Payments {
  const { settings, databases, links, vault, registration } = parts;
  const { registry, leases, referenceOf, clock } = registration;
  const batches = { maxBatch: settings.maxBatch, lanes: settings.maxBatch === 1 ? 8 : 1 };
  const lookup = new Lookup(databases.lookUps, settings.correlationIdHours * HOUR_MS, batches, vault.keys);
  const intake = {
    direct: RECORD_DIRECT_DEBITS,
    resolutions: RECORD_RESOLUTIONS,
  };
  const claims = new Claims(databases.commits, registry, batches);
  const orders = new Orders({ database: databases.others, keys: vault.keys, referenceOf });
  const retries = new Retries({ database: databases.others, keys: vault.keys, openCard: orders.cardOf });
  const records = new Records(
    { database: databases.commits, clock, intake, keys: vault.keys, retries },
    batches,
  );
  const finisher = new Finisher({
    records,
    lookup,
    leases,
    process: registry,
    clock,
    figures: parts.figures,
    onDoubt,
  });
  const capacity = new Capacity({ maxInFlight: settings.maxInFlight, maxDelayMs: settings.maxDelayMs });
  const limits = new LimitCounts(databases.others, vault.keys);
  const creation = new Creation({
    clock,
    leases,
    process: registry,
    tokens: vault.tokens,
    oneTimeCards: vault.oneTimeCards,
    wallets: vault.wallets,
    keys: vault.keys,
    claims,
    finisher,
    lookup,
    links,
    ...makeAsking(parts, { records, orders, capacity }, batches),
    orders,
    capacity,
    limits,
    retries,
    ...(settings.crashAt !== undefined && { passing: crashing(settings.crashAt) }),
  });
  return { claims, records, lookup, orders, capacity, limits, retries, creation, finisher };
}

/** The parts that choose links, and ask them. */
function makeAsking(
  { settings, log, databases, links, registration, figures }: PipelineParts,
  { records, orders, capacity }: Pick<Payments, 'records' | 'orders' | 'capacity'>,
  batches: BatchOptions,
): { readonly choice: LinkChoice; readonly asking: Asking } {
  const { registry, clock } = registration;
  const deadlineMs = settings.acquirerDeadlineMs;
  const { breakers } = links;
  const routes = new Routes(databases.vital);
  const banks = new Banks(databases.lookUps, batches);
  const bankOf = banks.of.bind(banks);
  const choice = new LinkChoice({ links, bankOf, routes, capacity, breakers, deadlineMs });
  const rerouting = new Rerouting(databases.commits, batches);
  const { onResolved } = resolverLog(log, figures);
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
    orders,
    capacity,
    lateAnswers,
    process: registry,
    figures,
    deadlineMs,
  });
  return { choice, asking };
}

function makeResolver(
  { settings, log, databases, links, vault, registration, figures }: PipelineParts,
  records: Records,
  orders: Orders,
): Resolver {
  const { registry, clock } = registration;
  return new Resolver({
    database: databases.background,
    process: registry,
    records,
    links,
    orders,
    keys: vault.keys,
    clock,
    deadlineMs: settings.acquirerDeadlineMs,
    firstPauseMs: settings.resolverFirstPauseMs,
    longestPauseMs: settings.resolverLongestPauseMs,
    ...resolverLog(log, figures),
  });
}

function makeClearing({ databases, ledger, vault, registration }: PipelineParts): Clearing {
  const { clock, referenceOf } = registration;
  return new Clearing({
    database: databases.background,
    files: new DirectDebitFiles(databases.background, vault.keys),
    bank: new SimulatedBank(ledger),
    keys: vault.keys,
    clock,
    referenceOf,
  });
}

/** An operator's request takes the same path as a client's, from arrival to answer. */
function makeRunner(
  { settings, watch, databases, registration, credentialKey, seals }: PipelineParts,
  creation: Creation,
): RequestRunner {
  const { searchFence } = registration;
  return new RequestRunner({
    database: databases.others,
    key: credentialKey,
    leaseMs: settings.acquirerDeadlineMs + FURTHER_LEASE_MS,
    pipeline: {
      create: async (wish) => {
        const { correlationId, caller, merchant } = wish;
        const inFlight = searchFence.arrive(correlationId);
        Object.assign(inFlight, {
          organisationId: caller.organisationId,
          merchantId: merchant.id,
          begun: true,
        });
        try {
          return await creation.create({ ...wish, inFlight });
        } finally {
          searchFence.leave(inFlight);
        }
      },
    },
    onAltered: ({ id }) => seals.report(`request/${id}`, 'changed'),
    onError: (error) => watch.jobFailed('operator request', error),
  });
}

/** Three quarters of the time are for others. */
const RENEWAL_REST = 3;

function makeRenewal({ settings, log, databases, vault }: PipelineParts): KeyRenewal {
  const { provider, brokenSeals } = vault;
  return new KeyRenewal({
    database: databases.background,
    rotation: rotation(databases.background, 'gateway:keys', provider, brokenSeals.report, {
      rest: RENEWAL_REST,
      keysDatabase: databases.others,
    }),
    limits: settings.dataKeyLimits,
    onRenewed: (merchant, { because, rows, broken }) =>
      log.info({ merchant, because, rows, broken }, 'data key renewed'),
  });
}

function crashing({ point, time }: NonNullable<Settings['crashAt']>): (passed: Point) => void {
  let left = time;
  return (passed) => {
    if (passed === point && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
