// Gathers this process's metrics for a scrape from its parts, which each keep their own.
import type { AcquirerLinks } from '../../acquirers/links.js';
import type { FeedFigures } from '../../events/watcher.js';
import type { RequestFigures } from '../../http/answers.js';
import type { FailedLogIns } from '../../http/authentication.js';
import type { ConnectionFigures } from '../../http/connections.js';
import type { Figures, Series } from '../../http/observability/metrics.js';
import type { ServerFigures } from '../../http/server.js';
import type { TransactionFigures } from '../../payments/transaction-figures.js';
import type { Histogram } from '../../values/histogram.js';
import { PROGRAM_VERSION } from '../../values/program.js';
import type { Databases } from '../database/databases.js';
import type { Pipeline } from '../pipeline.js';
import type { ProcessRegistration } from '../process-registration.js';
import type { ScheduleFigures } from '../schedules.js';
import type { Settings } from '../settings/settings.js';
import type { Vault } from '../vault.js';
import type { WebhookFigures } from '../webhooks.js';
import type { ClockWatch } from './clock-watch.js';
import type { DatabaseWatch } from './database-watch.js';
import type { DiskWatch } from './disk-watch.js';
import { type EventLoop, PERCENTILES } from './event-loop.js';
import type { SpanExport } from './span-export.js';
import type { StoredFigures } from './stored-figures.js';

export interface FigureParts {
  readonly settings: Settings;
  readonly databases: Databases;
  readonly watch: DatabaseWatch;
  readonly disk: DiskWatch;
  readonly clocks: ClockWatch;
  readonly links: AcquirerLinks;
  readonly registration: Pick<ProcessRegistration, 'registry'>;
  readonly vault: Vault;
  readonly pipeline: Pipeline;
  readonly feed: { readonly figures: FeedFigures };
  readonly webhooks: WebhookFigures;
  readonly scheduleFigures: ScheduleFigures;
  readonly requests: RequestFigures;
  readonly transactions: TransactionFigures;
  readonly failedLogIns: FailedLogIns;
  readonly server: { figures(): ServerFigures };
  readonly payersListener: { readonly connections: ConnectionFigures } | undefined;
  readonly eventLoop: EventLoop;
  readonly stored: StoredFigures;
  /** If spans are exported. */
  readonly spans: SpanExport | undefined;
  readonly logLinesDropped: () => number;
  readonly brokenSeals: () => { readonly users: number; readonly rows: number; readonly journal: number };
}

/** `stored`: includes the metrics from the database, which are the same for all processes. */
export async function gatherFigures(parts: FigureParts, wish: { stored: boolean }): Promise<Figures> {
  return {
    ...requestFigures(parts),
    ...transactionFigures(parts),
    ...linkFigures(parts),
    ...databaseFigures(parts),
    ...eventFigures(parts),
    ...processFigures(parts),
    ...(wish.stored && (await parts.stored.read())),
  };
}

function requestFigures({
  requests,
  failedLogIns,
  server,
  payersListener,
  brokenSeals,
  vault,
}: FigureParts): Figures {
  const { connections, shed, failedHandshakes } = server.figures();
  return {
    requestDuration: [...requests.byOperation].flatMap(([operation, { byStatus }]) =>
      [...byStatus].map(([status, durations]): Series => [[operation, String(status)], buckets(durations)]),
    ),
    requestsShed: one(shed),
    requestsUnreadable: [...requests.unreadable].map(([status, count]) => [[String(status)], count]),
    ...listenerFigures(connections, payersListener?.connections),
    failedHandshakes: one(failedHandshakes),
    failedLogIns: one(failedLogIns.total),
    failedLogInsHeld: one(failedLogIns.totalHeld),
    brokenSeals: [
      [['user'], brokenSeals().users],
      [['row'], brokenSeals().rows],
      [['vault'], vault.brokenSeals.count],
      [['journal'], brokenSeals().journal],
    ],
  };
}

/** Of the merchants' port, and of payers' pages if there are some. */
function listenerFigures(api: ConnectionFigures, checkout: ConnectionFigures | undefined): Figures {
  const figures = [
    connectionFigures('api', api),
    ...(checkout ? [connectionFigures('checkout', checkout)] : []),
  ];
  const all = (name: 'connections' | 'connectionsMax' | 'connectionsRefused') =>
    figures.flatMap((each) => [...(each[name] ?? [])]);
  return {
    connections: all('connections'),
    connectionsMax: all('connectionsMax'),
    connectionsRefused: all('connectionsRefused'),
  };
}

export function connectionFigures(
  listener: 'api' | 'operators' | 'checkout',
  { open, most, turnedAway }: ConnectionFigures,
): Figures {
  const ofListener = (value: number): readonly Series[] => [[[listener], value]];
  return {
    connections: ofListener(open),
    connectionsMax: ofListener(most),
    connectionsRefused: ofListener(turnedAway),
  };
}

function transactionFigures({
  transactions,
  pipeline: { capacity, limits, retries },
  settings,
}: FigureParts): Figures {
  return {
    transactions: transactions.outcomes.map(
      ({ operation, acquirer, cardType, status, responseCode, count }) => [
        [operation, acquirer, cardType, status, responseCode],
        count,
      ],
    ),
    acquirerDuration: [...transactions.durations].map(([acquirer, durations]) => [
      [acquirer],
      buckets(durations),
    ]),
    resolved: [...transactions.resolutions].map(({ acquirer, found, by, count }) => [
      [acquirer, found, by],
      count,
    ]),
    limitsReached: [
      ...[...limits.reached].map(({ per, mode, count }) => [[per, mode], count] as const),
      ...(retries.refused > 0 ? [[['retry', 'block'], retries.refused] as const] : []),
    ],
    transactionsInFlight: one(capacity.inFlight),
    transactionsInFlightMax: one(settings.maxInFlight),
    transactionsWaiting: one(capacity.waiting),
  };
}

function linkFigures({ links: { reports } }: FigureParts): Figures {
  return {
    linkConnections: reports.map(({ name, connections }) => [[name], connections]),
    linkSignedOn: reports.map(({ name, signedOn }) => [[name], signedOn]),
    linkUnasked: reports.map(({ name, unasked = 0 }) => [[name], unasked]),
    linkBreakersOpen: reports.map(({ name, failingFor = 0 }) => [[name], failingFor]),
  };
}

function databaseFigures({
  databases,
  watch,
  disk,
  clocks,
  pipeline,
  vault,
  registration,
}: FigureParts): Figures {
  const { lost } = registration.registry;
  const pools = databases.figures;
  const batches = {
    ...pipeline.claims.batchSizes,
    ...pipeline.records.batchSizes,
    ...pipeline.lookup.batchSizes,
    ...vault.tokens.batchSizes,
  };
  return {
    databaseUp: one(Number(!watch.lost)),
    databaseDiskFull: one(Number(disk.full)),
    clockDifference: one(clocks.differenceMs / 1_000),
    lostTime: one(lost === undefined ? 0 : (lost.untilMs - lost.fromMs) / 1_000),
    poolSessions: pools.map(({ name, open }) => [[name], open]),
    poolSessionsIdle: pools.map(({ name, idle }) => [[name], idle]),
    poolSessionsMax: pools.map(({ name, most }) => [[name], most]),
    poolWaiting: pools.map(({ name, waiting }) => [[name], waiting]),
    batchEntries: Object.entries(batches).map(([name, sizes]) => [[name], buckets(sizes)]),
    jobsFailed: [...watch.failures].map(([job, count]) => [[job], count]),
  };
}

function eventFigures({ feed, webhooks, scheduleFigures, vault }: FigureParts): Figures {
  const { lagSeconds, roundAgeSeconds, events } = feed.figures;
  return {
    feedLag: one(lagSeconds),
    feedRoundAge: one(roundAgeSeconds),
    feedEvents: one(events),
    scheduleDates: [...scheduleFigures.dates].map(([outcome, count]) => [[outcome], count]),
    scheduleLag: [[[], buckets(scheduleFigures.late)]],
    walletTokensRefused: [...vault.wallets.refused].map(([reason, count]) => [[reason], count]),
    webhookAttempts: [...webhooks.attempts].map(([result, count]) => [[result], count]),
    webhookLag: [[[], buckets(webhooks.lag)]],
    webhookLookAge: one(webhooks.lookAgeSeconds()),
  };
}

function processFigures({ eventLoop, logLinesDropped, spans }: FigureParts): Figures {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return {
    processes: one(1),
    eventLoopDelay: eventLoop.delays.map((delay, place) => [[String(PERCENTILES[place])], delay]),
    eventLoopBusy: one(eventLoop.busySeconds),
    cpu: one((user + system) / 1e6),
    memory: one(rss),
    heap: one(heapUsed),
    started: one(Math.round(performance.timeOrigin / 1_000)),
    logLinesDropped: one(logLinesDropped()),
    ...(spans && { spansExported: one(spans.exported), spansDropped: one(spans.dropped) }),
    build: [[[PROGRAM_VERSION, process.versions.node], 1]],
  };
}

function one(value: number): readonly Series[] {
  return [[[], value]];
}

/** A copy: the histogram goes on counting. */
function buckets({ bounds, counts, sum }: Histogram): Series[1] {
  return { bounds, counts: [...counts], sum };
}
