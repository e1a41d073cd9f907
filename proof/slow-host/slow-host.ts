// Many purchases a second are all served while the host takes two seconds for each answer. They arrive by chance. The gateway adds
// little to the host's time, and its memory does not grow.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HostProcess } from '../../testkit/iso8583-host/host-process.js';
import { programOptions } from '../../testkit/program-options.js';
import { percentile, say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { hostBooks, LinkArena } from '../arena/link-arena.js';
import { type Broken, verdict } from '../arena/verdict.js';

const values = programOptions({
  // Purchases a second, for how many seconds, and how many milliseconds the host takes.
  rate: 1000,
  seconds: 60,
  delay: 2000,
  // Of the client; and of the link.
  clients: 3000,
  connections: 1,
  // How many milliseconds the gateway may add: 99 of 100 purchases have no more.
  limit: 100,
  // Of a busy machine: the gateway lets purchases wait for itself, too.
  patient: false,
});
const { rate, seconds, delay: delayMs } = values;
const SAMPLE_EVERY_MS = 250;
/** A process that has just begun is still growing. */
const WARM_SECONDS = Math.min(10, seconds / 3);
/** What a busy process may hold more from one moment to the next. One that runs for less than this is growing yet. */
const MOST_GROWTH = 1.2;
const GROWN_SECONDS = 15;

const folder = temporaryFolder('slow-host');
const host = await HostProcess.start({ ledgerPath: join(folder, 'ledger') });
const arena = await LinkArena.open(hostBooks(host), {
  connections: values.connections,
  deadlineMs: 5 * delayMs,
  // As an operator would run it.
  ...(!values.patient && { settings: {} }),
});
await host.set({ answerDelayMs: delayMs });
const load = { rate, connections: values.clients, arrivals: 'by chance' } as const;
await arena.generate({ ...load, seconds: WARM_SECONDS });
say('slow host: warm');

await host.set({ keepsTimes: true });
const samplesMiB: number[] = [];
const sampling = setInterval(() => void sample(), SAMPLE_EVERY_MS);
const { statuses, unsent, latencies, run, ownDelay, perSecond } = await arena.generate({
  ...load,
  seconds,
  keepsLatencies: true,
});
clearInterval(sampling);
const addedMs = await added();
const { broken, figures } = await arena.judge();
await host.stop();

const p99Ms = percentile(addedMs, 0.99);
const third = Math.max(1, Math.floor(samplesMiB.length / 3));
const [before, after] = [samplesMiB.slice(third, 2 * third), samplesMiB.slice(-third)].map((some) =>
  Math.max(...some),
) as [number, number];
const own: Broken = {
  'every purchase is served': [
    ...Object.entries(statuses)
      .filter(([status]) => status !== '201')
      .map(([status, count]) => `${count} times ${status}`),
    ...(unsent === 0 ? [] : [`${unsent} were due while no connection was free`]),
  ],
  'every purchase is known to the host': addedMs.length === latencies.length ? [] : [`${addedMs.length}`],
  'the gateway adds little': p99Ms <= values.limit ? [] : [`p99 ${p99Ms} ms`],
  'memory is bounded':
    seconds < GROWN_SECONDS || after <= before * MOST_GROWTH ? [] : [`${before} → ${after} MiB`],
};
process.exitCode = verdict(
  { ...own, ...broken },
  `slow host: ${delayMs} ms for each answer, ${latencies.length} purchases by chance, ${rate} a second were due and ${Math.round(perSecond)} came, ` +
    `${values.connections} connections; the gateway adds p50 ${percentile(addedMs, 0.5)} ms, p99 ${p99Ms} ms, at most ${percentile(addedMs, 1)} ms ` +
    `(the load itself is late by p99 ${ownDelay.p99Ms} ms); memory ${before} → ${after} MiB; ${figures}`,
);

/** What a purchase took beyond the time of the host. */
async function added(): Promise<number[]> {
  const [keys, tookMs] = await Promise.all([arena.keysByCorrelationId(), host.answerTimes()]);
  return latencies.flatMap(([number, latencyMs]) => {
    const hostMs = tookMs[keys.get(`${run}-${number}`) ?? ''];
    return hostMs === undefined ? [] : [latencyMs - hostMs];
  });
}

async function sample(): Promise<void> {
  const status = await readFile(`/proc/${arena.gatewayPid}/status`, 'latin1');
  samplesMiB.push(Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024));
}
