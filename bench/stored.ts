// Purchases, idle PostgreSQL and doubts with ten million stored transactions, beside an empty table, in turns. The stored transactions
// are analysed.
import { setTimeout as sleep } from 'node:timers/promises';
import { Tollgate } from '../client/src/index.js';
import { paymentBody } from '../testkit/bodies.js';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { type StandaloneGateway, startStandalone } from '../testkit/standalone.js';
import { UNREADABLE_ANSWER_CARD } from '../testkit/test-cards.js';
import { storePurchases, withDatabase } from './measuring/filling.js';
import { cpuSeconds } from './measuring/measured.js';

const values = programOptions({
  stored: 10_000_000,
  seconds: 5,
  rounds: 5,
  // How long nobody asks for anything.
  idle: 60,
  doubts: 20,
});
const STORED = values.stored;

/** The share of a core that PostgreSQL takes, of each gateway, while nobody asks for anything. */
async function idleShares(): Promise<{ empty: number; full: number }> {
  const usedSeconds = async () => ({
    empty: (await cpuSeconds(empty.gateway)).database,
    full: (await cpuSeconds(full.gateway)).database,
  });
  const before = await usedSeconds();
  const startedMs = performance.now();
  await sleep(values.idle * 1000);
  const seconds = (performance.now() - startedMs) / 1000;
  const after = await usedSeconds();
  return { empty: (after.empty - before.empty) / seconds, full: (after.full - before.full) / seconds };
}

/** An answer that cannot be read, from an acquirer that has approved: from the 502 until the look-up shows the outcome. */
async function doubtMs({ baseUrl, username, password }: StandaloneGateway): Promise<number> {
  let answeredMs = 0;
  const client = new Tollgate({
    baseUrl,
    username,
    password,
    firstPauseMs: 5,
    longestPauseMs: 5,
    observe: ({ kind }) => {
      if (kind === 'answer') answeredMs ||= performance.now();
    },
  });
  const body = paymentBody({ reference: 'bench', amount: 1995, pan: UNREADABLE_ANSWER_CARD });
  const { recovered } = await client.purchase(body);
  if (!recovered) throw new Error('a purchase that was to be in doubt was answered at once');
  return performance.now() - answeredMs;
}

const percent = (share: number) => `${(100 * share).toFixed(2)} %`;
/** A gateway, and what was measured of it. */
interface Side {
  readonly gateway: StandaloneGateway;
  readonly perSecond: number[];
  readonly doubtsMs: number[];
}

const empty: Side = { gateway: await startStandalone(), perSecond: [], doubtsMs: [] };
const full: Side = { gateway: await startStandalone(), perSecond: [], doubtsMs: [] };
const both = [empty, full];
const gateways = both.map(({ gateway }) => gateway);
try {
  // A first purchase each, so that the merchant has its data key.
  for (const gateway of gateways) await load(gateway, { ...PURCHASE, connections: 1, count: 5 });
  const startedMs = performance.now();
  const size = await storePurchases(full.gateway, { from: 0, upTo: STORED });
  const filledSeconds = Math.round((performance.now() - startedMs) / 1000);
  say(`${STORED} transactions stored and analysed in ${filledSeconds} s, ${size} with indexes`);

  const idle = await idleShares();
  say(
    `idle for ${values.idle} s: PostgreSQL takes ${percent(idle.full)} of a core with ${STORED} stored (wanted: under 2 %), ${percent(idle.empty)} with none`,
  );
  for (const gateway of gateways) {
    await withDatabase(gateway, (database) => database.query('UPDATE gateway SET sweep_at = now()'));
  }
  const sweeping = await idleShares();
  say(`while the sweep goes through them: ${percent(sweeping.full)}`);

  for (const gateway of gateways) await load(gateway, { ...PURCHASE, connections: 64, seconds: 5 });
  for (let round = 1; round <= values.rounds; round += 1) {
    for (const { gateway, perSecond } of both) {
      const result = await load(gateway, { ...PURCHASE, connections: 64, seconds: values.seconds });
      perSecond.push(result.perSecond);
    }
    say(`round ${round}: ${full.perSecond.at(-1)}/s with ${STORED}, ${empty.perSecond.at(-1)}/s with none`);
  }
  const ratio = median(full.perSecond) / median(empty.perSecond);
  say(
    `purchases per second: ${median(full.perSecond)} with ${STORED} stored, ${median(empty.perSecond)} with none: ${ratio.toFixed(2)} (wanted: at least 0.9)`,
  );

  for (let doubt = 1; doubt <= values.doubts; doubt += 1) {
    for (const { gateway, doubtsMs } of both) doubtsMs.push(await doubtMs(gateway));
  }
  const lasts = ({ doubtsMs }: Side) =>
    `${Math.round(median(doubtsMs))} ms (at most ${Math.round(Math.max(...doubtsMs))})`;
  say(`a doubt lasts ${lasts(full)} with ${STORED} stored, ${lasts(empty)} with none`);
  if (ratio < 0.9 || idle.full >= 0.02) process.exitCode = 1;
} finally {
  for (const gateway of gateways) await gateway.stop();
}
