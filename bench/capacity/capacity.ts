// What it takes to serve 100 to 100,000 purchases a second. The bench measures the cost of a purchase on this machine, checks the
// simulation against the measurement, and then simulates larger machines. `--costs FILE` takes an earlier measurement (written with
// `--out FILE`) instead.
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { Chance } from '../../testkit/chance.js';
import { freePort } from '../../testkit/gateway-process.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { startStandalone } from '../../testkit/standalone.js';
import { type Measured, measureCosts } from './costs.js';
import { type Costs, type Machines, simulate } from './model.js';

const values = programOptions({
  costs: undefined,
  out: undefined,
  seconds: 3,
  rounds: 3,
  // Of a remote acquirer, and of a synchronous standby in another room.
  'acquirer-ms': 300,
  'commit-ms': 1,
  // The busiest second against the average one: how much is stored in a year.
  'peak-to-average': 5,
  // What you pay in a month, in whatever currency.
  'core-month': 30,
  'gib-month': 0.1,
});
const MAX_BATCH = 256;
const CONNECTIONS = [1, 4, 16, 64, 256];
const RATES = [100, 1_000, 10_000, 100_000];
/** The highest rate, by what each cell takes of it. */
const OF_EACH_CELL = [1_000, 2_500, 10_000];
/** Nobody runs cores fuller than so: what comes by chance would wait. */
const FULL = 0.6;
/** Where one PostgreSQL ends, and another cell begins. */
const MOST_DATABASE_CORES = 32;
const MOST_WAL_MIB = 400;

const measured = values.costs === undefined ? await measure() : await read(values.costs);
if (values.out !== undefined) await writeFile(values.out, `${JSON.stringify(measured, null, 2)}\n`);
const { costs } = measured;
say(
  `a purchase: gateway ${Math.round(costs.gatewayEach)} µs and ${Math.round(costs.gatewayBatch)} µs for each batch, database ` +
    `${Math.round(costs.databaseEach)} and ${Math.round(costs.databaseBatch)}, load ${Math.round(costs.load)}; a commit waits ` +
    `${Math.round(costs.commit)} µs for the disk; ${Math.round(measured.storedBytes)} bytes stored, ${Math.round(measured.walBytes)} of write-ahead log`,
);
check();
plan();

async function measure(): Promise<Measured> {
  const port = await freePort();
  const gateway = await startStandalone({ CONSOLE_PORT: String(port) });
  try {
    return await measureCosts(gateway, `http://127.0.0.1:${port}`, {
      connections: CONNECTIONS,
      seconds: values.seconds,
      rounds: values.rounds,
    });
  } finally {
    await gateway.stop();
  }
}

async function read(file: string): Promise<Measured> {
  return JSON.parse(await readFile(file, 'utf8')) as Measured;
}

/** The simulation beside what was measured, on this machine. */
function check(): void {
  const here: Machines = {
    gateways: 1,
    gatewayCores: cpus().length,
    databaseCores: undefined,
    acquirerUs: 0,
    maxBatch: MAX_BATCH,
  };
  for (const { connections, perSecond, batch } of measured.points) {
    const said = simulate(costs, here, { connections }, { seconds: 2, chance: new Chance(connections) });
    say(
      `${connections} connections: simulated ${said.perSecond}/s in batches of ${said.batch.toFixed(1)}, measured ${perSecond}/s ` +
        `in batches of ${batch.toFixed(1)}: ${(said.perSecond / perSecond).toFixed(2)}`,
    );
  }
}

/** The least that serves each rate with cores at most `FULL`, shown by the simulation. */
function plan(): void {
  const remote = { ...costs, commit: values['commit-ms'] * 1000 };
  const acquirerUs = values['acquirer-ms'] * 1000;
  say(
    `\nWith an acquirer that takes ${values['acquirer-ms']} ms, a commit that takes ${values['commit-ms']} ms, and cores at most ${FULL} busy:`,
  );
  say(
    '| Purchases/s | Cells | Gateway processes | Database cores | p50, p99 added ms | Batch | Gateway GiB | Commits/s of a cell | Log MiB/s of a cell | GiB a year | Money a month |',
  );
  say('|---|---|---|---|---|---|---|---|---|---|---|');
  for (const perSecond of RATES) planned(perSecond, leastCells(perSecond), { remote, acquirerUs });
  say('');
  const highest = Math.max(...RATES);
  for (const each of OF_EACH_CELL) planned(highest, highest / each, { remote, acquirerUs });
}

function leastCells(perSecond: number): number {
  return Math.max(
    1,
    Math.ceil((perSecond * measured.walBytes) / 2 ** 20 / MOST_WAL_MIB),
    Math.ceil((perSecond * costs.databaseEach) / 1e6 / FULL / MOST_DATABASE_CORES),
  );
}

/** Cells share nothing, so one is simulated. */
function planned(
  perSecond: number,
  cells: number,
  { remote, acquirerUs }: { readonly remote: Costs; readonly acquirerUs: number },
): void {
  const share = perSecond / cells;
  const machines = leastMachines(share, acquirerUs);
  const seconds = Math.min(4, Math.max(1.5, 20_000 / share));
  const said = simulate(remote, machines, { perSecond: share }, { seconds, chance: new Chance(perSecond) });
  const yearGiB = (perSecond * measured.storedBytes * 31_557_600) / values['peak-to-average'] / 2 ** 30;
  const gateways = machines.gateways * cells;
  const databaseCores = (machines.databaseCores ?? 0) * cells;
  // Three of each database: the primary, a standby, a spare.
  const cores = gateways + 3 * databaseCores;
  const money = cores * values['core-month'] + 3 * yearGiB * values['gib-month'];
  const added = (ms: number) => Math.max(0, ms - acquirerUs / 1000).toFixed(0);
  const columns = [
    perSecond,
    cells,
    gateways,
    databaseCores,
    `${added(said.p50Ms)}, ${added(said.p99Ms)}`,
    said.batch.toFixed(1),
    ((gateways * measured.memoryMiB) / 1024).toFixed(1),
    Math.round((2 * share) / said.batch),
    ((share * measured.walBytes) / 2 ** 20).toFixed(1),
    Math.round(yearGiB),
    Math.round(money),
  ];
  say(`| ${columns.map((column) => column.toLocaleString('en')).join(' | ')} |`);
}

/** More processes make smaller batches, and those cost more: so it is tried upwards until nothing is too full. */
function leastMachines(perSecond: number, acquirerUs: number): Machines {
  const remote = { ...costs, commit: values['commit-ms'] * 1000 };
  let gateways = Math.max(1, Math.ceil((perSecond * costs.gatewayEach) / 1e6 / FULL));
  let databaseCores = Math.max(1, Math.ceil((perSecond * costs.databaseEach) / 1e6 / FULL));
  for (;;) {
    const machines = { gateways, gatewayCores: gateways, databaseCores, acquirerUs, maxBatch: MAX_BATCH };
    const seconds = Math.min(2, Math.max(1, 5_000 / perSecond));
    const said = simulate(remote, machines, { perSecond }, { seconds, chance: new Chance(gateways) });
    if (said.gatewayBusy <= FULL && said.databaseBusy <= FULL) return machines;
    if (said.gatewayBusy > FULL) gateways += Math.ceil(gateways * (said.gatewayBusy / FULL - 1));
    if (said.databaseBusy > FULL) databaseCores += Math.ceil(databaseCores * (said.databaseBusy / FULL - 1));
  }
}
