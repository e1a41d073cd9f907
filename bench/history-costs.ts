// What an index on transactions costs a purchase, in PostgreSQL alone: claims and records as batches, with and without it, in turns.
import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { median, say } from '../testkit/report.js';

const BATCH = 64;
const BATCHES = 300;

/** Made again and taken away for each round. Those of amounts and card numbers are not there otherwise: what they would cost. */
const INDEXES: Readonly<Record<string, string>> = {
  transaction_by_time: `(organisation_id, merchant_id, created_at, audit) WHERE created_at > '-infinity'`,
  transaction_by_reference: `(organisation_id, merchant_id, reference text_pattern_ops) WHERE created_at > '-infinity'`,
  transaction_by_amount: `(organisation_id, merchant_id, amount_cents, created_at, audit)`,
  transaction_by_last_four: `(organisation_id, merchant_id, right(card_mask, 4), created_at, audit)`,
};

const CLAIM = `
  INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, transaction_type, currency, correlation_id,
    reference, acquirer, card_mask, card_type, payment_details_key_version, payment_details_sealed)
  SELECT 2, n, clock_timestamp(), 1 + floor(random() * 50000), 4, 'purchase', 'AUD', gen_random_uuid(),
    CASE WHEN random() < 0.5 THEN 'order-' || n ELSE gen_random_uuid()::text END, 'simulator',
    '411111******' || lpad(floor(random() * 10000)::text, 4, '0'), 'visa', 1, decode(repeat(md5(n::text), 2), 'hex')
  FROM generate_series($1::integer, $2::integer) n`;
const RECORD = `
  UPDATE transaction SET status = 'approved', gateway_status_code = 0, settlement_date = current_date, voidable_until = now(),
    response_code = '00', response_message = 'Approved', authorisation_code = '123456', decided_at = now()
  WHERE organisation_id = 2 AND audit BETWEEN $1 AND $2`;

interface Cost {
  readonly cpuUs: number;
  readonly logBytes: number;
}

/** Prints the median of the rounds of each. */
export async function indexCosts(database: pg.Client, stored: number, rounds: number): Promise<void> {
  let next = 1;
  const store = async (batches: number, size: number) => {
    for (let batch = 0; batch < batches; batch += 1, next += size) {
      await database.query(CLAIM, [next, next + size - 1]);
      await database.query(RECORD, [next, next + size - 1]);
    }
  };
  const measured = async (checkpointed: boolean): Promise<Cost> => {
    if (checkpointed) await database.query('CHECKPOINT');
    const [cpuMs, log] = [await cpuMsOf(database), await logPosition(database)];
    await store(BATCHES, BATCH);
    const each = BATCH * BATCHES;
    return {
      cpuUs: ((await cpuMsOf(database)) - cpuMs) * (1000 / each),
      logBytes: ((await logPosition(database)) - log) / each,
    };
  };
  await database.query('SET synchronous_commit = off');
  for (const name of Object.keys(INDEXES)) await database.query(`DROP INDEX IF EXISTS ${name}`);
  await store(Math.ceil(stored / 10_000), 10_000);
  await database.query('VACUUM (ANALYZE) transaction');
  const costs = new Map<string, { fresh: Cost[]; steady: Cost[] }>();
  for (let round = 1; round <= rounds; round += 1) {
    for (const [name, definition] of [['none of them', ''] as const, ...Object.entries(INDEXES)]) {
      if (definition !== '') await database.query(`CREATE INDEX ${name} ON transaction ${definition}`);
      const { fresh, steady } = costs.get(name) ?? { fresh: [], steady: [] };
      fresh.push(await measured(true));
      steady.push(await measured(false));
      costs.set(name, { fresh, steady });
      if (definition !== '') await database.query(`DROP INDEX ${name}`);
    }
    say(`costs, round ${round} of ${rounds} …`);
  }
  for (const [name, { fresh, steady }] of costs) {
    const cpu = median([...fresh, ...steady].map(({ cpuUs }) => cpuUs)).toFixed(1);
    const log = (all: readonly Cost[]) => Math.round(median(all.map(({ logBytes }) => logBytes)));
    say(`${name}: ${cpu} µs, ${log(fresh)} bytes of log after a checkpoint, ${log(steady)} later`);
  }
}

/** Of the session's own process; the first figure is its time on a processor, in nanoseconds. */
async function cpuMsOf(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const schedstat = await readFile(`/proc/${rows[0]?.pid}/schedstat`, 'latin1');
  return Number(schedstat.split(' ')[0]) / 1e6;
}

async function logPosition(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ at: string }>(
    `SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS at`,
  );
  return Number(rows[0]?.at);
}
