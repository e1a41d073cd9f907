// Every metric: name, meaning, labels, and how values of several processes are combined. No label is chosen by a client, such as a
// merchant or customer.

export interface Metric {
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** How values of several processes are combined. Counters and histograms are added up. */
  readonly across: 'sum' | 'max' | 'min';
}

const counter = (name: string, help: string, ...labels: string[]): Metric => ({
  name: `tollgate_${name}_total`,
  kind: 'counter',
  help,
  labels,
  across: 'sum',
});

const histogram = (name: string, help: string, ...labels: string[]): Metric => ({
  name: `tollgate_${name}`,
  kind: 'histogram',
  help,
  labels,
  across: 'sum',
});

const gauge = (across: Metric['across'], name: string, help: string, ...labels: string[]): Metric => ({
  name: `tollgate_${name}`,
  kind: 'gauge',
  help,
  labels,
  across,
});

export const METRICS = {
  requestDuration: histogram(
    'request_duration_seconds',
    'Requests answered, and how long each took from its headers to its answer.',
    'operation',
    'status',
  ),
  requestsShed: counter('requests_shed', 'Requests answered 503 at once, since there was no room for them.'),
  requestsUnreadable: counter(
    'requests_unreadable',
    'What came on connections and was no request, or did not come whole.',
    'status',
  ),
  connections: gauge('sum', 'connections', 'Open connections of clients.', 'listener'),
  connectionsMax: gauge('sum', 'connections_max', 'So many connections there may be.', 'listener'),
  connectionsRefused: counter(
    'connections_refused',
    'Connections that were closed or not taken, since there were too many.',
    'listener',
  ),
  failedHandshakes: counter('failed_handshakes', 'TLS handshakes that failed.'),
  failedLogIns: counter('failed_log_ins', 'Requests with wrong credentials or none.'),
  failedLogInsHeld: counter(
    'failed_log_ins_held',
    'Failed log-ins that were answered late, since there were too many of a user name or an address.',
  ),

  transactions: counter(
    'transactions',
    'Transactions by what their clients were told. Response codes that are not in the tables of the links are "other".',
    'operation',
    'acquirer',
    'card_type',
    'status',
    'response_code',
  ),
  acquirerDuration: histogram(
    'acquirer_duration_seconds',
    'How long acquirers took to answer, or were waited for.',
    'acquirer',
  ),
  transactionsInFlight: gauge('sum', 'transactions_in_flight', 'Transactions under way.'),
  transactionsInFlightMax: gauge('sum', 'transactions_in_flight_max', 'So many may be under way.'),
  transactionsWaiting: gauge(
    'sum',
    'transactions_waiting',
    'Those of them that wait for the gateway, and not for an acquirer.',
  ),
  limitsReached: counter(
    'limits_reached',
    'Attempts to pay that have reached a limit against card testing: blocked, or only watched.',
    'per',
    'mode',
  ),
  resolved: counter(
    'in_doubt_resolved',
    'Transactions in doubt by what was found, and how.',
    'acquirer',
    'found',
    'by',
  ),
  inDoubt: gauge('max', 'in_doubt', 'Transactions in doubt that the resolver has, up to 10,000.', 'acquirer'),
  inDoubtOldest: gauge(
    'max',
    'in_doubt_oldest_seconds',
    'The age of the oldest transaction in doubt; of more than 10,000, of those that are due first.',
    'acquirer',
  ),
  reversalsUnacknowledged: gauge(
    'max',
    'reversals_unacknowledged',
    'Reversals that were begun and that the acquirer has not acknowledged, up to 10,000.',
    'acquirer',
  ),

  linkConnections: gauge('sum', 'link_connections', 'Connections that a link keeps to its host.', 'acquirer'),
  linkSignedOn: gauge('sum', 'link_connections_signed_on', 'Those of them that are signed on.', 'acquirer'),
  linkUnasked: counter(
    'link_unasked_answers',
    'Answers of a host that nothing had asked for. Too many close the connection.',
    'acquirer',
  ),
  linkBreakersOpen: gauge(
    'max',
    'link_breakers_open',
    'For how many organisations a link is taken out, since it fails again and again.',
    'acquirer',
  ),

  databaseUp: gauge('min', 'database_up', '0 while the database is lost.'),
  databaseDiskFull: gauge('max', 'database_disk_full', '1 while the disk of the database is full.'),
  clockDifference: gauge(
    'max',
    'clock_difference_seconds',
    'By how much the clocks of this machine and the database differ, at least.',
  ),
  lostTime: gauge(
    'max',
    'lost_time_seconds',
    'How long the time is that a restored database has lost and nobody has reconciled. 0 where there is none.',
  ),
  storedFiguresUp: gauge(
    'min',
    'stored_figures_up',
    '0 where what is counted in the database could not be read for this scrape: those metrics are not in it.',
  ),
  poolSessions: gauge('sum', 'pool_sessions', 'Sessions on the database.', 'pool'),
  poolSessionsIdle: gauge('sum', 'pool_sessions_idle', 'Those of them that nobody uses.', 'pool'),
  poolSessionsMax: gauge('sum', 'pool_sessions_max', 'So many sessions there may be.', 'pool'),
  poolWaiting: gauge('sum', 'pool_waiting', 'Statements that wait for a session.', 'pool'),
  batchEntries: histogram('batch_entries', 'Batches sent to the database, and their sizes.', 'batch'),

  feedLag: gauge(
    'max',
    'feed_lag_seconds',
    'How long the oldest event of the last round had waited for its place in the feed.',
  ),
  feedRoundAge: gauge(
    'max',
    'feed_round_age_seconds',
    'Since events were last given their places in the feed.',
  ),
  feedEvents: counter('feed_events', 'Events that were given their places in the feed.'),
  scheduleDates: counter(
    'schedule_dates',
    'Dates of schedules that were decided, by what came of them.',
    'outcome',
  ),
  scheduleLag: histogram(
    'schedule_lag_seconds',
    'Dates of schedules, and how long after its turn each was paid.',
  ),
  schedulesLate: gauge(
    'max',
    'schedules_late',
    'Schedules that have been due for more than an hour, up to 10,000.',
  ),
  scheduleDueLongest: gauge(
    'max',
    'schedule_due_longest_seconds',
    'For how long the schedule that has been due longest is.',
  ),
  walletTokensRefused: counter(
    'wallet_tokens_refused',
    'Tokens of Apple Pay and Google Pay that were not paid with, by why.',
    'reason',
  ),
  webhookAttempts: counter(
    'webhook_attempts',
    'Attempts to deliver webhooks, by what came of them.',
    'result',
  ),
  webhookLag: histogram('webhook_lag_seconds', 'Webhooks delivered, and how long after its event each was.'),
  webhookLookAge: gauge(
    'max',
    'webhook_look_age_seconds',
    'Since it was last looked which endpoints have something to be told.',
  ),
  webhookEndpoints: gauge('max', 'webhook_endpoints', 'Endpoints of webhooks, up to 10,000.', 'state'),
  webhookFailingOldest: gauge(
    'max',
    'webhook_failing_oldest_seconds',
    'How long the endpoint has failed that fails for longest.',
  ),
  webhooksWaiting: gauge(
    'max',
    'webhook_deliveries_waiting',
    'Deliveries that failed and are tried again, up to 10,000.',
  ),

  certificateExpires: gauge(
    'min',
    'certificate_expires_timestamp_seconds',
    'When the certificate of the listener ends, in seconds since 1970.',
  ),
  certificateIssued: gauge(
    'min',
    'certificate_issued_timestamp_seconds',
    'Since when the certificate of the listener is valid, in seconds since 1970.',
  ),
  dataKeys: gauge('max', 'data_keys', 'Data keys, retired ones included, up to 100,000.'),
  dataKeyOldest: gauge(
    'max',
    'data_key_oldest_seconds',
    'The age of the oldest data key that new seals are made with.',
  ),
  journalUnanchored: gauge(
    'max',
    'journal_unanchored_seconds',
    'For how long the end of the journal has not been anchored. 0 where it is.',
  ),
  brokenSeals: counter(
    'broken_seals',
    'Seals that did not open: somebody has changed the database, or a key is another.',
    'of',
  ),

  logLinesDropped: counter('log_lines_dropped', 'Lines of the log that nobody has taken in time.'),
  jobsFailed: counter(
    'background_jobs_failed',
    'Runs of background jobs that failed. While the database is lost, or its disk full, they are not counted.',
    'task',
  ),
  spansExported: counter('spans_exported', 'Spans that the collector has taken.'),
  spansDropped: counter('spans_dropped', 'Spans that were given up, since the collector was slow or away.'),

  processes: gauge('sum', 'processes', 'Gateway processes that this scrape speaks for.'),
  processesSilent: gauge(
    'sum',
    'processes_silent',
    'Workers that did not answer in time: of them only counts are in the scrape, as they were.',
  ),
  eventLoopDelay: gauge(
    'max',
    'event_loop_delay_seconds',
    'How late the event loop of a process was, of the last ten seconds.',
    'percentile',
  ),
  eventLoopBusy: counter('event_loop_busy_seconds', 'How long the event loop had something to do.'),
  cpu: counter('cpu_seconds', 'CPU time of the processes.'),
  memory: gauge('sum', 'resident_memory_bytes', 'Memory of the processes.'),
  heap: gauge('sum', 'heap_used_bytes', 'JavaScript memory in use.'),
  started: gauge('min', 'start_timestamp_seconds', 'When the process started, in seconds since 1970.'),
  build: gauge('max', 'build_info', 'Always 1.', 'version', 'node'),
  cell: gauge(
    'max',
    'cell_info',
    'Always 1: the name and the number of the cell that this installation is.',
    'cell',
    'number',
  ),
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricKey = keyof typeof METRICS;

/** A histogram: the count for each bound, not cumulative, and one for values beyond the last bound. */
export interface Buckets {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

/** The label values in order, and the value. */
export type Series = readonly [labels: readonly string[], value: number | Buckets];

/** The metrics of a process, passed between processes as JSON. */
export type Figures = { readonly [Key in MetricKey]?: readonly Series[] };
