// The journal's chain stays whole while the processes that write it are killed. Then the journal is filled and verified while payments
// go on: the proof says how long that takes, how much memory it needs, and how payments are affected.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalKey } from '../../src/gateway/callers.js';
import { openKeyProvider } from '../../src/gateway/settings/key-encryption.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { ChainKey } from '../../src/journal/blocks.js';
import { JournalChain } from '../../src/journal/chain.js';
import { EntrySigner, setSigner } from '../../src/journal/entry-signer.js';
import { journalAll } from '../../src/journal/journal.js';
import { Database } from '../../src/postgres/database.js';
import { paymentBody } from '../../testkit/bodies.js';
import { Chance, newSeed } from '../../testkit/chance.js';
import { leaveNothingBehind, type RunningProcess, start } from '../../testkit/gateway-process.js';
import { Installation } from '../../testkit/installation.js';
import { programOptions } from '../../testkit/program-options.js';
import { asEnvironment, compiledProgram } from '../../testkit/project.js';
import { verdict } from '../arena/verdict.js';

const values = programOptions({
  entries: 1_000_000,
  writers: 4,
  kills: 40,
  seed: newSeed(),
});
const { entries: most, writers, kills } = values;
const chance = new Chance(values.seed);
const BATCH = 2_000;

const installation = await Installation.open();
const { baseUrl } = await installation.firstGateway({ keep: 'nothing' });
const client = installation.clientAt(baseUrl);
const { url } = installation.database;
const settings = asEnvironment({ DATA_DIR: installation.dataDir });
const database = new Database(url, { maxConnections: 2 });
const key = await journalKey(database, await openKeyProvider(readSettings(settings), database));
setSigner(database, new EntrySigner(key, 'proof'));

const whole: string[] = [];
const complaints: string[] = [];

interface Verified {
  readonly entries: number;
  readonly unchained: number;
  readonly problems: readonly object[];
  readonly seconds: number;
  readonly peakBytes: number;
}

/** As an operator does it, in a process of its own. */
async function verified(): Promise<Verified> {
  const beganMs = performance.now();
  const running = installation.begun('journal', 'verify', '--json');
  let peakBytes = 0;
  let isRunning = true;
  const watching = (async () => {
    while (isRunning) {
      const status = await readFile(`/proc/${running.pid}/status`, 'utf8').catch(() => '');
      peakBytes = Math.max(peakBytes, 1024 * Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0));
      await sleep(20);
    }
  })();
  const { stdout, stderr } = await running.ended;
  isRunning = false;
  await watching;
  if (stderr !== '') whole.push(stderr);
  const found = JSON.parse(stdout || '{"problems":[]}');
  for (const problem of found.problems) whole.push(JSON.stringify(problem));
  return { ...found, peakBytes, seconds: (performance.now() - beganMs) / 1_000 };
}

/** Its first entries are stored when it is returned. */
async function startWriter(): Promise<RunningProcess> {
  const node = [compiledProgram('proof/journal/writer'), url, key.toString('hex')];
  let begun = () => {};
  const writing = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const onLine = (line: string) => (line === 'writing' ? begun() : void complaints.push(line));
  const writer = start(node, {}, { command: process.execPath, onLine });
  await Promise.race([writing, writer.ended]);
  return writer;
}

const running = await Promise.all(Array.from({ length: writers }, startWriter));
for (let kill = 0; kill < kills; kill += 1) {
  await sleep(chance.below(200));
  const place = chance.below(writers);
  const victim = running[place] as RunningProcess;
  victim.kill('SIGKILL');
  await victim.ended;
  // Also while the others write.
  if (kill % 10 === 1) await verified();
  running[place] = await startWriter();
}
for (const writer of running) writer.kill('SIGKILL');
await Promise.all(running.map(({ ended }) => ended));
const killed = await verified();
const LEAST_OF_WRITER = 50;
if (killed.entries < (kills + writers) * LEAST_OF_WRITER)
  complaints.push(`only ${killed.entries} entries were written`);

const chain = new JournalChain(database, new ChainKey(key), { onForeign: () => {}, onCut: () => {} });
for (let count = killed.entries; count < most; count += BATCH) {
  const entry = {
    actor: 'user:shop',
    action: 'token.opened',
    correlationId: `${count}`,
    address: '192.0.2.1',
  } as const;
  await journalAll(
    database,
    Array.from({ length: Math.min(BATCH, most - count) }, () => entry),
  );
  if (count % 50_000 < BATCH) await chain.run();
}
await chain.run();

const refused: string[] = [];
/** How long payments take, one after the other, until told to stop. */
async function paying(isOver: () => boolean): Promise<number[]> {
  const tookMs: number[] = [];
  while (!isOver()) {
    const beganMs = performance.now();
    await client
      .purchase(paymentBody({ merchant: installation.merchantId }))
      .catch((error: Error) => refused.push(error.message));
    tookMs.push(performance.now() - beganMs);
  }
  return tookMs.sort((one, other) => one - other);
}

let isOver = false;
const trade = paying(() => isOver);
const full = await verified();
isOver = true;
const tookMs = await trade;
const quantile = (share: number) => (tookMs[Math.floor(tookMs.length * share)] ?? 0).toFixed(1);
if (full.entries < most) whole.push(`only ${full.entries} entries were looked at`);

await database.close();
await installation.close();
await leaveNothingBehind();
process.exitCode = verdict(
  {
    'the chain is whole': whole,
    'writers run until they are killed, and find nothing foreign and no cut': complaints,
    'payments go on': refused,
  },
  `journal: seed ${values.seed}, ${kills} kills of ${writers} writers, ${killed.entries} entries; ` +
    `${full.entries} entries verified in ${full.seconds.toFixed(1)} s with ${Math.round(full.peakBytes / 2 ** 20)} MB at most, ` +
    `${tookMs.length} purchases meanwhile, ${quantile(0.5)} ms in the middle, ${quantile(0.99)} ms p99`,
);
