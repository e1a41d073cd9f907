// `npm run bench`: what each operation costs through HTTP with everything on one machine, beside the ceilings. The machine is
// shared and noisy, so what counts are the ratios, taken in turns in one run.
import { writeFile } from 'node:fs/promises';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { startStandalone } from '../testkit/standalone.js';
import { bareFastify, batchedStatements } from './beside.js';
import { type MeasuredLoad, measuredLoad, memoryMiB } from './measured.js';
import { OPERATIONS, prepare } from './operations.js';
import { shown } from './report.js';
import type { BenchResults, Ceiling, PerSecond } from './results.js';

const values = programOptions({
  seconds: { type: 'string', default: '4' },
  rounds: { type: 'string', default: '3' },
  out: { type: 'string' },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const CONNECTIONS = [1, 64, 256];
const MOST = 64;
const WARM_UP_SECONDS = 15;

const gateway = await startStandalone();
const ungrouped = await startStandalone({ MAX_BATCH: '1' });
const results: BenchResults = { operations: [], ceilings: undefined };
try {
  say(
    `${rounds} rounds of ${seconds} s each, in turns; gateway, PostgreSQL and load generator on one machine`,
  );
  // Its code is compiled by then; until so it is half as fast.
  await load(gateway, { ...PURCHASE, connections: MOST, seconds: WARM_UP_SECONDS });
  await load(ungrouped, { ...PURCHASE, connections: MOST, seconds: 2 });
  results.ceilings = await besideEachOther();
  const targets = await prepare(gateway.client);
  for (const operation of OPERATIONS) {
    for (const connections of CONNECTIONS) {
      const request = operation.request(targets);
      const result = await measuredLoad(gateway, { ...request, connections, seconds });
      const memory = await memoryMiB(gateway);
      results.operations.push({ operation: operation.name, connections, memory, ...result });
      say(shown(operation.name, connections, result, memory));
    }
  }
} finally {
  await gateway.stop();
  await ungrouped.stop();
}
if (values.out !== undefined) await writeFile(values.out, `${JSON.stringify(results, null, 2)}\n`);

/** Purchases and their ceilings, one after the other, so that a noisy moment hits none of them alone. */
async function besideEachOther(): Promise<Record<Ceiling, number> & { p99Ms: number }> {
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
