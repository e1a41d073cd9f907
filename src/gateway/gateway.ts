// Puts a gateway together: databases, acquirers, vault, pipeline, background loops, HTTP server; and takes it apart again.
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { AcquirerLink } from '../acquirers/contract.js';
import { withinDeadline } from '../acquirers/deadline.js';
import type { AcquirerLinks } from '../acquirers/links.js';
import { SimulatorLedger } from '../acquirers/simulator/ledger.js';
import { BASE_PATH } from '../api/hal.js';
import { FailedAnswers } from '../http/failed-answers.js';
import { FailedLogIns } from '../http/failed-log-ins.js';
import { RateLimit } from '../http/rate-limit.js';
import { buildServer } from '../http/server.js';
import { Callers } from '../merchants/callers.js';
import type { Database } from '../postgres/database.js';
import { schemaIsCurrent } from '../postgres/migrations.js';
import { referenceDocuments } from '../reference/documents.js';
import { SettlementReports } from '../settlement/report.js';
import { History } from '../transactions/history.js';
import type { ProcessRegistry } from '../transactions/process-registry.js';
import { settlementDay } from '../values/settlement.js';
import { ClosingStack } from './closing-stack.js';
import { DatabaseWatch } from './database-watch.js';
import { Databases } from './databases.js';
import { type Events, startEvents } from './events.js';
import { openLinks } from './links.js';
import { type Membership, register } from './membership.js';
import { assemblePipeline, type Pipeline } from './pipeline.js';
import { type Settings, SettingsError } from './settings.js';
import { openVault, type Vault } from './vault.js';
import { startWebhooks } from './webhooks.js';

export interface Gateway {
  /** For example `http://127.0.0.1:8080/v1`. */
  readonly baseUrl: string;
  /** Refuses what is new, finishes what was begun, and lets go of everything. */
  close(): Promise<void>;
}

/** Connections that come in a burst wait here; with less room some would be answered only after seconds. */
const BACKLOG = 4_096;
const READINESS_LIMIT_MS = 2_000;
const DATABASE_AWAY = 'the database cannot be reached';

export interface GatewayStart {
  readonly settings: Settings;
  /** Of a database whose schema is current. */
  readonly databaseUrl: string;
  readonly log: Logger;
  /** Those of a test, beside the registry's or in their place. */
  readonly furtherLinks?: readonly AcquirerLink[];
}

export function startGateway({
  settings,
  databaseUrl,
  log,
  furtherLinks = [],
}: GatewayStart): Promise<Gateway> {
  const stack = new ClosingStack();
  return stack.open(async () => {
    const watch = new DatabaseWatch(log);
    const databases = stack.opened(
      await Databases.open(databaseUrl, settings, () => watch.suspect()),
      (pools) => pools.close(),
    );
    const ledger = stack.opened(await openLedger(settings), (file) => file.close());
    const vault = await openVault(settings, databases);
    const links = await openLinks({ settings, ledger, databases, vault, watch, log, furtherLinks }, stack);
    const membership = await register({ databases, links, watch, backlog: BACKLOG }, stack);
    const parts = { settings, log, watch, databases, ledger, links, vault, membership };
    const pipeline = assemblePipeline(parts);
    stack.opened(pipeline.finisher, (finisher) => finisher.close());
    // The calendar is read now, so that the first purchase need not wait for it.
    settlementDay(membership.clock.now());
    pipeline.background.start();
    stack.opened(pipeline.background, (background) => background.stop());
    const events = startEvents(parts, stack);
    startWebhooks({ ...parts, room: pipeline.room, watcher: events.watcher }, stack);
    const baseUrl = await openServer({ ...parts, pipeline, events }, stack);
    return { baseUrl, close: () => stack.close() };
  });
}

async function openLedger({ simulatorLedger }: Settings): Promise<SimulatorLedger> {
  return SimulatorLedger.open(simulatorLedger).catch((error) => {
    throw new SettingsError(
      `TOLLGATE_SIMULATOR_LEDGER: ${simulatorLedger} cannot be written (${error.code})`,
    );
  });
}

interface ServerParts {
  readonly settings: Settings;
  readonly log: Logger;
  readonly databases: Databases;
  readonly links: AcquirerLinks;
  readonly vault: Vault;
  readonly membership: Membership;
  readonly pipeline: Pipeline;
  readonly events: Events;
}

/** Listens, and returns the address under which clients call it. */
async function openServer(parts: ServerParts, stack: ClosingStack): Promise<string> {
  const { settings, log, databases, links, vault, membership, pipeline, events } = parts;
  const documents = await referenceDocuments();
  let draining = false;
  const server = buildServer({
    documents,
    room: pipeline.room,
    maxConnections: settings.maxConnections,
    creation: pipeline.creation,
    lookup: pipeline.lookup,
    history: new History(databases.searches),
    settlements: new SettlementReports(databases.searches),
    searchFence: membership.searchFence,
    clock: membership.clock,
    log,
    customers: vault.customers,
    tokens: vault.tokens,
    eventWatcher: events.watcher,
    eventConnections: events.connections,
    callers: new Callers(databases.vital),
    failedLogIns: new FailedLogIns(settings.failedLogInsPerSecond, log),
    failedAnswers: new FailedAnswers(log),
    rateLimit: new RateLimit(settings.userRequestsPerSecond),
    draining: () => draining,
    links: () => links.reports,
    // A database that hangs is not there either, and whoever asks does not want to hang with it.
    notReady: () =>
      withinDeadline<string | undefined>(
        () => notReady(databases.others, membership.registry),
        READINESS_LIMIT_MS,
        DATABASE_AWAY,
      ),
  });
  stack.opened(server, async () => {
    draining = true;
    events.watcher.endWaiting();
    await server.close();
  });
  await server.listen({ host: settings.host, port: settings.port, backlog: BACKLOG });
  const { port } = server.server.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return `http://${host}:${port}${BASE_PATH}`;
}

async function notReady(database: Database, registry: ProcessRegistry): Promise<string | undefined> {
  try {
    if (!(await schemaIsCurrent(database))) return 'the schema is not current; run `tollgate migrate`';
  } catch {
    return DATABASE_AWAY;
  }
  return registry.alive ? undefined : 'no heartbeat of this process was committed lately';
}
