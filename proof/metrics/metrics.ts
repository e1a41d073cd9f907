// Prometheus, Alertmanager and a collector of traces accept the gateway's metrics, alerts and spans. The proof names a missing tool and
// skips its checks. `--outage 66` stops a database for so many seconds under Prometheus and Alertmanager.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tollgate } from '../../client/src/index.js';
import { paymentBody } from '../../testkit/bodies.js';
import { freePort } from '../../testkit/gateway-process.js';
import { programOptions } from '../../testkit/program-options.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { startStandalone } from '../../testkit/standalone.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { ToolChecks } from '../arena/tools.js';
import { loseDatabase, notHeldBack } from './alerting.js';

const values = programOptions({
  /** Of Prometheus. */
  promtool: 'promtool',
  prometheus: 'prometheus',
  /** As Debian names it. */
  alertmanager: 'prometheus-alertmanager',
  /** Seconds. */
  outage: 0,
  /** A collector of OpenTelemetry, with the receiver `otlp` and the exporter `debug`. */
  collector: 'otelcol',
  purchases: 200,
});

const FOLDER = 'deploy/prometheus';
const folder = temporaryFolder('metrics');
const checks = new ToolChecks();
const promtool = (promise: string, args: readonly string[], input?: string) =>
  checks.expectGood(promise, 'promtool', checks.run(values.promtool, args, input));

const CONFIGURATION = (port: number, metricsPort: number) => `
receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }
exporters: { debug: { verbosity: detailed } }
service:
  telemetry: { metrics: { level: none, address: "127.0.0.1:${metricsPort}" } }
  pipelines: { traces: { receivers: [otlp], exporters: [debug] } }
`;

/** What the collector has written down of what it was sent; undefined where there is no collector. */
async function collected(work: (endpoint: string) => Promise<void>): Promise<string | undefined> {
  if (!checks.isThere(values.collector)) {
    await work('');
    return undefined;
  }
  const port = await freePort();
  const configuration = join(folder, 'collector.yaml');
  writeFileSync(configuration, CONFIGURATION(port, await freePort()));
  const child = spawn(values.collector, ['--config', configuration], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    while (!said.includes('Everything is ready')) {
      if (child.exitCode !== null) throw new Error(`the collector ended: ${said}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await work(`http://127.0.0.1:${port}`);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
  return said;
}

const TRACE = 'abcdef0123456789abcdef0123456789';
const PARENT = '00f067aa0ba902b7';

promtool('promtool takes the rules', ['check', 'rules', `${FOLDER}/alerts.yml`]);
promtool('promtool takes the configuration', ['check', 'config', `${FOLDER}/prometheus.yml`]);
promtool('every alert fires when it should, and only then', ['test', 'rules', `${FOLDER}/alerts.test.yml`]);

const COMMON = { job: 'tollgate' };
const [INSTANCE, ACQUIRER] = [
  { ...COMMON, instance: 'one' },
  { ...COMMON, acquirer: 'bank' },
];
const OF_A_GATEWAY = [
  ...['ServerErrors', 'Slow', 'Overloaded', 'RoomShort', 'ConnectionsRefused', 'PoolShort'],
  ...['BackgroundJobFails', 'StoredFiguresMissing', 'FeedLate', 'WebhooksStand'],
];
const OF_AN_ACQUIRER = [
  ...['LinkFails', 'UnknownOutcomes', 'InDoubtOld', 'InDoubtMany', 'ReversalsUnacknowledged'],
  ...['ApprovalsFall', 'AcquirerSlow'],
];
const named = (labels: Readonly<Record<string, string>>, ...names: readonly string[]) =>
  names.map((name) => ({ alertname: `Tollgate${name}`, ...labels }));

/** What fires together by one cause, and what is told of it. */
const CAUSES: readonly [
  cause: string,
  alerts: readonly Readonly<Record<string, string>>[],
  told: string[],
][] = [
  ['a lost database', named(INSTANCE, 'DatabaseLost', ...OF_A_GATEWAY), ['DatabaseLost']],
  ['a full disk', named(INSTANCE, 'DatabaseDiskFull', 'DatabaseLost', ...OF_A_GATEWAY), ['DatabaseDiskFull']],
  ['a dead gateway', named(INSTANCE, 'Down', 'EventLoopLate', 'WorkerSilent', ...OF_A_GATEWAY), ['Down']],
  [
    'a dead host',
    named(ACQUIRER, 'LinkDown', 'LinkShort', 'AcquirerSilent', ...OF_AN_ACQUIRER),
    ['LinkDown'],
  ],
  [
    'a silent acquirer',
    [...named(ACQUIRER, 'AcquirerSilent', ...OF_AN_ACQUIRER), ...named(INSTANCE, 'Slow', 'RoomShort')],
    ['AcquirerSilent'],
  ],
  [
    'a link that fails for one organisation, and doubt',
    named(ACQUIRER, ...OF_AN_ACQUIRER),
    ['InDoubtMany', 'LinkFails'],
  ],
  ['too much to do', named(INSTANCE, 'EventLoopLate', 'Slow', 'RoomShort', 'PoolShort'), ['EventLoopLate']],
  [
    'a certificate that ends',
    named(COMMON, 'CertificateExpires', 'CertificateExpiresNow'),
    ['CertificateExpiresNow'],
  ],
  [
    'a lost database at another gateway, or in another installation',
    [
      ...named(INSTANCE, 'DatabaseLost', 'BrokenSeals'),
      ...named({ ...INSTANCE, instance: 'two' }, 'ServerErrors'),
      ...named({ ...INSTANCE, job: 'tollgate-b' }, 'ServerErrors'),
    ],
    ['BrokenSeals', 'DatabaseLost', 'ServerErrors', 'ServerErrors'],
  ],
];

if (checks.isThere(values.alertmanager)) {
  const configuration = readFileSync(join(PROJECT_ROOT, FOLDER, 'alertmanager.yml'), 'utf8');
  for (const [cause, alerts, told] of CAUSES) {
    const active = await notHeldBack(values.alertmanager, configuration, folder, alerts);
    const names = active.map((name) => name.replace('Tollgate', ''));
    checks.expect(
      `of ${cause} Alertmanager tells only ${told.join(', ')}`,
      names.join() === told.join(),
      names.join(),
    );
  }
}

const outageSeconds = values.outage;
if (outageSeconds > 0 && checks.isThere(values.prometheus) && checks.isThere(values.alertmanager)) {
  const { notifications, fired } = await loseDatabase({
    prometheus: values.prometheus,
    alertmanager: values.alertmanager,
    rules: join(PROJECT_ROOT, FOLDER),
    folder,
    seconds: outageSeconds,
    watchSeconds: 400,
  });
  for (const { alertname, most, fromSeconds, untilSeconds } of fired)
    say(`outage: ${most} x ${alertname} from ${fromSeconds} s to ${untilSeconds} s`);
  for (const { atSeconds, receiver, status, alertname, alerts } of notifications)
    say(`outage: ${status} to ${receiver} at ${atSeconds} s: ${alerts} x ${alertname}`);
  const pages = notifications.filter(({ status }) => status === 'firing');
  checks.expect(
    'a lost database is one page',
    pages.map(({ receiver, alertname }) => `${receiver} ${alertname}`).join() ===
      'pages TollgateDatabaseLost',
    JSON.stringify(pages),
  );
  checks.expect(
    'nothing else fires, then or afterwards',
    fired.every(({ alertname }) => alertname === 'TollgateDatabaseLost'),
    JSON.stringify(fired),
  );
}

const spans = await collected(async (endpoint) => {
  const port = await freePort();
  const gateway = await startStandalone({
    CONSOLE_PORT: String(port),
    WORKERS: '2',
    ...(endpoint !== '' && { OTLP_ENDPOINT: endpoint }),
  });
  try {
    for (let bought = 0; bought < values.purchases; bought += 1) await gateway.client.purchase(paymentBody());
    const { baseUrl, username, password } = gateway;
    const traceparent = () => `00-${TRACE}-${PARENT}-01`;
    await new Tollgate({ baseUrl, username, password, traceparent }).purchase(paymentBody());
    const scraped = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    promtool('promtool takes a scrape', ['check', 'metrics'], scraped);
    const counted =
      /^tollgate_request_duration_seconds_count\{operation="createPurchase",status="201"\} (\d+)$/m.exec(
        scraped,
      );
    const most = values.purchases + 1;
    checks.expect(
      'a scrape has every purchase of both workers',
      Number(counted?.[1]) === most,
      String(counted?.[0]),
    );
  } finally {
    // Sends the last spans.
    await gateway.stop();
  }
});
if (spans !== undefined) {
  for (const name of ['POST /v1/transactions/purchase', 'claim', 'acquirer', 'record'])
    checks.expect(
      'a collector gets the spans of a sampled purchase',
      new RegExp(`Trace ID\\s*: ${TRACE}[\\s\\S]*?Name\\s*: ${name}`).test(spans),
      `no span ${name}`,
    );
  checks.expect(
    'the request is below its client’s span',
    spans.includes(`Parent ID      : ${PARENT}`),
    'another parent',
  );
}

process.exitCode = checks.verdict('metrics');
