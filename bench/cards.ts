// How fast a million cards are destroyed, and what that costs PostgreSQL and purchases. Destruction takes turns with times at which
// nothing is destroyed, on the same table.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { CARD_DESTRUCTION_LOCK } from '../src/payments/cards/card-destruction.sql.js';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { median, say } from '../testkit/report.js';
import { type StandaloneGateway, startStandalone } from '../testkit/standalone.js';
import { cpuSeconds } from './measuring/measured.js';

const values = programOptions({
  cards: 1_000_000,
  seconds: 5,
  rounds: 5,
  // How long it is watched while nobody pays.
  alone: 15,
});
const CARDS = values.cards;
const CHUNK = 250_000;
const FIRST_AUDIT = 1_000_000;
/** Of purchases with it meanwhile, against those without. */
const WANTED_RATIO = 0.9;

/** Approved and settled purchases, as they are stored, of which the last was made more than 120 days ago. */
async function fill(database: pg.Client): Promise<string | undefined> {
  await database.query('UPDATE organisation SET next_audit = $1 WHERE id = 1', [FIRST_AUDIT + CARDS + 1]);
  for (let first = 0; first < CARDS; first += CHUNK) {
    await database.query(
      `INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, gateway_status_code,
         voidable_until, settlement_date, transaction_type, status, currency, correlation_id, reference, acquirer, card_mask,
         card_type, response_code, response_message, authorisation_code, decided_at, payment_details_key_version,
         payment_details_sealed)
       SELECT 1, $1 + n, at, 1995, 1, 0, at, '2020-01-01', 'purchase', 'approved', 'AUD', md5(($1 + n)::text), 'order-' || n,
         'simulator', '411111******1111', 'visa', '00', 'Approved', '123456', at, 1, decode(repeat(md5(n::text), 4), 'hex')
       FROM (SELECT n, now() - interval '200 days' + ($3 + n) * interval '1 second' AS at
         FROM generate_series(1, $2::integer) n) dated`,
      [FIRST_AUDIT + first, Math.min(CHUNK, CARDS - first), first],
    );
  }
  // The gateway has looked at everything that there was, and would come back to it later.
  await database.query(`UPDATE card_review SET next_at = '-infinity'`);
  await database.query('VACUUM (ANALYZE)');
  await database.query('CHECKPOINT');
  const { rows } = await database.query<{ size: string }>(
    `SELECT pg_size_pretty(pg_total_relation_size('transaction')) AS size`,
  );
  return rows[0]?.size;
}

interface Moment {
  readonly atMs: number;
  readonly destroyed: number;
  readonly walBytes: number;
  readonly databaseSeconds: number;
}

async function moment(database: pg.Client, gateway: StandaloneGateway): Promise<Moment> {
  const { rows } = await database.query<{ destroyed: number; walBytes: number }>(
    `SELECT coalesce(sum(destroyed), 0)::float8 AS destroyed, (pg_current_wal_lsn() - '0/0')::float8 AS "walBytes"
     FROM card_review`,
  );
  const [row] = rows as [{ destroyed: number; walBytes: number }];
  return { ...row, atMs: performance.now(), databaseSeconds: (await cpuSeconds(gateway)).database };
}

/** What came of the time between two moments. */
function between(before: Moment, after: Moment) {
  const seconds = (after.atMs - before.atMs) / 1000;
  const destroyed = after.destroyed - before.destroyed;
  return {
    destroyed,
    perSecond: Math.round(destroyed / seconds),
    walBytesEach: Math.round((after.walBytes - before.walBytes) / destroyed),
    coreShare: (after.databaseSeconds - before.databaseSeconds) / seconds,
  };
}

const gateway = await startStandalone();
try {
  // So that the merchant has its data key.
  await load(gateway, { ...PURCHASE, connections: 1, count: 5 });
  const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
  await database.connect();
  const pause = () => database.query(`SELECT pg_advisory_lock(${CARD_DESTRUCTION_LOCK})`);
  const goOn = () => database.query(`SELECT pg_advisory_unlock(${CARD_DESTRUCTION_LOCK})`);
  await pause();
  const filledMs = performance.now();
  const size = await fill(database);
  const filledSeconds = Math.round((performance.now() - filledMs) / 1000);
  say(`${CARDS} cards to destroy stored and analysed in ${filledSeconds} s, ${size} with indexes`);
  await load(gateway, { ...PURCHASE, connections: 64, seconds: 5 });

  const [without, during, destroyedPerSecond]: [number[], number[], number[]] = [[], [], []];
  const paying = { ...PURCHASE, connections: 64, seconds: values.seconds };
  for (let round = 1; round <= values.rounds; round += 1) {
    without.push((await load(gateway, paying)).perSecond);
    await goOn();
    const before = await moment(database, gateway);
    during.push((await load(gateway, paying)).perSecond);
    const { perSecond } = between(before, await moment(database, gateway));
    await pause();
    destroyedPerSecond.push(perSecond);
    say(
      `round ${round}: ${during.at(-1)} purchases/s while ${perSecond} cards/s are destroyed, ${without.at(-1)}/s without`,
    );
  }
  const ratio = median(during) / median(without);
  say(
    `purchases per second: ${median(during)} while ${median(destroyedPerSecond)} cards/s are destroyed, ` +
      `${median(without)} without: ${ratio.toFixed(2)} (wanted: at least ${WANTED_RATIO})`,
  );

  await goOn();
  const beforeAlone = await moment(database, gateway);
  await sleep(values.alone * 1000);
  const alone = between(beforeAlone, await moment(database, gateway));
  say(
    `while nobody pays: ${alone.perSecond} cards/s, ${alone.walBytesEach} bytes of WAL for each, ` +
      `PostgreSQL takes ${(100 * alone.coreShare).toFixed(0)} % of a core`,
  );
  for (let left = CARDS; left > 0; await sleep(500)) {
    left = CARDS - (await moment(database, gateway)).destroyed;
  }
  const { rows } = await database.query<{ left: number }>(
    `SELECT count(*)::integer AS left FROM transaction WHERE audit BETWEEN $1 AND $2 AND payment_details_sealed IS NOT NULL`,
    [FIRST_AUDIT, FIRST_AUDIT + CARDS],
  );
  const left = rows[0]?.left ?? CARDS;
  say(`all ${CARDS} destroyed, ${left} left`);
  await database.end();
  if (ratio < WANTED_RATIO || left > 0) process.exitCode = 1;
} finally {
  await gateway.stop();
}
