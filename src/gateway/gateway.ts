// Puts a gateway together: database, acquirers, pipeline, background loops, HTTP server; and takes it apart again.
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { type Acquirer, withinDeadline } from '../acquirers/contract.js';
import { DirectDebit } from '../acquirers/direct-debit.js';
import { SimulatedBank } from '../acquirers/simulator/bank.js';
import { SimulatorLedger } from '../acquirers/simulator/ledger.js';
import { Simulator } from '../acquirers/simulator/simulator.js';
import { BASE_PATH } from '../api/hal.js';
import { Clearing } from '../directdebit/clearing.js';
import { DirectDebitFiles } from '../directdebit/files.js';
import { FailedLogIns } from '../http/failed-log-ins.js';
import { RateLimit } from '../http/rate-limit.js';
import { buildServer } from '../http/server.js';
import { Callers } from '../merchants/callers.js';
import { Database } from '../postgres/database.js';
import { FairConnections } from '../postgres/fair-connections.js';
import { schemaIsCurrent } from '../postgres/migrations.js';
import { referenceDocuments } from '../reference/documents.js';
import { acquirerReferences } from '../transactions/acquirer-reference.js';
import { AuditLeases } from '../transactions/audit-leases.js';
import { Claims } from '../transactions/claim.js';
import { Clock } from '../transactions/clock.js';
import { Creation, type Point } from '../transactions/create.js';
import { Finisher } from '../transactions/finish.js';
import { Lookup } from '../transactions/lookup.js';
import { ProcessRegistry } from '../transactions/process-registry.js';
import { Records } from '../transactions/record.js';
import { Resolver } from '../transactions/resolver.js';
import { Room } from '../transactions/room.js';
import { SearchFence } from '../transactions/search-fence.js';
import { Sweep } from '../transactions/sweep.js';
import { settlementDay } from '../values/settlement.js';
import { Customers } from '../vault/customers.js';
import { DataKeys } from '../vault/keys.js';
import { Tokens } from '../vault/tokens.js';
import { APPLICATION_ROLE } from './connection.sql.js';
import { DatabaseWatch } from './database-watch.js';
import { openKeyProvider } from './key-encryption.js';
import { Loop } from './loop.js';
import { type Settings, SettingsError } from './settings.js';

export interface Gateway {
  /** For example `http://127.0.0.1:8080/v1`. */
  readonly baseUrl: string;
  /** Refuses what is new, finishes what was begun, and lets go of everything. */
  close(): Promise<void>;
}

const HEARTBEAT_EVERY_MS = 1_000;
const CLEARING_EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 1_000;
/** Connections that come in a burst wait here; with less room some would be answered only after seconds. */
const BACKLOG = 4_096;
/** Operations of the vault, and searches in it, by organisation. */
const VAULT = { connections: 4, perOrganisation: 3, maxWaiting: 500, maxWaitMs: 10_000 };
const SEARCHES = { connections: 3, perOrganisation: 2, maxWaiting: 100, maxWaitMs: 5_000 };
const HOUR_MS = 3_600_000;
const READINESS_LIMIT_MS = 2_000;
const DATABASE_AWAY = 'the database cannot be reached';

/** Expects the schema to be current. `acquirers` are further ones beside the simulator. */
export async function startGateway(
  settings: Settings,
  databaseUrl: string,
  log: Logger,
  acquirers: readonly Acquirer[] = [],
): Promise<Gateway> {
  // Pools of their own: a flood of look-ups cannot keep a claim waiting for a connection.
  const watch = new DatabaseWatch(log);
  const pool = { onError: () => watch.suspect(), role: await applicationRole(databaseUrl) };
  const prompt = { answerLimitMs: settings.databaseTimeoutMs, ...pool };
  const database = new Database(databaseUrl, { maxConnections: 4, ...prompt });
  // Log-ins, heartbeats and leases: without these nothing else goes on.
  const vital = new Database(databaseUrl, { maxConnections: 3, ...prompt });
  const forVault = new Database(databaseUrl, { maxConnections: 4, ...prompt });
  const forAdditions = new Database(databaseUrl, { maxConnections: 2, ...prompt });
  const forSearches = new Database(databaseUrl, {
    maxConnections: SEARCHES.connections,
    statementTimeoutMs: settings.searchTimeoutMs,
    answerLimitMs: settings.searchTimeoutMs + settings.databaseTimeoutMs,
    ...pool,
  });
  const commits = new Database(databaseUrl, { maxConnections: 7, planOnce: true, ...prompt });
  const lookUps = new Database(databaseUrl, { maxConnections: 5, planOnce: true, ...prompt });
  // Nobody waits for what happens in the background, and it may take its time.
  const background = new Database(databaseUrl, { maxConnections: 2, ...pool });

  const databases = [database, vital, forVault, forAdditions, forSearches, commits, lookUps, background];
  const closeDatabases = () => Promise.all(databases.map((each) => each.close()));

  const ledger = await SimulatorLedger.open(settings.simulatorLedger).catch((error) => {
    throw new SettingsError(
      `TOLLGATE_SIMULATOR_LEDGER: ${settings.simulatorLedger} cannot be written (${error.code})`,
    );
  });
  const known = new Map(
    [new Simulator(ledger), ...DirectDebit.links, ...acquirers].map((acquirer) => [acquirer.name, acquirer]),
  );

  const provider = await openKeyProvider(settings, database).catch(async (error: unknown) => {
    ledger.close();
    await closeDatabases();
    throw error;
  });
  const keys = new DataKeys(database, provider);
  const vault = new FairConnections(forVault, VAULT);
  const tokens = new Tokens({ leases: vital, vault, additions: forAdditions, lookUps }, keys);
  const customers = new Customers({
    leases: vital,
    vault,
    searches: new FairConnections(forSearches, SEARCHES),
  });
  const clock = new Clock();
  const registry = await ProcessRegistry.register(vital);
  const leases = new AuditLeases(vital, registry);
  const referenceOf = acquirerReferences(registry);
  const first = await registry.heartbeat(leases);
  clock.advancedBy(first.advancedMs);
  const searchFence = new SearchFence(database, registry, first);
  // The calendar is read now, so that the first purchase need not wait for it.
  settlementDay(clock.now());

  const options = { maxBatch: settings.maxBatch, lanes: settings.maxBatch === 1 ? 8 : 1 };
  const lookup = new Lookup(lookUps, settings.correlationIdHours * HOUR_MS, options);
  const records = new Records(commits, options);
  const deadlineMs = settings.acquirerDeadlineMs;
  const resolver = new Resolver(background, registry, referenceOf, records, known, clock, {
    deadlineMs,
    firstPauseMs: settings.resolverFirstPauseMs,
    longestPauseMs: settings.resolverLongestPauseMs,
    presumedDeadMs: settings.processTimeoutMs,
  });
  const onLoopError = (error: unknown) => watch.runFailed(error);
  const resolving = new Loop(() => resolver.run(), settings.resolverIntervalMs, onLoopError).start();
  const sweep = new Sweep(background, deadlineMs, ({ organisationId, audits }) => {
    log.warn({ organisation: organisationId, audits }, 'found in doubt without a lease');
    resolving.wake();
  });
  const sweeping = new Loop(() => sweep.run(), SWEEP_EVERY_MS, onLoopError).start();
  const clearing = new Clearing(
    background,
    new DirectDebitFiles(background, keys),
    new SimulatedBank(ledger),
    clock,
    referenceOf,
  );
  const clearingDebits = new Loop(() => clearing.run(), CLEARING_EVERY_MS, onLoopError).start();
  const heartbeats = new Loop(
    async () => {
      const reply = await registry.heartbeat(leases, searchFence.epochs);
      watch.heartbeatCommitted();
      searchFence.advance(reply);
      // A clock that was moved makes things due.
      if (clock.advancedBy(reply.advancedMs)) clearingDebits.wake();
      await searchFence.forget();
    },
    HEARTBEAT_EVERY_MS,
    (error) => watch.heartbeatFailed(error),
  );
  watch.goBy(() => heartbeats.wake());
  heartbeats.start();

  const finisher = new Finisher(records, lookup, leases, registry, clock, () => resolving.wake());
  const claims = new Claims(commits, registry, options);
  const room = new Room({ maxInFlight: settings.maxInFlight, maxDelayMs: settings.maxDelayMs });
  const creation = new Creation(
    clock,
    leases,
    referenceOf,
    tokens,
    keys,
    claims,
    finisher,
    lookup,
    known,
    room,
    {
      deadlineMs,
      ...(settings.crashAt !== undefined && { passing: crashing(settings.crashAt) }),
    },
  );

  let draining = false;
  const server = buildServer({
    documents: referenceDocuments(),
    room,
    maxConnections: settings.maxConnections,
    creation,
    lookup,
    searchFence,
    clock,
    log,
    customers,
    tokens,
    callers: new Callers(vital),
    failedLogIns: new FailedLogIns(settings.failedLogInsPerSecond, log),
    rateLimit: new RateLimit(settings.userRequestsPerSecond),
    draining: () => draining,
    // A database that hangs is not there either, and whoever asks does not want to hang with it.
    notReady: () =>
      withinDeadline<string | undefined>(
        () => notReady(database, registry),
        READINESS_LIMIT_MS,
        DATABASE_AWAY,
      ),
  });

  const release = async () => {
    await Promise.all([resolving, sweeping, heartbeats, clearingDebits].map((loop) => loop.stop()));
    await finisher.close();
    await registry.deregister(leases).catch(onLoopError);
    await closeDatabases();
    ledger.close();
  };

  try {
    await server.listen({ host: settings.host, port: settings.port, backlog: BACKLOG });
  } catch (error) {
    await release();
    throw error;
  }
  const { port } = server.server.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return {
    baseUrl: `http://${host}:${port}${BASE_PATH}`,
    async close() {
      draining = true;
      await server.close();
      await release();
    },
  };
}

/** The role with only the rights that a gateway needs, where the database has it. */
async function applicationRole(databaseUrl: string): Promise<string | undefined> {
  const database = new Database(databaseUrl, { maxConnections: 1 });
  try {
    return (await database.query<{ role: string }>(APPLICATION_ROLE)).rows[0]?.role;
  } finally {
    await database.close();
  }
}

async function notReady(database: Database, registry: ProcessRegistry): Promise<string | undefined> {
  try {
    if (!(await schemaIsCurrent(database))) return 'the schema is not current; run `tollgate migrate`';
  } catch {
    return DATABASE_AWAY;
  }
  return registry.alive ? undefined : 'the database was away and has not heard of this process since';
}

function crashing({ point, time }: NonNullable<Settings['crashAt']>): (passed: Point) => void {
  let left = time;
  return (passed) => {
    if (passed === point && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
