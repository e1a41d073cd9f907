// `npm run bench:overload`: twice as many purchases as the gateway can carry, beside a few look-ups. What is shed must be
// shed quickly and leave nothing behind, and the rest must go on.
import { parseArgs } from 'node:util';
import pg from 'pg';
import { load, PURCHASE, startGateway } from './gateway.js';
import { say } from './report.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '10' }, times: { type: 'string', default: '2' } },
});
const seconds = Number(values.seconds);
const times = Number(values.times);
const LOOK_UPS_PER_SECOND = 50;
// More than the gateway lets wait: the rest has to be shed.
const CONNECTIONS = 1_500;

const gateway = await startGateway();
const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
await database.connect();
try {
  await load(gateway, { ...PURCHASE, connections: 64, seconds: 4 });
  const best = await load(gateway, { ...PURCHASE, connections: 64, seconds });
  say(`best, 64 connections: ${best.perSecond} purchases/s, p50 ${best.p50Ms} ms, p99 ${best.p99Ms} ms`);

  const rate = best.perSecond * times;
  const lookUp = { method: 'GET', paths: ['/v1/transactions/1'], connections: 8, rate: LOOK_UPS_PER_SECOND };
  const calm = await load(gateway, { ...lookUp, seconds: 3 });
  const [purchases, lookUps] = await Promise.all([
    load(gateway, { ...PURCHASE, connections: CONNECTIONS, rate, seconds }),
    load(gateway, { ...lookUp, seconds }),
  ]);
  const accepted = purchases.byStatus['201'] ?? { perSecond: 0 };
  const shed = purchases.byStatus['503'] ?? { perSecond: 0, p50Ms: 0, p99Ms: 0 };
  say(
    `${rate}/s offered: ${accepted.perSecond} accepted/s (p50 ${accepted.p50Ms} ms, p99 ${accepted.p99Ms} ms), ` +
      `${shed.perSecond} shed/s (p50 ${shed.p50Ms} ms, p99 ${shed.p99Ms} ms), ${purchases.unsent} not sent for want of a free connection`,
  );
  say(
    `look-ups meanwhile: p50 ${lookUps.p50Ms} ms, p99 ${lookUps.p99Ms} ms (calm: ${calm.p50Ms} ms, ${calm.p99Ms} ms), ${JSON.stringify(lookUps.statuses)}`,
  );
  const { rows } = await database.query(
    'SELECT count(*)::integer AS count FROM transaction WHERE correlation_id LIKE $1',
    [`${purchases.run}-%`],
  );
  const answered = purchases.statuses['201'] ?? 0;
  say(
    `throughput ${(accepted.perSecond / best.perSecond).toFixed(2)} of the best; ${rows[0].count} rows for ${answered} accepted purchases`,
  );
  if (rows[0].count !== answered) process.exitCode = 1;
} finally {
  await database.end();
  await gateway.stop();
}
