// What each operation costs through HTTP with everything on one machine, beside the ceilings. The machine is shared and noisy, so the
// ratios count, taken in turns in one run. `--plot FILE` draws docs/benchmarks.svg.
import { writeFile } from 'node:fs/promises';
import { load, PURCHASE } from '../../testkit/load.js';
import { programOptions } from '../../testkit/program-options.js';
import { median, say } from '../../testkit/report.js';
import { startStandalone } from '../../testkit/standalone.js';
import { type MeasuredLoad, measuredLoad, memoryMiB } from '../measuring/measured.js';
import { bareFastify, batchedStatements, type PerSecond } from './ceilings.js';
import { OPERATIONS, prepare } from './requests.js';

const WIDTH = 800;
const ROW = 30;
const LEFT = 280;
const RIGHT = 90;
const TOP = 48;

const values = programOptions({
  seconds: 4,
  rounds: 3,
  out: undefined,
  plot: undefined,
});
const { seconds, rounds } = values;
const CONNECTIONS = [1, 64, 256];
const MOST = 64;
const WARM_UP_SECONDS = 15;

const gateway = await startStandalone();
const ungrouped = await startStandalone({ MAX_BATCH: '1' });
const operations: MeasuredOperation[] = [];
let ceilings: BenchResults['ceilings'];
try {
  say(
    `${rounds} rounds of ${seconds} s each, in turns; gateway, PostgreSQL and load generator on one machine`,
  );
  // Its code is compiled by then; until so it is half as fast.
  await load(gateway, { ...PURCHASE, connections: MOST, seconds: WARM_UP_SECONDS });
  await load(ungrouped, { ...PURCHASE, connections: MOST, seconds: 2 });
  ceilings = await besideEachOther();
  const targets = await prepare(gateway.client);
  for (const operation of OPERATIONS) {
    for (const connections of CONNECTIONS) {
      const request = operation.request(targets);
      const result = await measuredLoad(gateway, { ...request, connections, seconds });
      const memory = await memoryMiB(gateway);
      operations.push({ operation: operation.name, connections, memory, ...result });
      say(shown(operation.name, connections, result, memory));
    }
  }
} finally {
  await gateway.stop();
  await ungrouped.stop();
}
const results: BenchResults = { operations, ceilings };
if (values.out !== undefined) await writeFile(values.out, `${JSON.stringify(results, null, 2)}\n`);
if (values.plot !== undefined) await writeFile(values.plot, plotOf(results));

/** Purchases and their ceilings, one after the other, so that a noisy moment hits none of them alone. */
async function besideEachOther(): Promise<BenchResults['ceilings']> {
  const fastify = await bareFastify();
  const purchases: MeasuredLoad[] = [];
  const measured: Record<Ceiling, PerSecond[]> = { purchases, statements: [], fastify: [], ungrouped: [] };
  try {
    const request = { ...PURCHASE, connections: MOST, seconds };
    await load(fastify, request);
    for (let round = 1; round <= rounds; round += 1) {
      purchases.push(await measuredLoad(gateway, request));
      measured.statements.push(await batchedStatements(gateway, { connections: MOST, seconds }));
      measured.fastify.push(await load(fastify, request));
      measured.ungrouped.push(await load(ungrouped, request));
      const last = Object.entries(measured).map(([name, each]) => `${name} ${each.at(-1)?.perSecond}/s`);
      say(`round ${round}: ${last.join(', ')}`);
    }
  } finally {
    fastify.stop();
  }
  const wrong = purchases.find(({ statuses }) => Object.keys(statuses).join() !== '201');
  if (wrong !== undefined) {
    say(`not every purchase was answered 201: ${JSON.stringify(wrong.statuses)}`);
    process.exitCode = 1;
  }
  const middle = (ceiling: Ceiling) => median(measured[ceiling].map((one) => one.perSecond));
  const perSecond: Record<Ceiling, number> = {
    purchases: middle('purchases'),
    statements: middle('statements'),
    fastify: middle('fastify'),
    ungrouped: middle('ungrouped'),
  };
  const share = (name: Ceiling) => (perSecond.purchases / perSecond[name]).toFixed(2);
  say(
    `purchases ${perSecond.purchases}/s: ${share('statements')} of the two batched statements alone (${perSecond.statements}/s), ` +
      `${share('fastify')} of bare Fastify (${perSecond.fastify}/s), ${share('ungrouped')} times a statement per request (${perSecond.ungrouped}/s); ` +
      `p50 ${median(purchases.map((one) => one.p50Ms))} ms, p99 ${median(purchases.map((one) => one.p99Ms))} ms`,
  );
  return { ...perSecond, p99Ms: median(purchases.map((one) => one.p99Ms)) };
}

/** As a picture: docs/benchmarks.svg. */
function plotOf({ operations, ceilings }: BenchResults): string {
  const bars = [
    { label: 'bare Fastify, same schema', perSecond: ceilings.fastify, colour: '#b8c4ce' },
    { label: 'the two batched statements alone', perSecond: ceilings.statements, colour: '#b8c4ce' },
    { label: 'purchase', perSecond: ceilings.purchases, colour: '#1f6f54' },
    { label: 'purchase, a statement per request', perSecond: ceilings.ungrouped, colour: '#b8c4ce' },
    ...operations
      .filter(({ operation, connections }) => operation !== 'purchase' && connections === 64)
      .map(({ operation, perSecond }) => ({ label: operation, perSecond, colour: '#5b9a83' })),
  ];
  const most = Math.max(...bars.map(({ perSecond }) => perSecond));
  const height = TOP + bars.length * ROW + 16;
  const rows = bars.map(({ label, perSecond, colour }, index) => {
    const y = TOP + index * ROW;
    const length = Math.max(1, Math.round((perSecond / most) * (WIDTH - LEFT - RIGHT)));
    return `  <text x="${LEFT - 12}" y="${y + 16}" text-anchor="end">${label}</text>
  <rect x="${LEFT}" y="${y}" width="${length}" height="22" fill="${colour}" rx="2"/>
  <text x="${LEFT + length + 8}" y="${y + 16}">${perSecond.toLocaleString('en')}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="14" fill="#22303a">
  <title>Requests per second of each operation and of the ceilings</title>
  <rect width="${WIDTH}" height="${height}" fill="#fff"/>
  <text x="16" y="28" font-size="16" font-weight="600">Requests per second, 64 connections, two cores for everything</text>
${rows.join('\n')}
</svg>
  `;
}

/** One line of figures for one operation. */
function shown(name: string, connections: number, measured: MeasuredLoad, memory: number): string {
  const { perSecond, p50Ms, p99Ms, cpuMs, statuses } = measured;
  const cpu = Object.entries(cpuMs)
    .map(([part, ms]) => `${part} ${ms.toFixed(2)}`)
    .join(', ');
  return [
    `${name.padEnd(22)} ${String(connections).padStart(3)} connections`,
    `${String(perSecond).padStart(6)}/s`,
    `p50 ${p50Ms} ms`,
    `p99 ${p99Ms} ms`,
    // Milliseconds each are seconds for a thousand.
    `CPU s per 1,000: ${cpu}`,
    `${memory} MiB`,
    JSON.stringify(statuses),
  ].join('  ');
}

/** Purchases, and what they are held against. */
type Ceiling = 'purchases' | 'statements' | 'fastify' | 'ungrouped';

interface MeasuredOperation extends MeasuredLoad {
  readonly operation: string;
  readonly connections: number;
  /** In MiB. */
  readonly memory: number;
}

interface BenchResults {
  readonly operations: readonly MeasuredOperation[];
  /** Medians per second. */
  readonly ceilings: Record<Ceiling, number> & { readonly p99Ms: number };
}
