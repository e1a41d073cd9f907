// A backup of a trading gateway restores everything acknowledged before it, and no number is given out twice. Meanwhile the backups, the
// gateway and its PostgreSQL are killed. The backup is restored twice.
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerEntry } from '../../src/acquirers/simulator/ledger.js';
import { askedAgain, differences, type StoredTransaction, wrongReservations } from '../../testkit/books.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { type Ended, leaveNothingBehind } from '../../testkit/gateway-process.js';
import { HostProcess } from '../../testkit/iso8583-host/host-process.js';
import { copyPreparedCluster } from '../../testkit/prepared-cluster.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { verdict } from '../arena/verdict.js';
import { type GivenIds, Life } from './life-of-a-backup.js';

const values = programOptions({
  // How long is traded before the backup, after it, and in each life that it is brought back to.
  seconds: 20,
  // At once, for each of two merchants.
  traders: 6,
  seed: newSeed(),
});
const { seed, traders } = values;
const random = new Chance(seed);
const tradeMs = values.seconds * 1_000;
const SERVES_LIMIT_MS = 60_000;
/** What was in doubt in the backup was approved after it, and refunded: of that the reversal in a restored life knows nothing. */
const REFUNDED_LATER = 'something else stands on its original';
say(`backup: seed ${seed}`);

const folder = temporaryFolder('backups');
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
const ledger = join(folder, 'ledger.ndjson');
const host = await HostProcess.start({ ledgerPath: join(folder, 'host-ledger') });
const broken = {
  'a backup that is disturbed fails clearly, or is whole': [] as string[],
  'what was acknowledged before the backup is there': [] as string[],
  'the books agree on it to the cent': [] as string[],
  'no audit is given out twice': [] as string[],
  'no customer or token ID is given out twice': [] as string[],
  'the host has seen no STAN twice': [] as string[],
  'a restored gateway serves': [] as string[],
};

const first = await Life.begin(ledger, traders);
await copyPreparedCluster(first.dataDir);
await first.start();
const tenants = await first.tenants();
const [simulated, , overHost] = tenants.merchants as [number, number, number];
await overIso8583(first, overHost);
let over = false;
const trading = first.trade(tenants, [simulated, overHost], random, () => over);
await sleep(tradeMs / 2);

say('… trading');
for (const [number, disturbance] of random.shuffled(['backup', 'postgres', 'gateway'] as const).entries()) {
  await disturbed(disturbance, join(folder, `disturbed-${number}`));
}
const idsBefore = await first.makeIds(tenants, 'before');
const begunMs = performance.now();
say('… a backup in peace');
const backup = join(folder, 'backup');
const made = await first.command('backup', backup, '--json');
if (made.code !== 0) throw new Error(`no backup: ${made.stderr}`);
const { bytes } = JSON.parse(made.stdout);
const tookMs = performance.now() - begunMs;
// What is used from now on is lost, and known to acquirers and clients all the same.
const idsAfter = await first.makeIds(tenants, 'after');
await sleep(tradeMs / 2);
over = true;
await trading;
await first.crashGateway();

const given: { audits: number[]; ids: GivenIds }[] = [
  { audits: auditsOf(first), ids: [...idsBefore, ...idsAfter] },
];
let [restored, agreed] = [0, 0];
for (const name of ['second', 'third']) {
  say(`… the ${name} life`);
  const life = await Life.begin(ledger, traders);
  const ended = await life.restore(backup, first);
  if (ended.code !== 0) throw new Error(`no restore: ${ended.stderr}`);
  await life.start();
  const rows = await life.decidedTransactions();
  restored = rows.length;
  checkAcknowledged(rows);
  const references = new Set(rows.map(({ acquirerReference }) => acquirerReference));
  // What was done after the backup is the acquirer's alone. Over the host nobody can ask what became of a payment.
  const known = (await ledgerEntries()).filter(({ reference }) => references.has(reference));
  const atSimulator = new Set(known.map(({ reference }) => reference));
  const booked = rows.filter((row) => atSimulator.has(row.acquirerReference));
  agreed += booked.length;
  broken['the books agree on it to the cent'].push(...differences(booked, known), ...wrongReservations(rows));
  const [untilMs, atLastMs] = [tradeMs, SERVES_LIMIT_MS].map((ms) => performance.now() + ms) as [
    number,
    number,
  ];
  const serves = () => life.attempts.some(({ status }) => status === 'approved');
  // On a slow machine the first payment alone takes longer than a short trade.
  const isOver = () => performance.now() > untilMs && (serves() || performance.now() > atLastMs);
  await life.trade(tenants, [simulated, overHost], random, isOver);
  if (!serves()) {
    broken['a restored gateway serves'].push(`nothing was approved in the ${name} life`);
  }
  given.push({ audits: auditsOf(life), ids: await life.makeIds(tenants, name) });
  await life.stop();
}
broken['no audit is given out twice'].push(
  ...twice(given.flatMap(({ audits }) => audits)).map((audit) => `audit ${audit}`),
  ...askedAgain(await ledgerEntries()).map((reference) => `the acquirer was asked again for ${reference}`),
);
broken['no customer or token ID is given out twice'].push(...twice(given.flatMap(({ ids }) => ids)));
const complaints = await host.complaints();
broken['the host has seen no STAN twice'].push(
  ...complaints
    .filter(({ detail }) => detail !== REFUNDED_LATER)
    .map(({ what, mti, key, detail = '' }) => `${what}: ${mti} ${key} ${detail}`),
);
const overIso = host.entries().length;
await host.stop();
await leaveNothingBehind();

process.exitCode = verdict(
  broken,
  `backup: seed ${seed}, ${first.orders.length} orders before and after a backup of ${Math.ceil(bytes / 1024 / 1024)} MB that took ${Math.round(tookMs)} ms, ` +
    `3 disturbed backups, restored twice with ${restored} transactions, ${agreed} of them held against the simulator's books, ` +
    `${overIso} entries in the host's; ${given.map(({ audits }) => audits.length).join(' + ')} audits given out`,
);

/** The second merchant pays over a host that has no inquiry. */
async function overIso8583(life: Life, merchant: number): Promise<void> {
  const commands = [
    [
      'acquirer',
      'add',
      'host',
      '--kind',
      'iso8583',
      '--address',
      host.address,
      '--test',
      '--deadline',
      '1000',
    ],
    ['merchant', 'set', `${merchant}`, '--acquirer', 'host', '--acceptor-id', 'SHOP', '--terminals', 'T1,T2'],
  ];
  for (const args of commands) {
    const { code, stderr } = await life.command(
      ...args,
      ...(args[0] === 'merchant' ? ['--category-code', '5999'] : ['--institution', '560279']),
    );
    if (code !== 0) throw new Error(stderr);
  }
}

/** A backup during which something is killed with -9. */
async function disturbed(what: 'backup' | 'postgres' | 'gateway', to: string): Promise<void> {
  const promise = broken['a backup that is disturbed fails clearly, or is whole'];
  say(`… a backup, and the end of the ${what}`);
  const running = first.begun('backup', to);
  // As soon as it copies, or has ended.
  await Promise.race([copying(to), running.ended]);
  await sleep(random.below(300));
  if (what === 'backup') running.kill('SIGKILL');
  if (what === 'postgres') await first.killPostgres();
  if (what === 'gateway') {
    await first.crashGateway();
    await first.start();
  }
  const ended: Ended = await running.ended;
  const isWhole = existsSync(join(to, 'manifest.json'));
  if (ended.code === 0 && !isWhole) promise.push(`${what}: it says that it is done, and is not whole`);
  if (ended.code !== 0 && ended.signal === null) {
    if (!/^tollgate: [^\n]*\n$/.test(ended.stderr)) promise.push(`${what}: ${ended.stderr}`);
    if (existsSync(to)) promise.push(`${what}: something is left of it: ${await readdir(to)}`);
  }
  if (what === 'gateway' && ended.code !== 0)
    promise.push(`the gateway was killed, and the backup failed: ${ended.stderr}`);
  if (isWhole) return;
  const life = await Life.begin(ledger, traders);
  const { code, stderr } = await life.command('restore', to);
  if (code !== 1 || !stderr.includes('no complete backup'))
    promise.push(`${what}: half a backup was restored: ${stderr}`);
}

async function copying(to: string): Promise<void> {
  while (!existsSync(join(to, 'postgres', 'base'))) await sleep(10);
}

/** What the shop was told before the backup began is told again, unless the shop has voided it since. */
function checkAcknowledged(rows: readonly StoredTransaction[]): void {
  const before = first.attempts.filter(first.answeredBefore(begunMs));
  const touched = new Set(
    first.orders.filter(({ kind }) => kind === 'void').map(({ targetAudit }) => targetAudit),
  );
  const found = new Map(rows.map(({ audit, status, correlationId }) => [audit, { status, correlationId }]));
  for (const { audit, status, correlationId } of before) {
    const here = found.get(audit as number);
    const same = here?.status === status || (here?.status === 'voided' && touched.has(audit));
    if (!same || here?.correlationId !== correlationId) {
      broken['what was acknowledged before the backup is there'].push(
        `${correlationId}: told ${status} under ${audit}, found ${here?.status} of ${here?.correlationId}`,
      );
    }
  }
  if (before.length === 0) broken['what was acknowledged before the backup is there'].push('nothing was');
}

function auditsOf({ attempts }: Life): number[] {
  return attempts.flatMap(({ audit }) => (audit === undefined ? [] : [audit]));
}

function twice<Value>(list: readonly Value[]): Value[] {
  const seen = new Set<Value>();
  return list.filter((value) => seen.size === seen.add(value).size);
}

async function ledgerEntries(): Promise<LedgerEntry[]> {
  return (await readFile(ledger, 'utf8'))
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      // A line that was cut short is no entry: a process was killed while it wrote.
      try {
        return [JSON.parse(line) as LedgerEntry];
      } catch {
        return [];
      }
    });
}
