// What a purchase costs with ten thousand, a million or ten million stored, beside none, in turns. `--plot FILE` draws docs/growth.svg.
import { writeFile } from 'node:fs/promises';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { type StandaloneGateway, startStandalone } from '../testkit/standalone.js';
import { storePurchases } from './measuring/filling.js';
import { type MeasuredLoad, measuredLoad } from './measuring/measured.js';

const WIDTH = 800;
const HEIGHT = 360;
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 150, 56, 48];
const MOST = 1.5;
const SERIES = [
  { of: 'processor', label: 'processor time', colour: '#1f6f54' },
  { of: 'database', label: 'of PostgreSQL', colour: '#5b9a83' },
  { of: 'perSecond', label: 'purchases/s', colour: '#b0563b' },
] as const;

const values = programOptions({
  // A hundred million take some 85 GB.
  stored: '10000,1000000,10000000',
  seconds: 3,
  rounds: 7,
  plot: undefined,
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
  for (let round = 1; round <= values.rounds; round += 1) {
    // Who comes second has more of the machine's noise, or less: they change places.
    const order = round % 2 === 0 ? [full, empty] : [empty, full];
    const measured = new Map<StandaloneGateway, MeasuredLoad>();
    for (const gateway of order) {
      measured.set(
        gateway,
        await measuredLoad(gateway, { ...PURCHASE, connections: 64, seconds: values.seconds }),
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

interface Growth {
  readonly stored: number;
  /** Shares of what it is with none stored. */
  readonly processor: number;
  readonly database: number;
  readonly perSecond: number;
}

function growthPlot(curve: readonly Growth[]): string {
  const powers = curve.map(({ stored }) => Math.log10(stored));
  const [first, last] = [Math.min(...powers), Math.max(...powers)];
  const x = (power: number) => LEFT + ((power - first) / Math.max(1, last - first)) * (WIDTH - LEFT - RIGHT);
  const y = (share: number) => HEIGHT - BOTTOM - (Math.min(share, MOST) / MOST) * (HEIGHT - TOP - BOTTOM);
  const grid = [0, 0.5, 1, 1.5].map(
    (
      share,
    ) => `  <line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(share)}" y2="${y(share)}" stroke="#d7dee3"/>
  <text x="${LEFT - 10}" y="${y(share) + 5}" text-anchor="end">${share}</text>`,
  );
  const marks = curve.map(
    ({ stored }, index) =>
      `  <text x="${x(powers[index] as number)}" y="${HEIGHT - BOTTOM + 24}" text-anchor="middle">${stored.toLocaleString('en')}</text>`,
  );
  const end = curve.at(-1);
  const lines = SERIES.map(({ of, label, colour }, place) => {
    const points = curve.map((one, index) => `${x(powers[index] as number)},${y(one[of])}`);
    return `  <polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="2.5"/>
  <text x="${WIDTH - RIGHT + 10}" y="${TOP + 18 * place + 4}" fill="${colour}">${label} ${end?.[of].toFixed(2)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="14" fill="#22303a">
  <title>What a purchase costs by how many are stored, as a share of what it costs with none</title>
  <rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
  <text x="16" y="28" font-size="16" font-weight="600">A purchase, by how many are stored (1: as with none)</text>
${[...grid, ...marks, ...lines].join('\n')}
</svg>
`;
}
