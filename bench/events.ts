// What the feed of events costs purchases, how late it is at half load, and what it costs when idle.
import { setTimeout as sleep } from 'node:timers/promises';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, percentile, say } from '../testkit/report.js';
import { type StandaloneGateway, startStandalone } from '../testkit/standalone.js';
import { cpuSeconds, measuredLoad } from './measuring/measured.js';

const values = programOptions({
  seconds: 8,
  rounds: 3,
  readers: 2,
});
const { seconds } = values;
const CONNECTIONS = 64;

/** Where the last reader has come to, so that the next need not read everything again. */
let resumeFrom: string | undefined;

interface Follower {
  /** How many milliseconds after it was written each event came, from the moment that nothing was left to read. */
  readonly lagsMs: number[];
  readonly caughtUp: Promise<void>;
  stop(): Promise<void>;
}

/** Follows the feed until it is told to stop. */
function follow({ client }: StandaloneGateway): Follower {
  const lagsMs: number[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;
  const pages = (wait: number) =>
    client
      .events({ limit: 100, wait, ...(resumeFrom !== undefined && { after: resumeFrom }) }, { signal })
      .pages();
  const caughtUp = (async () => {
    for await (const { next } of pages(0)) resumeFrom = next ?? resumeFrom;
  })();
  const following = caughtUp.then(async () => {
    for await (const { results, next } of pages(20)) {
      const nowMs = Date.now();
      for (const { created } of results) lagsMs.push(nowMs - Date.parse(created));
      resumeFrom = next;
    }
  });
  return {
    lagsMs,
    caughtUp,
    stop: () => {
      stopping.abort();
      return following;
    },
  };
}

const gateway = await startStandalone();
try {
  const purchases = { ...PURCHASE, connections: CONNECTIONS, seconds };
  await load(gateway, { ...purchases, seconds: 3 });
  const rates: Record<'without' | 'with', number[]> = { without: [], with: [] };
  const databaseMs: Record<'without' | 'with', number[]> = { without: [], with: [] };
  for (let round = 0; round < values.rounds; round += 1) {
    for (const kind of round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
      const readers = Array.from({ length: kind === 'with' ? values.readers : 0 }, () => follow(gateway));
      await Promise.all(readers.map(({ caughtUp }) => caughtUp));
      const { perSecond, cpuMs } = await measuredLoad(gateway, purchases);
      rates[kind].push(perSecond);
      databaseMs[kind].push(cpuMs.database);
      await Promise.all(readers.map((reader) => reader.stop()));
    }
  }
  const without = median(rates.without);
  say(
    `purchases: ${without}/s without readers (PostgreSQL ${median(databaseMs.without)} ms each), ${median(rates.with)}/s with ${values.readers} readers ` +
      `(PostgreSQL ${median(databaseMs.with)} ms each): ${(median(rates.with) / without).toFixed(2)}`,
  );

  const reader = follow(gateway);
  await reader.caughtUp;
  await load(gateway, { ...purchases, rate: without / 2 });
  await sleep(1_000);
  await reader.stop();
  const { lagsMs } = reader;
  say(
    `lag of the feed at half load, ${lagsMs.length} events: p50 ${percentile(lagsMs, 0.5)} ms, p99 ${percentile(lagsMs, 0.99)} ms, max ${percentile(lagsMs, 1)} ms`,
  );

  const waiting = follow(gateway);
  await waiting.caughtUp;
  await sleep(1_000);
  const before = await cpuSeconds(gateway);
  await sleep(10_000);
  const after = await cpuSeconds(gateway);
  await waiting.stop();
  const share = (part: 'gateway' | 'database') => `${((after[part] - before[part]) * 10).toFixed(1)} %`;
  say(
    `idle, with a reader that waits: gateway ${share('gateway')} of a core, PostgreSQL ${share('database')}`,
  );
} finally {
  await gateway.stop();
}
