// What happens to purchases and look-ups when twice as many purchases arrive as the gateway can carry. The gateway must shed quickly,
// leave nothing behind of what it sheds, and serve the rest.
import pg from 'pg';
import { type LoadOptions, load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { startStandalone } from '../testkit/standalone.js';

const values = programOptions({
  seconds: 12,
  rounds: 3,
  times: 2,
});
const { seconds, rounds, times } = values;
const LOOK_UPS: LoadOptions = { method: 'GET', paths: ['/v1/transactions/1'], connections: 8, rate: 50 };
// More than the gateway lets wait: the rest has to be shed.
const CONNECTIONS = 1_500;
/** For four seconds an overload is taken for a burst; then a queue is left, and those that come are shed. After that it lasts. */
const FIRST_SECONDS = 6;
const WARM_UP_SECONDS = 15;
const NONE = { perSecond: 0, p50Ms: 0, p99Ms: 0 };

const gateway = await startStandalone();
const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
await database.connect();
const shares: number[] = [];
try {
  await load(gateway, { ...PURCHASE, connections: 64, seconds: WARM_UP_SECONDS });
  const calm = await load(gateway, { ...LOOK_UPS, seconds: 3 });
  say(`look-ups alone: p50 ${calm.p50Ms} ms, p99 ${calm.p99Ms} ms`);
  // In turns: the machine is shared, and what is compared must be measured close together.
  for (let round = 1; round <= rounds; round += 1) {
    const best = await load(gateway, { ...PURCHASE, connections: 64, seconds });
    say(`best, 64 connections: ${best.perSecond} purchases/s, p50 ${best.p50Ms} ms, p99 ${best.p99Ms} ms`);
    shares.push((await overloaded(best.perSecond * times)) / best.perSecond);
  }
  say(
    `throughput ${median(shares).toFixed(2)} of the best (${shares.map((share) => share.toFixed(2)).join(', ')})`,
  );
} finally {
  await database.end();
  await gateway.stop();
}

/** How many purchases a second were accepted. */
async function overloaded(rate: number): Promise<number> {
  const [purchases, lookUps] = await Promise.all([
    load(gateway, { ...PURCHASE, connections: CONNECTIONS, rate, seconds, firstSeconds: FIRST_SECONDS }),
    load(gateway, { ...LOOK_UPS, seconds }),
  ]);
  const accepted = purchases.byStatus['201'] ?? NONE;
  const shed = purchases.byStatus['503'] ?? NONE;
  say(
    `${rate}/s offered: ${accepted.perSecond} accepted/s (p50 ${accepted.p50Ms} ms, p99 ${accepted.p99Ms} ms), ` +
      `${shed.perSecond} shed/s (p50 ${shed.p50Ms} ms, p99 ${shed.p99Ms} ms), ${purchases.unsent} not sent for want of a free connection`,
  );
  for (const [period, { '201': served = NONE, '503': refused = NONE }] of [
    [`in the first ${FIRST_SECONDS} s`, purchases.first],
    ['later', purchases.later],
  ] as const) {
    say(
      `${period}: accepted p50 ${served.p50Ms} ms, p99 ${served.p99Ms} ms; shed p50 ${refused.p50Ms} ms, p99 ${refused.p99Ms} ms`,
    );
  }
  const { ownDelay } = purchases;
  say(`the load generator itself is late by p50 ${ownDelay.p50Ms} ms, p99 ${ownDelay.p99Ms} ms`);
  say(
    `look-ups meanwhile: p50 ${lookUps.p50Ms} ms, p99 ${lookUps.p99Ms} ms, ${JSON.stringify(lookUps.statuses)}`,
  );
  const { rows } = await database.query<{ count: number }>(
    'SELECT count(*)::integer AS count FROM transaction WHERE correlation_id LIKE $1',
    [`${purchases.run}-%`],
  );
  const answered = purchases.statuses['201'] ?? 0;
  const stored = rows[0]?.count;
  say(`${stored} rows for ${answered} accepted purchases`);
  if (stored !== answered) process.exitCode = 1;
  return accepted.perSecond;
}
