// Assembles a gateway: databases, acquirers, vault, pipeline, background loops, HTTP server; and closes it again.
import type { Logger } from 'pino';
import { type AcquirerLink, withinDeadline } from '../acquirers/contract.js';
import { RESPONSE_MESSAGES } from '../acquirers/iso8583/dialects/response-messages.js';
import type { AcquirerLinks } from '../acquirers/links.js';
import { SimulatorLedger } from '../acquirers/simulator/ledger.js';
import { BASE_PATH } from '../api/operations/hal.js';
import type { Checkouts } from '../checkout/checkouts.js';
import type { Payers } from '../checkout/payers.js';
import { FailedAnswers, NO_SPANS, RequestFigures, RequestLog, type Spans } from '../http/answers.js';
import { ClientAddresses, FailedLogIns, RateLimit } from '../http/authentication.js';
import { LogInJournal } from '../http/log-in-journal.js';
import type { Figures } from '../http/observability/metrics.js';
import { buildServer, type HttpServer } from '../http/server.js';
import type { Certificate } from '../http/tls.js';
import { HostNames } from '../organisations/host-names.js';
import type { Callers } from '../organisations/users/callers.js';
import { History } from '../payments/finding/history.js';
import type { ProcessRegistry } from '../payments/processes/process-registry.js';
import { TransactionFigures } from '../payments/transaction-figures.js';
import type { Database } from '../postgres/database.js';
import { schemaIsCurrent } from '../postgres/schema.js';
import { referenceDocuments } from '../reference/documents.js';
import type { Schedules } from '../schedules/schedules.js';
import { SettlementReports } from '../settlement/report.js';
import { Networks } from '../values/network.js';
import { settlementDay } from '../values/time.js';
import { openCallers, openCredentialKey, openJournal, watchSeals } from './callers.js';
import { listenToPayers, openCheckouts } from './checkout.js';
import { ClosingStack } from './closing-stack.js';
import { DATABASE_AWAY } from './database/connection.js';
import { Databases } from './database/databases.js';
import { type Events, startEvents } from './events.js';
import { Loop } from './loop.js';
import { CLOCKS_APART, ClockWatch } from './observability/clock-watch.js';
import { DatabaseWatch } from './observability/database-watch.js';
import { DiskWatch } from './observability/disk-watch.js';
import { EventLoop } from './observability/event-loop.js';
import { gatherFigures } from './observability/figures.js';
import { SpanExport } from './observability/span-export.js';
import { StoredFigures } from './observability/stored-figures.js';
import { assemblePipeline, type Pipeline } from './pipeline.js';
import { type ProcessRegistration, register } from './process-registration.js';
import { openSchedules } from './schedules.js';
import { type Settings, SettingsError } from './settings/settings.js';
import { startLinks } from './start-links.js';
import { openVault, type Vault } from './vault.js';
import { startWebhooks } from './webhooks.js';

/** A gateway that is one process. */
export interface OneGateway extends Gateway {
  /** `stored`: includes the metrics from the database, which are the same for every process on it. */
  ownFigures(wish: { readonly stored: boolean }): Promise<Figures>;
}

export interface Gateway {
  /** For example `http://127.0.0.1:8080/v1`, with TLS `https://…`. */
  readonly baseUrl: string;
  /** Where payers find their pages, without a trailing slash; undefined where there are none. */
  readonly checkoutUrl: string | undefined;
  /** New connections get this certificate. Existing connections continue. */
  useCertificate(certificate: Certificate): void;
  /** The certificate that clients get; undefined without TLS. */
  certificate(): Certificate | undefined;
  /** Its metrics; of several processes, those of each. */
  figures(): Promise<readonly Figures[]>;
  /** Refuses new requests, finishes those in flight, and releases everything. */
  close(): Promise<void>;
}

/** Connections that arrive in a burst wait here; with a shorter queue some would be answered only after seconds. */
const BACKLOG = 4_096;
const READINESS_LIMIT_MS = 2_000;
const JOURNAL_LOG_INS_EVERY_MS = 60_000;
const STORE_USE_EVERY_MS = 30_000;
const LOOK_AT_DISK_EVERY_MS = 1_000;
const DISK_FULL = 'the disk of the database is full';

export interface GatewayStart {
  readonly settings: Settings;
  /** Of a database whose schema is current. */
  readonly databaseUrl: string;
  /** If the settings ask for TLS. */
  readonly certificate?: Certificate | undefined;
  readonly log: Logger;
  readonly logLinesDropped?: () => number;
  /** A test's links, which add to or replace the registry's. */
  readonly furtherLinks?: readonly AcquirerLink[];
}

export function startGateway({
  settings,
  databaseUrl,
  certificate,
  log,
  logLinesDropped = () => 0,
  furtherLinks = [],
}: GatewayStart): Promise<OneGateway> {
  const stack = new ClosingStack();
  return stack.open(async () => {
    const watch = new DatabaseWatch(log);
    const disk = new DiskWatch(log);
    const clocks = new ClockWatch(log);
    const databases = stack.opened(
      await Databases.open(databaseUrl, settings, {
        onError: () => watch.suspect(),
        onDiskFull: () => disk.refused(),
      }),
      (pools) => pools.close(),
    );
    const ledger = stack.opened(await openLedger(settings), (file) => file.close());
    const vault = await openVault(settings, databases, log);
    stack.opened(vault.brokenSeals, (seals) => seals.written());
    // Counts the last seals, if the database is there.
    stack.opened(vault.keys, (keys) => keys.recordSeals().catch(() => {}));
    const seals = watchSeals(databases.background, log);
    const chainKey = await openJournal(databases, vault, seals);
    const credentialKey = await openCredentialKey(databases, vault);
    let resolveNow = () => {};
    const onApprovedAfterReversal = () => resolveNow();
    const links = await startLinks(
      { settings, ledger, databases, vault, watch, log, furtherLinks, onApprovedAfterReversal },
      stack,
    );
    const registration = await register(
      { processTimeoutMs: settings.processTimeoutMs, databases, links, watch, backlog: BACKLOG },
      stack,
    );
    const figures = new TransactionFigures(new Set(Object.keys(RESPONSE_MESSAGES)));
    const parts = {
      settings,
      log,
      watch,
      clocks,
      databases,
      ledger,
      links,
      vault,
      registration,
      figures,
      chainKey,
      credentialKey,
      seals,
    };
    const pipeline = assemblePipeline(parts);
    resolveNow = () => pipeline.background.resolveNow();
    stack.opened(pipeline.finisher, (finisher) => finisher.close());
    // Loads the calendar now, so that the first purchase need not wait for it.
    settlementDay(registration.clock.now());
    let brokenUsers = 0;
    const callers = openCallers(databases, credentialKey, log, () => {
      brokenUsers += 1;
    });
    pipeline.background.start();
    stack.opened(pipeline.background, (background) => background.stop());
    const events = startEvents(parts, stack);
    const webhooks = startWebhooks({ ...parts, capacity: pipeline.capacity, watcher: events.watcher }, stack);
    const looking = new Loop(
      // guard(full disk: it is looked for while nobody pays): () => disk.look(databases.looks) ⇒ async () => {}
      () => disk.look(databases.looks),
      LOOK_AT_DISK_EVERY_MS,
      (error) => watch.jobFailed('disk', error),
    );
    stack.opened(looking.start(), (loop) => loop.stop());
    const noting = new Loop(
      () => callers.storeUse(databases.others),
      STORE_USE_EVERY_MS,
      (error) => watch.jobFailed('last use of API users', error),
      { pausesFirst: true },
    );
    stack.opened(noting.start(), (loop) => loop.stop());
    const spans = stack.opened(settings.otlp && new SpanExport(settings.otlp, log), (taken) =>
      taken?.close(),
    );
    const logInJournal = new LogInJournal({
      database: databases.background,
      organisationsOf: (usernames) => callers.organisationsOf(usernames),
    });
    const journalling = new Loop(
      () => logInJournal.run(),
      JOURNAL_LOG_INS_EVERY_MS,
      (error) => watch.jobFailed('journal of log-ins', error),
      { pausesFirst: true },
    );
    stack.opened(journalling.start(), async (loop) => {
      await loop.stop();
      await logInJournal.run().catch(() => {});
    });
    const counting = {
      spans,
      requests: new RequestFigures(),
      failedLogIns: new FailedLogIns(settings.failedLogInsPerSecond, log, logInJournal),
      eventLoop: stack.opened(new EventLoop(), (loop) => loop.stop()),
      stored: new StoredFigures(databases.others, links),
      transactions: figures,
      brokenSeals: () => ({ users: brokenUsers, rows: seals.count, journal: seals.forgedEntries }),
      logLinesDropped,
    };
    const requestLog = new RequestLog(log);
    const checkouts = openCheckouts({ ...parts, pipeline }, stack);
    const { schedules, scheduleFigures } = openSchedules({ ...parts, pipeline }, stack);
    const ofPayers = { ...parts, ...checkouts, pipeline, certificate, requestLog, backlog: BACKLOG };
    const payersListener = await listenToPayers({ ...ofPayers, requests: counting.requests }, stack);
    const checkoutUrl = settings.checkoutUrl ?? payersListener?.url;
    const server = await openServer(
      {
        ...parts,
        ...counting,
        ...checkouts,
        schedules,
        disk,
        certificate,
        callers,
        pipeline,
        events,
        requestLog,
        checkoutUrl,
      },
      stack,
    );
    const gathered = {
      ...parts,
      ...counting,
      disk,
      pipeline,
      feed: events.watcher,
      webhooks,
      scheduleFigures,
      server,
      payersListener,
    };
    let used = certificate;
    return {
      baseUrl: server.baseUrl,
      checkoutUrl,
      certificate: () => used,
      useCertificate(renewed) {
        server.useCertificate(renewed.pair);
        payersListener?.useCertificate(renewed.pair);
        used = renewed;
      },
      ownFigures: (wish) => gatherFigures(gathered, wish),
      figures: async () => [await gatherFigures(gathered, { stored: true })],
      close: () => stack.close(),
    };
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
  readonly disk: DiskWatch;
  readonly clocks: ClockWatch;
  readonly links: AcquirerLinks;
  readonly vault: Vault;
  readonly registration: ProcessRegistration;
  readonly pipeline: Pipeline;
  readonly events: Events;
  readonly certificate: Certificate | undefined;
  readonly requests: RequestFigures;
  readonly failedLogIns: FailedLogIns;
  readonly spans: Spans | undefined;
  readonly callers: Callers;
  readonly checkouts: Checkouts;
  readonly payers: Payers;
  readonly schedules: Schedules;
  readonly checkoutUrl: string | undefined;
  readonly requestLog: RequestLog;
}

interface OpenServer extends Pick<HttpServer, 'useCertificate' | 'figures'> {
  /** The address under which clients call it. */
  readonly baseUrl: string;
}

/** Listens. */
async function openServer(parts: ServerParts, stack: ClosingStack): Promise<OpenServer> {
  const { settings, log, databases, disk, links, vault, registration, pipeline, events, certificate } = parts;
  const documents = await referenceDocuments();
  let draining = false;
  const server = buildServer({
    certificate: certificate?.pair,
    documents,
    capacity: pipeline.capacity,
    maxConnections: settings.maxConnections,
    creation: pipeline.creation,
    lookup: pipeline.lookup,
    history: new History(databases.searches),
    settlements: new SettlementReports(databases.searches),
    searchFence: registration.searchFence,
    clock: registration.clock,
    log,
    customers: vault.customers,
    tokens: vault.tokens,
    eventWatcher: events.watcher,
    eventConnections: events.connections,
    callers: parts.callers,
    hostNames: new HostNames(databases.vital),
    clientAddresses: new ClientAddresses(Networks.read(settings.trustedProxies ?? '')),
    failedLogIns: parts.failedLogIns,
    requests: parts.requests,
    spans: parts.spans ?? NO_SPANS,
    requestLog: parts.requestLog,
    checkouts: parts.checkouts,
    payers: parts.payers,
    schedules: parts.schedules,
    checkoutUrl: parts.checkoutUrl,
    failedAnswers: new FailedAnswers(log),
    rateLimit: new RateLimit(settings.userRequestsPerSecond),
    draining: () => draining,
    links: () => links.reports,
    lostTime: () => registration.registry.lost,
    // A hanging database counts as lost, and the caller must not hang with it.
    notReady: () =>
      withinDeadline<string | undefined>(
        () => notReady(databases.commits, registration.registry, disk, parts.clocks),
        READINESS_LIMIT_MS,
        DATABASE_AWAY,
      ),
  });
  stack.opened(server, async () => {
    draining = true;
    events.watcher.endWaiting();
    await server.close();
  });
  const port = await server.listen({ host: settings.host, port: settings.port, backlog: BACKLOG });
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const scheme = certificate === undefined ? 'http' : 'https';
  const { useCertificate, figures } = server;
  return { baseUrl: `${scheme}://${host}:${port}${BASE_PATH}`, useCertificate, figures };
}

/** Asked on a session for claims: if there is none, no payment is accepted. */
async function notReady(
  commits: Database,
  registry: ProcessRegistry,
  disk: DiskWatch,
  clocks: ClockWatch,
): Promise<string | undefined> {
  try {
    if (!(await schemaIsCurrent(commits))) return 'the schema is not current; run `tollgate migrate`';
  } catch {
    return DATABASE_AWAY;
  }
  // guard(full disk: not ready): if (disk.full) return DISK_FULL; ⇒
  if (disk.full) return DISK_FULL;
  // guard(clocks: a gateway whose clock is not the database’s is not ready): if (clocks.apart) return CLOCKS_APART; ⇒
  if (clocks.apart) return CLOCKS_APART;
  return registry.alive ? undefined : 'no heartbeat of this process was committed lately';
}
