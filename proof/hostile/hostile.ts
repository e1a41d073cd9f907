// Bent requests, raw bytes and slow clients neither crash the gateway nor get a secret or a 500 out of it. Requests are made from the
// gateway's own OpenAPI document. A broken promise ends the proof with 1 and prints its request as JSON; `--replay FILE` sends such a
// request again.
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Chance, newSeed } from '../../testkit/chance.js';
import { programOptions } from '../../testkit/program-options.js';
import { compiledProgram } from '../../testkit/project.js';
import { median, say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { Secrets } from '../arena/secrets.js';
import { bendsOf } from './bends.js';
import type { Bend, Case, RawCase, RequestCase } from './case.js';
import { type Exchanged, exchange, type HttpResponse, Kept } from './connection.js';
import { ApiDocument } from './document.js';
import { type HostileGateway, startGateway } from './gateway.js';
import type { Measures, Stall } from './inside.js';
import { Judge } from './judge.js';
import { Proper } from './proper.js';
import { RawCases } from './raw.js';
import { SlowClients } from './slow.js';
import { Stock } from './stock.js';

// What a leak of a kilobyte a request would be in a long run, and more than compiled code still adds.
const allowed = (bytes: number) => Math.max(bytes * 0.1, 12 * 2 ** 20);

const values = programOptions({
  requests: 20_000,
  seed: newSeed(),
  replay: undefined,
});
const replayed =
  values.replay === undefined
    ? undefined
    : (JSON.parse(await readFile(values.replay, 'utf8')) as Case & { seed: number });
const seed = replayed?.seed ?? values.seed;
const { requests } = values;

const AT_ONCE = 12;
const STAGES = 10;
const STALL_MS = 100;
/** One in so many is raw bytes. */
const RAW_ONE_IN = 7;
const MOST_SHOWN = 10;
const LONG_RUN = 5_000;

say(`seed ${seed}`);

const chance = new Chance(seed);
const secrets = new Secrets(new Chance(seed + 1));
const lines: string[] = [];
let hear = (line: string): void => void lines.push(line);
const recent: Sending[] = [];
const suspects = new Map<string, Case>();

const gateway = await startGateway({
  onLine: (line) => hear(line),
  onStall: suspect,
});
const control = new Kept(gateway.port);
const proper = new Proper(chance, secrets);
const described = await control.send('GET /v1/openapi.json HTTP/1.1\r\nHost: gateway\r\n\r\n');
const document = new ApiDocument(JSON.parse(described?.body ?? ''));
const judge = new Judge(document, secrets);
for (const line of lines) judge.line(line);
hear = (line) => judge.line(line);
const stock = new Stock(gateway, new Proper(new Chance(seed + 2), secrets));
await stock.fill(control);
proper.customerId = stock.customerId;
proper.virtualPan = stock.virtualPan;
// The start is over; from now on what stalls is input.
await gateway.measure();

if (replayed) await replay(replayed);
else await run();

async function run(): Promise<void> {
  const slow = new SlowClients(gateway, (promise, detail) => judge.breaks(promise, detail));
  slow.start({
    each: requests >= LONG_RUN ? 20 : 4,
    patient: requests >= LONG_RUN,
    purchase: () => {
      const id = proper.chance.id();
      return {
        id,
        bytes: stock.post('/transactions/purchase', stock.payment(), id, 'Connection: close\r\n'),
      };
    },
  });
  const probe = startProbe(gateway, async (answered) => {
    if (!(await hasCrashed())) judge.breaks('always reachable', `the probe got ${answered}`);
  });
  const next = cases();
  const memory: Measures[] = [];
  const begunMs = performance.now();
  let [delayMs, stallMs] = [0, 0];
  const counts = { bent: 0, proper: 0, raw: 0 };
  for (let stage = 1; stage <= STAGES && !gateway.hasEnded(); stage += 1) {
    let left = Math.round((requests * stage) / STAGES) - Math.round((requests * (stage - 1)) / STAGES);
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const connection = new Kept(gateway.port);
        while (left > 0 && !gateway.hasEnded()) {
          left -= 1;
          const one = next();
          counts[one.raw ? 'raw' : one.expect.accepted ? 'proper' : 'bent'] += 1;
          await perform(one, connection);
        }
        connection.close();
      }),
    );
    if (await hasCrashed()) break;
    const measured = await gateway.measure('memory');
    delayMs = Math.max(delayMs, measured.delayMs);
    stallMs = Math.max(stallMs, measured.stallMs);
    memory.push(measured);
  }
  const seconds = ((performance.now() - begunMs) / 1_000).toFixed(0);
  await slow.end();
  for (const id of gateway.hasEnded() ? [] : slow.unprocessed) {
    if (await stock.isProcessed(control, id)) judge.breaks('no half request is processed', id);
  }
  const outsideMs = await probe.end();
  const repeated = await repeatSuspects();
  const growth = memoryGrowth(memory, STAGES, (detail) => judge.breaks('memory stays flat', detail));
  await finish();

  const inMiB = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
  const total = counts.bent + counts.proper + counts.raw;
  const statuses = Object.entries(judge.statuses).map(([status, count]) => `${status} × ${count}`);
  say(
    `seed ${seed}: ${total} requests in ${seconds} s (${counts.bent} bent, ${counts.proper} proper, ${counts.raw} raw) and ${slow.count} slow clients; ` +
      `answers ${statuses.join(', ')}; longest stall ${stallMs.toFixed(0)} ms (${delayMs.toFixed(0)} ms with waits for a core, ${outsideMs.toFixed(0)} ms for the probe), ` +
      `${suspects.size} suspects repeated alone, ${repeated} stalled again; ` +
      `RSS after GC ${inMiB(growth.firstRss)} → ${inMiB(growth.secondRss)} MiB, heap ${inMiB(growth.firstHeap)} → ${inMiB(growth.secondHeap)} MiB; ` +
      `${secrets.cardCount} card numbers not found in ${secrets.searched.answers} answers and ${secrets.searched.lines} log lines; ` +
      `${judge.broken.length} promises broken`,
  );
}

/** Every bend once in an order made by chance, then again in another one. */
function cases(): () => Case {
  const bends = bendsOf(document, proper, gateway);
  const raw = new RawCases(chance, secrets, gateway);
  let order: Bend[] = [];
  return () => {
    if (chance.below(RAW_ONE_IN) === 0) return raw.next();
    if (order.length === 0) order = chance.shuffled(bends);
    const bend = order.pop() as Bend;
    return { what: bend.what, ...bend.make() };
  };
}

/** A case and when it was under way. */
interface Sending {
  readonly one: Case;
  fromMs: number;
  untilMs: number;
}

/** What came back, as text. */
async function perform(one: Case, connection: Kept): Promise<string | undefined> {
  judge.remember(one);
  const sending: Sending = { one, fromMs: nowMs(), untilMs: Infinity };
  recent.push(sending);
  if (recent.length > 400) recent.shift();
  try {
    const text = one.raw ? await performRaw(one, sending) : await performRequest(one, connection, sending);
    if (text === undefined) return undefined;
    for (const id of one.expect.unprocessed ?? []) {
      if (await stock.isProcessed(connection, id))
        judge.breaks('nothing hidden or cut off is processed', id, one);
    }
    return text;
  } catch (error) {
    if (!(await hasCrashed())) {
      judge.breaks('an answer to what is needed for a request', (error as Error).message, one);
    }
    return undefined;
  }
}

async function performRequest(
  one: RequestCase,
  connection: Kept,
  sending: Sending,
): Promise<string | undefined> {
  const bytes = await stock.filled(connection, one.bytes, one.fresh ?? false);
  sending.fromMs = nowMs();
  const answer = await connection.send(bytes);
  if (await isUnderWayForEver(answer)) return undefined;
  sending.untilMs = nowMs();
  judge.answer(one, answer);
  return answer?.text ?? '';
}

async function performRaw(one: RawCase, sending: Sending): Promise<string | undefined> {
  const came = await exchange(gateway.port, { ...one, parts: await filledParts(one) });
  if (await isUnderWayForEver(came)) return undefined;
  sending.untilMs = nowMs();
  judge.connection(one, came);
  return came.text;
}

/** Where nothing came the gateway may have crashed, and whatever was under way may have done it. */
async function isUnderWayForEver(came: HttpResponse | Exchanged | undefined): Promise<boolean> {
  return !came?.text && (await hasCrashed());
}

async function filledParts(one: Case): Promise<string[]> {
  const parts: string[] = [];
  for (const part of one.raw ? one.parts : [one.bytes]) parts.push(await stock.filled(control, part, false));
  return parts;
}

async function hasCrashed(): Promise<boolean> {
  await Promise.race([gateway.ended, sleep(50)]);
  return gateway.hasEnded();
}

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Whatever was under way when the event loop stood still may have done it. */
function suspect({ fromMs, untilMs }: Stall): void {
  for (const sending of recent) {
    if (sending.fromMs < untilMs && sending.untilMs > fromMs) suspects.set(sending.one.what, sending.one);
  }
}

/** Alone, and up to three times: a machine that is shared stalls now and then by itself. */
async function repeatSuspects(): Promise<number> {
  let repeated = 0;
  for (const one of gateway.hasEnded() ? [] : suspects.values()) {
    const stalls: number[] = [];
    let stallMs: number;
    do {
      stallMs = await stallOf(one);
      stalls.push(stallMs);
    } while (stallMs > STALL_MS && stalls.length < 3);
    if (stallMs <= STALL_MS) continue;
    repeated += 1;
    const alone = stalls.map((stall) => stall.toFixed(0)).join(', ');
    judge.breaks(`no stall over ${STALL_MS} ms`, `alone: ${alone} ms`, one);
  }
  return repeated;
}

async function stallOf(one: Case): Promise<number> {
  const parts = await filledParts(one);
  await gateway.measure();
  if (one.raw) await exchange(gateway.port, { ...one, parts });
  else await control.send(parts.join(''));
  return (await gateway.measure()).stallMs;
}

/** Stops the gateway and says what was broken. */
async function finish(): Promise<void> {
  const crashed = gateway.hasEnded();
  const underWay = recent.filter(({ untilMs }) => untilMs === Infinity).map(({ one }) => one);
  const serverLog = secrets.foundIn(await gateway.serverLog());
  if (serverLog) judge.breaks('no secret in the log', `${serverLog} in the log of PostgreSQL`);
  const { code, signal } = await gateway.stop();
  control.close();
  if (crashed && !replayed) {
    const alone = await culprits(seed, underWay);
    // If none of them does it alone, all are shown.
    for (const one of alone.length > 0 ? alone : underWay) judge.breaks('no crash', 'it was under way', one);
  }
  if (code !== 0) judge.breaks('no crash', `the gateway ended with ${signal ?? code}`);
  for (const { promise, detail, case: one } of judge.broken.slice(0, MOST_SHOWN)) {
    say(`broken: ${promise}: ${detail}`);
    if (one) say(JSON.stringify({ seed, ...one }));
  }
  if (judge.broken.length > MOST_SHOWN) say(`and ${judge.broken.length - MOST_SHOWN} more`);
  if (judge.broken.length > 0) process.exitCode = 1;
}

async function replay({ seed: _seed, ...one }: Case & { seed: number }): Promise<void> {
  secrets.learn(JSON.stringify(one));
  say((await perform(one, control)) || 'no answer');
  suspects.set(one.what, one);
  await repeatSuspects();
  await finish();
  say(`${judge.broken.length} promises broken`);
}

/** Those that crash a gateway all by themselves. */
async function culprits(seed: number, cases: readonly Case[]): Promise<Case[]> {
  const folder = temporaryFolder('crash');
  const found: Case[] = [];
  for (const one of cases) {
    const file = join(folder, 'case.json');
    await writeFile(file, JSON.stringify({ seed, ...one }));
    if ((await outputOf(file)).includes('broken: no crash')) found.push(one);
  }
  return found;
}

function outputOf(file: string): Promise<string> {
  const child = spawn(process.execPath, [compiledProgram('proof/hostile/hostile'), '--replay', file], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) => child.once('close', () => resolve(output)));
}

interface Growth {
  readonly firstRss: number;
  readonly secondRss: number;
  readonly firstHeap: number;
  readonly secondHeap: number;
}

/** `planned`: how many stages the run was to have. The first one only warms up. */
function memoryGrowth(
  stages: readonly Measures[],
  planned: number,
  broken: (detail: string) => void,
): Growth {
  const first = stages.slice(1, planned / 2);
  const second = stages.slice(planned / 2);
  const growth = {
    firstRss: median(first.map(({ rss }) => rss)),
    secondRss: median(second.map(({ rss }) => rss)),
    firstHeap: median(first.map(({ heapUsed }) => heapUsed)),
    secondHeap: median(second.map(({ heapUsed }) => heapUsed)),
  };
  if (growth.secondRss - growth.firstRss > allowed(growth.firstRss)) {
    broken(`RSS ${growth.firstRss} → ${growth.secondRss}`);
  }
  if (growth.secondHeap - growth.firstHeap > allowed(growth.firstHeap)) {
    broken(`heap ${growth.firstHeap} → ${growth.secondHeap}`);
  }
  return growth;
}

/** A cheap request at a steady pace on a connection of its own. */
function startProbe(
  gateway: Pick<HostileGateway, 'port' | 'hasEnded'>,
  unreached: (status: number | undefined) => Promise<void>,
): { end(): Promise<number> } {
  const connection = new Kept(gateway.port);
  let longestMs = 0;
  let ended = false;
  const task = (async () => {
    while (!ended && !gateway.hasEnded()) {
      const begunMs = performance.now();
      const answer = await connection.send('GET /livez HTTP/1.1\r\nHost: gateway\r\n\r\n');
      longestMs = Math.max(longestMs, performance.now() - begunMs);
      if (answer?.status !== 200) await unreached(answer?.status);
      await sleep(20);
    }
    connection.close();
  })();
  return {
    end: async () => {
      ended = true;
      await task;
      return longestMs;
    },
  };
}
