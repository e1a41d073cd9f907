// What `tollgate archive --remove` costs a gateway at full load, in turns with the same load and no archive. It shows how many purchases
// are left, how long the slowest wait, and what an archived transaction costs.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { run } from '../testkit/gateway-process.js';
import { load, PURCHASE } from '../testkit/load.js';
import type { LoadResult } from '../testkit/load-generator.js';
import { programOptions } from '../testkit/program-options.js';
import { asEnvironment } from '../testkit/project.js';
import { median, say } from '../testkit/report.js';
import { startStandalone } from '../testkit/standalone.js';
import { temporaryFolder } from '../testkit/temporary-folder.js';
import { tidyUp, withDatabase } from './measuring/filling.js';

const values = programOptions({
  rows: 1_000_000,
  rounds: 5,
  connections: 64,
  seconds: 8,
});
const ROUNDS = values.rounds;
const ROWS_OF_ROUND = Math.ceil(values.rows / ROUNDS);
const LOAD = { ...PURCHASE, connections: values.connections };
const SECONDS = values.seconds;
/** Audits that the fill takes; those of measured purchases come after it. */
const FIRST_AUDIT = 1_000_000;
const DAY_MS = 86_400_000;
const OLDEST_DAYS = 2 * 365;
const KEPT_AT_LEAST = 0.7;

/** Those of a round are a day older than those of the next. */
const madeDaysAgo = (round: number) => OLDEST_DAYS - round;

/** Finished long ago, with the key-value pairs of a talkative shop. */
async function fill(database: pg.Client): Promise<void> {
  await database.query('SET synchronous_commit = off');
  for (let round = 0; round < ROUNDS; round += 1) {
    await database.query(
      `INSERT INTO transaction (organisation_id, audit, created_at, decided_at, amount_cents, merchant_id, gateway_status_code, status,
         settlement_date, transaction_type, currency, correlation_id, reference, acquirer, card_mask, card_type, kvps, response_code,
         response_message, authorisation_code)
       SELECT 1, $1 + n, at, at, 1 + n % 50000, 1, 0, 'approved', (at AT TIME ZONE 'Australia/Sydney')::date, 'purchase', 'AUD',
         md5(($1 + n)::text), 'order-' || n, 'simulator', '411111******' || lpad((n % 10000)::text, 4, '0'), 'visa',
         (SELECT json_object_agg('KEY_' || k, md5((n * 10 + k)::text)) FROM generate_series(1, 10) k), '00', 'Approved', '123456'
       FROM generate_series(1, $2::integer) n, (SELECT now() - $3 * interval '1 day' AS at) made`,
      [FIRST_AUDIT + round * ROWS_OF_ROUND, ROWS_OF_ROUND, madeDaysAgo(round)],
    );
    say(`${(round + 1) * ROWS_OF_ROUND} stored …`);
  }
  await database.query('UPDATE organisation SET next_audit = $1 WHERE id = 1', [
    FIRST_AUDIT + ROUNDS * ROWS_OF_ROUND + 1,
  ]);
  await tidyUp(database);
}

const gateway = await startStandalone();
const folder = temporaryFolder('archives');

async function archive(round: number): Promise<{ seconds: number; bytes: number }> {
  const file = join(folder, `${round}.jsonl`);
  const before = new Date(Date.now() - madeDaysAgo(round) * DAY_MS + DAY_MS / 2).toISOString();
  const began = performance.now();
  const { code, stdout, stderr } = await run(
    ['archive', '--before', before, '--to', file, '--remove', '--json'],
    asEnvironment({ DATA_DIR: gateway.dataDir }),
  );
  if (code !== 0 || JSON.parse(stdout).removed !== ROWS_OF_ROUND)
    throw new Error(`the archive failed: ${stdout}${stderr}`);
  return { seconds: (performance.now() - began) / 1_000, bytes: (await stat(file)).size };
}

/** Slices of load until the work is done, as one: the slowest 99th percentile of them. */
async function loadUntil(done: Promise<unknown>): Promise<Pick<LoadResult, 'perSecond' | 'p99Ms'>> {
  let isDone = false;
  void done.finally(() => {
    isDone = true;
  });
  const slices: LoadResult[] = [];
  do slices.push(await load(gateway, { ...LOAD, seconds: 2 }));
  while (!isDone);
  // The last one may have gone on behind the end.
  const whole = slices.length > 1 ? slices.slice(0, -1) : slices;
  if (slices.some(({ statuses, requests }) => statuses['201'] !== requests))
    throw new Error('a purchase was refused while archiving');
  return {
    perSecond: whole.reduce((sum, { perSecond }) => sum + perSecond, 0) / whole.length,
    p99Ms: Math.max(...whole.map(({ p99Ms }) => p99Ms)),
  };
}

try {
  await withDatabase(gateway, fill);
  await load(gateway, { ...LOAD, seconds: SECONDS });
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await load(gateway, { ...LOAD, seconds: SECONDS });
    const archiving = archive(round);
    const during = await loadUntil(archiving);
    const { seconds, bytes } = await archiving;
    const after = await load(gateway, { ...LOAD, seconds: SECONDS });
    const alone = (before.perSecond + after.perSecond) / 2;
    ratios.push(during.perSecond / alone);
    say(
      `round ${round + 1}: ${Math.round(alone)} purchases/s alone (p99 ${before.p99Ms.toFixed(0)} ms), ${Math.round(during.perSecond)} while ` +
        `archiving (p99 ${during.p99Ms.toFixed(0)} ms); ${ROWS_OF_ROUND} transactions in ${seconds.toFixed(0)} s, ${Math.round(bytes / ROWS_OF_ROUND)} bytes each`,
    );
  }
  const kept = median(ratios);
  say(
    `purchases/s while archiving: ${kept.toFixed(2)} of those without, ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)} ` +
      `(wanted: at least ${KEPT_AT_LEAST}); none was refused`,
  );
  if (kept < KEPT_AT_LEAST) process.exitCode = 1;
} finally {
  await gateway.stop();
}
