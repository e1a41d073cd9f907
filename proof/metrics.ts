// `npm run test:metrics`: what is for Prometheus and for collectors of traces, as their own tools read it. A tool that is not there is named,
// and its checks are skipped.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tollgate } from '../client/src/index.js';
import { paymentBody } from '../testkit/bodies.js';
import { freePort } from '../testkit/gateway-process.js';
import { programOptions } from '../testkit/program-options.js';
import { PROJECT_ROOT } from '../testkit/project.js';
import { say } from '../testkit/report.js';
import { startStandalone } from '../testkit/standalone.js';
import { verdict } from './verdict.js';

const values = programOptions({
  /** Of Prometheus. */
  promtool: { type: 'string', default: 'promtool' },
  /** A collector of OpenTelemetry, with the receiver `otlp` and the exporter `debug`. */
  collector: { type: 'string', default: 'otelcol' },
  purchases: { type: 'string', default: '200' },
});

const FOLDER = 'deploy/prometheus';
const folder = mkdtempSync(join(tmpdir(), 'tollgate-metrics-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const broken: Record<string, string[]> = {};
const missing = new Set<string>();
let checks = 0;

function promtool(promise: string, args: readonly string[], input = ''): void {
  const { status, error, stdout, stderr } = spawnSync(values.promtool, args, {
    cwd: PROJECT_ROOT,
    input,
    encoding: 'utf8',
  });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') {
    missing.add(values.promtool);
    return;
  }
  expectGood(promise, status === 0, stdout + stderr);
}

function expectGood(promise: string, isGood: boolean, said: string): void {
  checks += 1;
  if (!isGood) broken[promise] = [...(broken[promise] ?? []), said];
}

const CONFIGURATION = (port: number, metricsPort: number) => `
receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }
exporters: { debug: { verbosity: detailed } }
service:
  telemetry: { metrics: { level: none, address: "127.0.0.1:${metricsPort}" } }
  pipelines: { traces: { receivers: [otlp], exporters: [debug] } }
`;

/** What the collector has written down of what it was sent; undefined where there is no collector. */
async function collected(work: (endpoint: string) => Promise<void>): Promise<string | undefined> {
  if (spawnSync(values.collector, ['--version']).error !== undefined) {
    missing.add(values.collector);
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

const spans = await collected(async (endpoint) => {
  const port = await freePort();
  const gateway = await startStandalone({
    CONSOLE_PORT: String(port),
    WORKERS: '2',
    ...(endpoint !== '' && { OTLP_ENDPOINT: endpoint }),
  });
  try {
    for (let bought = 0; bought < Number(values.purchases); bought += 1)
      await gateway.client.purchase(paymentBody());
    const { baseUrl, username, password } = gateway;
    const traceparent = () => `00-${TRACE}-${PARENT}-01`;
    await new Tollgate({ baseUrl, username, password, traceparent }).purchase(paymentBody());
    const scraped = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    promtool('promtool takes a scrape', ['check', 'metrics'], scraped);
    const counted =
      /^tollgate_request_duration_seconds_count\{operation="createPurchase",status="201"\} (\d+)$/m.exec(
        scraped,
      );
    const most = Number(values.purchases) + 1;
    expectGood(
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
    expectGood(
      'a collector gets the spans of a sampled purchase',
      new RegExp(`Trace ID\\s*: ${TRACE}[\\s\\S]*?Name\\s*: ${name}`).test(spans),
      `no span ${name}`,
    );
  expectGood(
    'the request is below its client’s span',
    spans.includes(`Parent ID      : ${PARENT}`),
    'another parent',
  );
}

for (const program of missing) say(`metrics: ${program} is not there; its checks are skipped`);
process.exitCode = verdict(broken, `metrics: ${checks} checks`);
