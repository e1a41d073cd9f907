// Memory and file descriptors stay flat under half the load that the gateway can carry.
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSeed } from '../../testkit/chance.js';
import { load, PURCHASE } from '../../testkit/load.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { startStandalone } from '../../testkit/standalone.js';
import { type Broken, verdict } from '../arena/verdict.js';

const values = programOptions({
  minutes: 10,
  seed: newSeed(),
  // Half of what it carries on this machine, unless told otherwise.
  rate: undefined,
  // They are descriptors of the gateway's, too: on a slow machine many take a while to come.
  connections: 64,
});
const seconds = values.minutes * 60;
const { seed, connections } = values;
say(`soak: seed ${seed}`);

// The collector is called before each reading, so that only what is held counts.
const gateway = await startStandalone(
  {},
  { keep: 'nothing', nodeArguments: ['--expose-gc', '--import', collecting()] },
);

/** A module that collects garbage when told so. */
function collecting(): string {
  const source = `process.on('SIGUSR2', () => { for (let n = 0; n < 4; n += 1) globalThis.gc(); });`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

interface Reading {
  readonly memoryMiB: number;
  readonly descriptors: number;
}

async function reading(): Promise<Reading> {
  process.kill(gateway.pid, 'SIGUSR2');
  await sleep(300);
  const status = await readFile(`/proc/${gateway.pid}/status`, 'latin1');
  const memoryMiB = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  const descriptors = (await readdir(`/proc/${gateway.pid}/fd`)).length;
  return { memoryMiB, descriptors };
}

const mean = (numbers: readonly number[]) =>
  numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
const broken: Broken = {};
let figures = '';
try {
  const warm = await load(gateway, { ...PURCHASE, connections, seconds: Math.min(20, seconds / 6) });
  const rate = Number(values.rate ?? Math.floor(warm.perSecond / 2));
  // Which of them look up, search and pay depends on the seed alone.
  const lookUps = [1 + (seed % 7), 2 + (seed % 11), 3 + (seed % 13)].map(
    (audit) => `/v1/transactions/${audit}`,
  );
  const loads = Promise.all([
    load(gateway, { ...PURCHASE, connections, rate, seconds }),
    load(gateway, { method: 'GET', paths: lookUps, connections: 4, rate: 50, seconds }),
  ]);
  const readings: Reading[] = [];
  const untilMs = performance.now() + seconds * 1000;
  const pauseMs = Math.max(500, (seconds * 1000) / 60);
  while (performance.now() < untilMs - pauseMs) {
    await sleep(pauseMs);
    readings.push(await reading());
  }
  const [purchases] = await loads;
  const third = Math.max(1, Math.floor(readings.length / 3));
  const begin = readings.slice(third, 2 * third);
  const end = readings.slice(-third);
  const of = (some: readonly Reading[], name: keyof Reading) => mean(some.map((one) => one[name]));
  const memory = [of(begin, 'memoryMiB'), of(end, 'memoryMiB')] as const;
  const descriptors = [of(begin, 'descriptors'), of(end, 'descriptors')] as const;
  // What a busy process may hold more or less from one moment to the next.
  if (memory[1] > memory[0] * 1.1 + 10) broken['memory is flat'] = [memory.join(' → ')];
  if (descriptors[1] > descriptors[0] + 5) broken['file descriptors are flat'] = [descriptors.join(' → ')];
  const others = Object.keys(purchases.statuses).filter((status) => status !== '201');
  if (others.length > 0) broken['every purchase is answered 201'] = others;
  figures =
    `${purchases.requests} purchases at ${rate}/s in ${Math.round(seconds)} s, p50 ${purchases.p50Ms} ms, p99 ${purchases.p99Ms} ms; ` +
    `memory ${memory.map((mib) => mib.toFixed(0)).join(' → ')} MiB, file descriptors ${descriptors.map((count) => count.toFixed(0)).join(' → ')}`;
} finally {
  await gateway.stop();
}
process.exitCode = verdict(broken, `soak: seed ${seed}, ${figures}`);
