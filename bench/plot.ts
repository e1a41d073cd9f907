// Draws docs/benchmarks.svg from what `node build/bench/bench.js --out results.json` has measured: `node build/bench/plot.js results.json`.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../testkit/project.js';
import type { BenchResults } from './results.js';

const [results = 'results.json', out = join(PROJECT_ROOT, 'docs', 'benchmarks.svg')] = process.argv.slice(2);
const { operations, ceilings } = JSON.parse(await readFile(results, 'utf8')) as BenchResults;
if (ceilings === undefined) throw new Error(`${results} has no ceilings: the bench was not finished`);

const bars = [
  { label: 'bare Fastify, same schema', perSecond: ceilings.fastify, colour: '#b8c4ce' },
  { label: 'the two batched statements alone', perSecond: ceilings.statements, colour: '#b8c4ce' },
  { label: 'purchase', perSecond: ceilings.purchases, colour: '#1f6f54' },
  { label: 'purchase, a statement per request', perSecond: ceilings.ungrouped, colour: '#b8c4ce' },
  ...operations
    .filter(({ operation, connections }) => operation !== 'purchase' && connections === 64)
    .map(({ operation, perSecond }) => ({ label: operation, perSecond, colour: '#5b9a83' })),
];

const WIDTH = 800;
const ROW = 30;
const LEFT = 280;
const RIGHT = 90;
const TOP = 48;
const most = Math.max(...bars.map(({ perSecond }) => perSecond));
const height = TOP + bars.length * ROW + 16;
const rows = bars.map(({ label, perSecond, colour }, index) => {
  const y = TOP + index * ROW;
  const length = Math.max(1, Math.round((perSecond / most) * (WIDTH - LEFT - RIGHT)));
  return `  <text x="${LEFT - 12}" y="${y + 16}" text-anchor="end">${label}</text>
  <rect x="${LEFT}" y="${y}" width="${length}" height="22" fill="${colour}" rx="2"/>
  <text x="${LEFT + length + 8}" y="${y + 16}">${perSecond.toLocaleString('en')}</text>`;
});
await writeFile(
  out,
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="14" fill="#22303a">
  <title>Requests per second of each operation and of the ceilings</title>
  <rect width="${WIDTH}" height="${height}" fill="#fff"/>
  <text x="16" y="28" font-size="16" font-weight="600">Requests per second, 64 connections, two cores for everything</text>
${rows.join('\n')}
</svg>
`,
);
