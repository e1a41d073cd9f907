// Purchases a second while three consoles are open and live, beside none. The two take turns, since the machine is shared. `--stored
// 1000000` also measures how long lists over so many transactions take to open.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../testkit/gateway-process.js';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { startStandalone } from '../testkit/standalone.js';
import { fillHistory } from './measuring/filling.js';
import { measuredLoad } from './measuring/measured.js';

const values = programOptions({
  seconds: 6,
  rounds: 9,
  'warm-up': 15,
  consoles: 3,
  stored: 0,
});
const request = { ...PURCHASE, connections: 64, seconds: values.seconds };
const LEAST_SHARE = 0.95;
const LIST_WITHIN_MS = 1_000;
/** What a page that is open asks for beside its stream, and how often. */
const READS: readonly (readonly [string, number])[] = [
  ['/today', 5_000],
  ['/transactions?limit=100', 2_000],
  ['/in-doubt', 5_000],
];
/** What is opened over many stored transactions. */
const LISTS = [
  '/transactions?limit=100',
  '/transactions?status=declined',
  '/transactions?transaction_type=refund',
  '/transactions?last_four=1234',
  '/transactions?amount=4321&status=declined',
  '/transactions?acquirer=nobody',
  '/transactions?q=order-1234',
  '/transactions?q=1234',
  '/today',
  '/in-doubt',
];

const port = await freePort();
const gateway = await startStandalone({ CONSOLE_PORT: String(port) });
const base = `http://127.0.0.1:${port}`;
try {
  const cookie = await signIn();
  const { stored } = values;
  if (stored > 0) await openLists(cookie, stored);
  await load(gateway, { ...request, seconds: values['warm-up'] });
  const shares: number[] = [];
  const costs = new Map<boolean, number[]>([
    [false, []],
    [true, []],
  ]);
  for (let round = 1; round <= values.rounds; round += 1) {
    // Who comes second has more stored before it: they change places.
    const order = round % 2 === 0 ? [true, false] : [false, true];
    const perSecond = new Map<boolean, number>();
    let told = 0;
    for (const isWatched of order) {
      const consoles = isWatched ? openConsoles(cookie) : undefined;
      const { perSecond: rate, cpuMs } = await measuredLoad(gateway, request);
      perSecond.set(isWatched, rate);
      costs.get(isWatched)?.push(cpuMs.gateway + cpuMs.database);
      if (consoles !== undefined) told = await consoles.close();
    }
    const [alone = 0, watched = 0] = [perSecond.get(false), perSecond.get(true)];
    shares.push(watched / alone);
    const share = shares.at(-1)?.toFixed(3);
    say(`round ${round}: ${alone} purchases/s, watched ${watched} (${share}); ${told} answers and events`);
    if (told === 0) throw new Error('the consoles were told nothing');
  }
  say(
    `purchases while ${values.consoles} consoles are open: ${median(shares).toFixed(3)} of those while nobody looks`,
  );
  // Of a machine that others use too, this says more than what it did in a second.
  const [alone, watched] = [false, true].map((isWatched) => median(costs.get(isWatched) ?? []));
  say(
    `processor for each, gateway and PostgreSQL: ${alone?.toFixed(3)} ms while nobody looks, ${watched?.toFixed(3)} ms with the consoles`,
  );
  if (median(shares) < LEAST_SHARE) process.exitCode = 1;
} finally {
  await gateway.stop();
}

/** By the demo's link, which signs in once. */
async function signIn(): Promise<string> {
  const demo = JSON.parse(await readFile(join(gateway.dataDir, 'demo.json'), 'utf8')) as {
    console_url: string;
  };
  const [name = '', token = ''] = new URL(demo.console_url).hash.slice(1).split(':');
  const response = await fetch(`${base}/console/api/sign-in/link`, {
    method: 'POST',
    headers: { origin: base, 'content-type': 'application/json' },
    body: JSON.stringify({ name: decodeURIComponent(name), token }),
  });
  if (response.status !== 200) throw new Error(`signing in was answered ${response.status}`);
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ');
}

async function read(cookie: string, path: string): Promise<void> {
  const response = await fetch(`${base}/console/api${path}`, { headers: { cookie } });
  await response.text();
  if (response.status !== 200) throw new Error(`${path} was answered ${response.status}`);
}

/** Each as its page does. Returns how much they were told when they are closed. */
function openConsoles(cookie: string): { close(): Promise<number> } {
  const gone = new AbortController();
  let told = 0;
  let failed: unknown;
  const streams = Array.from({ length: values.consoles }, async () => {
    const response = await fetch(`${base}/console/api/live`, { headers: { cookie }, signal: gone.signal });
    if (response.status !== 200) throw new Error(`a stream was answered ${response.status}`);
    for await (const _ of response.body as unknown as AsyncIterable<Uint8Array>) told += 1;
  });
  const timers = Array.from({ length: values.consoles }, () =>
    READS.map(([path, everyMs]) => {
      const ask = () =>
        void read(cookie, path).then(
          () => (told += 1),
          (error: unknown) => (failed = error),
        );
      ask();
      return setInterval(ask, everyMs);
    }),
  ).flat();
  return {
    close: async () => {
      for (const timer of timers) clearInterval(timer);
      gone.abort();
      for (const ended of await Promise.allSettled(streams))
        if (ended.status === 'rejected' && ended.reason?.name !== 'AbortError') throw ended.reason;
      if (failed !== undefined) throw failed;
      return told;
    },
  };
}

async function openLists(cookie: string, rows: number): Promise<void> {
  const direct = new pg.Client(await gateway.databaseUrl());
  await direct.connect();
  // First purchases, so that the merchant has its data key.
  await load(gateway, { ...PURCHASE, connections: 1, count: 5 });
  const size = await fillHistory(direct, rows);
  await direct.end();
  say(`${rows} transactions stored, ${size}`);
  for (const path of LISTS) {
    const tookMs: number[] = [];
    for (let time = 0; time < 5; time += 1) {
      const fromMs = performance.now();
      await read(cookie, path);
      tookMs.push(performance.now() - fromMs);
    }
    const [first = 0] = tookMs;
    say(`${path}: ${first.toFixed(0)} ms the first time, ${median(tookMs).toFixed(0)} ms then`);
    if (first > LIST_WITHIN_MS) process.exitCode = 1;
  }
}
