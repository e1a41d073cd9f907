// What each operation costs the processor: gateway, PostgreSQL and load apart, in turns with the same program once more. `--against DIR`
// adds another version: a checkout that `npm run build:programs` has built. Every round starts new processes. What the two identical
// gateways differ by is printed beside each figure: no smaller difference means anything.
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { PROJECT_ROOT } from '../testkit/project.js';
import { median, say } from '../testkit/report.js';
import type { StandaloneGateway, startStandalone } from '../testkit/standalone.js';
import { cpuSeconds, measuredLoad } from './measuring/measured.js';
import { OPERATIONS, prepare } from './operations/requests.js';

const values = programOptions({
  against: undefined,
  rounds: 5,
  requests: 8_000,
  warm: 20_000,
  idle: 20,
  connections: ['1', '64'],
  only: ['purchase', 'refund by audit', 'purchase by token', 'look-up', 'search'],
});

/** A lone client waits for each answer. */
const ALONE = 1;
const SHARE_ALONE = 0.25;
const LARGEST_LOAD = 64;

const PARTS = ['gateway', 'PostgreSQL', 'load', 'log records', 'log bytes'] as const;
type Figures = Record<(typeof PARTS)[number], number>;

interface Subject {
  readonly name: 'this' | 'control' | 'other';
  readonly start: typeof startStandalone;
  /** Of each round, by what was measured. */
  readonly measured: Map<string, Figures[]>;
}

const subjects: Subject[] = [await subject('this', PROJECT_ROOT), await subject('control', PROJECT_ROOT)];
if (values.against !== undefined) subjects.push(await subject('other', resolve(values.against)));

say('µs of the processor for each request, and per mille of a core while idle; medians, and their range');
for (let round = 0; round < values.rounds; round += 1) {
  // Nobody is always the first.
  for (let turn = 0; turn < subjects.length; turn += 1)
    await measure(subjects[(round + turn) % subjects.length] as Subject);
  say(`round ${round + 1} of ${values.rounds}`);
}
for (const what of subjects[0]?.measured.keys() ?? []) for (const part of PARTS) show(what, part);

/** Each version runs by its own testkit, which knows how to start it. */
async function subject(name: Subject['name'], root: string): Promise<Subject> {
  const { href } = pathToFileURL(join(root, 'build/testkit/standalone.js'));
  const standalone: { startStandalone: typeof startStandalone } = await import(href);
  return { name, start: standalone.startStandalone, measured: new Map() };
}

async function measure({ start, measured }: Subject): Promise<void> {
  const gateway = await start();
  const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
  await database.connect();
  try {
    const note = (what: string, figures: Figures) =>
      measured.set(what, [...(measured.get(what) ?? []), figures]);
    await load(gateway, { ...PURCHASE, connections: LARGEST_LOAD, count: values.warm });
    const targets = await prepare(gateway.client);
    for (const { name, request } of OPERATIONS.filter(({ name: each }) => values.only.includes(each))) {
      const options = request(targets);
      await load(gateway, { ...options, connections: LARGEST_LOAD, count: values.requests / 2 });
      for (const connections of values.connections.map(Number)) {
        const count = values.requests * (connections === ALONE ? SHARE_ALONE : 1);
        const before = await logWritten(database);
        const { cpuMs, requests } = await measuredLoad(gateway, { ...options, connections, count });
        const after = await logWritten(database);
        note(`${name}, ${connections} at a time`, {
          gateway: cpuMs.gateway * 1_000,
          PostgreSQL: cpuMs.database * 1_000,
          load: cpuMs.load * 1_000,
          'log records': (after.records - before.records) / requests,
          'log bytes': (after.bytes - before.bytes) / requests,
        });
      }
    }
    if (values.idle > 0) note('idle', await idle(gateway, database));
  } finally {
    await database.end();
    await gateway.stop();
  }
}

/** Per mille of a core. */
async function idle(gateway: StandaloneGateway, database: pg.Client): Promise<Figures> {
  // What the load has left to do is done by then: sessions that were needed for it only, too.
  await sleep(values.idle * 1_000);
  const [before, logBefore] = [await cpuSeconds(gateway), await logWritten(database)];
  await sleep(values.idle * 1_000);
  const [after, logAfter] = [await cpuSeconds(gateway), await logWritten(database)];
  const each = (used: number) => (used * 1_000) / values.idle;
  return {
    gateway: each(after.gateway - before.gateway),
    PostgreSQL: each(after.database - before.database),
    load: 0,
    'log records': (logAfter.records - logBefore.records) / values.idle,
    'log bytes': (logAfter.bytes - logBefore.bytes) / values.idle,
  };
}

/** Sessions tell their share at most once a second. */
async function logWritten(database: pg.Client): Promise<{ records: number; bytes: number }> {
  await sleep(1_100);
  const { rows } = await database.query<{ records: string; bytes: string }>(
    'SELECT wal_records AS records, wal_bytes AS bytes FROM pg_stat_wal',
  );
  return { records: Number(rows[0]?.records), bytes: Number(rows[0]?.bytes) };
}

function show(what: string, part: keyof Figures): void {
  const of = ({ measured }: Subject) => (measured.get(what) ?? []).map((figures) => figures[part]);
  const [mine, control, other] = subjects.map(of);
  if (mine === undefined || control === undefined || median(mine) === 0) return;
  const own = [...mine, ...control];
  const difference = percent(median(control) / median(mine));
  const compared =
    other === undefined
      ? ''
      : `; other ${spread(other)}, this is ${(median(own) / median(other)).toFixed(2)} of it`;
  say(`${what}: ${part} ${spread(own)}, control ${difference}${compared}`);
}

function spread(figures: readonly number[]): string {
  return `${shown(median(figures))} (${shown(Math.min(...figures))} to ${shown(Math.max(...figures))})`;
}

function shown(figure: number): string {
  return figure < 100 ? figure.toFixed(1) : figure.toFixed(0);
}

function percent(ratio: number): string {
  return `${ratio < 1 ? '' : '+'}${((ratio - 1) * 100).toFixed(1)} %`;
}
