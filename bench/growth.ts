// `npm run bench:growth`: what a purchase costs with ten thousand, a million, ten million … stored, beside a gateway with none, in turns.
// Draws docs/growth.svg with `--plot FILE`.
import { writeFile } from 'node:fs/promises';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { type StandaloneGateway, startStandalone } from '../testkit/standalone.js';
import { type Growth, growthPlot } from './growth-plot.js';
import { type MeasuredLoad, measuredLoad } from './measured.js';
import { storePurchases } from './stored-purchases.js';

const values = programOptions({
  // A hundred million take some 85 GB.
  stored: { type: 'string', default: '10000,1000000,10000000' },
  seconds: { type: 'string', default: '3' },
  rounds: { type: 'string', default: '7' },
  plot: { type: 'string' },
});
const sizes = values.stored.split(',').map(Number);
const FLAT = 0.2;
const WARM_UP = { ...PURCHASE, connections: 64, seconds: 8 };

const empty = await startStandalone();
const full = await startStandalone();
const curve: Growth[] = [];
try {
  for (const gateway of [empty, full]) await load(gateway, WARM_UP);
  let stored = 0;
  for (const size of sizes) {
    const startedMs = performance.now();
    const room = await storePurchases(full, { from: stored, upTo: size });
    stored = size;
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    say(`${size.toLocaleString('en')} stored and analysed, ${room} with indexes; ${seconds} s`);
    for (const gateway of [empty, full]) await load(gateway, { ...WARM_UP, seconds: 3 });
    curve.push({ stored: size, ...(await cost()) });
  }
} finally {
  await empty.stop();
  await full.stop();
}
if (values.plot !== undefined) await writeFile(values.plot, growthPlot(curve));
const worst = Math.max(...curve.map(({ processor }) => Math.abs(processor - 1)));
say(`furthest from flat: ${(100 * worst).toFixed(0)} % (wanted: at most ${100 * FLAT} %)`);
if (worst > FLAT) process.exitCode = 1;

/** With what is stored by now, as shares of what it is with none. */
async function cost(): Promise<Omit<Growth, 'stored'>> {
  const rounds: { processor: number; database: number; perSecond: number }[] = [];
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    // Who comes second has more of the machine's noise, or less: they change places.
    const order = round % 2 === 0 ? [full, empty] : [empty, full];
    const measured = new Map<StandaloneGateway, MeasuredLoad>();
    for (const gateway of order) {
      measured.set(
        gateway,
        await measuredLoad(gateway, { ...PURCHASE, connections: 64, seconds: Number(values.seconds) }),
      );
    }
    const [without, filled] = [measured.get(empty), measured.get(full)];
    if (without === undefined || filled === undefined) throw new Error('a round was not measured');
    const sum = ({ cpuMs }: MeasuredLoad) => cpuMs.gateway + cpuMs.database;
    rounds.push({
      processor: sum(filled) / sum(without),
      database: filled.cpuMs.database / without.cpuMs.database,
      perSecond: filled.perSecond / without.perSecond,
    });
  }
  const middle = (of: keyof (typeof rounds)[number]) => median(rounds.map((round) => round[of]));
  const growth = {
    processor: middle('processor'),
    database: middle('database'),
    perSecond: middle('perSecond'),
  };
  say(
    `a purchase costs ${growth.processor.toFixed(2)} of the processor time that it costs with none stored (PostgreSQL alone ` +
      `${growth.database.toFixed(2)}); purchases per second ${growth.perSecond.toFixed(2)}`,
  );
  return growth;
}
