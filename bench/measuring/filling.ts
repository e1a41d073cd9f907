// Fills a gateway's tables with millions of rows in little time.
import pg from 'pg';
import { say } from '../../testkit/report.js';
import type { StandaloneGateway } from '../../testkit/standalone.js';

export async function withDatabase<Result>(
  gateway: StandaloneGateway,
  work: (database: pg.Client) => Promise<Result>,
): Promise<Result> {
  const database = new pg.Client({ connectionString: await gateway.databaseUrl() });
  await database.connect();
  try {
    return await work(database);
  } finally {
    await database.end();
  }
}

/** Indexes are made anew afterwards, which takes far less time than to keep them while so much is filled in. */
export async function withoutIndexes(
  gateway: StandaloneGateway,
  database: pg.Client,
  tables: readonly string[],
  fill: () => Promise<void>,
): Promise<void> {
  const { rows: indexes } = await database.query<{ dropped: string; made: string }>(
    `SELECT CASE WHEN c.oid IS NULL THEN format('DROP INDEX %s', i.indexrelid::regclass)
         ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', i.indrelid::regclass, c.conname) END AS dropped,
       CASE WHEN c.oid IS NULL THEN pg_get_indexdef(i.indexrelid)
         ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) END AS made
     FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid
     WHERE i.indrelid = ANY ($1::regclass[]) AND NOT i.indisprimary`,
    [tables],
  );
  const alterEach = async (action: string) => {
    for (const table of tables) await database.query(`ALTER TABLE ${table} ${action}`);
  };
  // It stands still meanwhile: its own looks would read everything.
  process.kill(gateway.pid, 'SIGSTOP');
  try {
    await alterEach('SET (autovacuum_enabled = false)');
    for (const { dropped } of indexes) await database.query(dropped);
    await fill();
    await database.query(`SET maintenance_work_mem = '2GB'`);
    for (const { made } of indexes) await database.query(made);
    await alterEach('RESET (autovacuum_enabled)');
  } finally {
    process.kill(gateway.pid, 'SIGCONT');
  }
}

/** What autovacuum would do sooner or later: with statistics of its own time a plan can be another. */
export async function tidyUp(database: pg.Client): Promise<void> {
  await database.query('VACUUM (ANALYZE)');
  await database.query('CHECKPOINT');
}

const CHUNK = 500_000;
/** From so many on, what is filled in at once goes in without indexes. */
const MANY = 20_000_000;
/** Audits that they take; those of the measured purchases come after all of them, however many are to follow. */
const FIRST_AUDIT = 1_000_000;
const AUDITS_AFTER = 500_000_000;
const TABLES = ['transaction', 'settlement_entry'];

// Each second one, back from now; their correlation IDs and what is sealed are as good as random.
const TRANSACTIONS = `
  INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, gateway_status_code,
    voidable_until, settlement_date, transaction_type, status, currency, correlation_id, reference, acquirer,
    card_mask, card_type, response_code, response_message, authorisation_code, payment_details_key_version, payment_details_sealed)
  SELECT 1, $1 + n, now() - n * interval '3 seconds', 1995, 1, 0, now(), current_date - n % 365, 'purchase', 'approved', 'AUD',
    md5(($1 + n)::text), 'order-' || n, 'simulator', '411111******1111', 'visa', '00', 'Approved', '123456', 1,
    decode(repeat(md5(n::text), 2), 'hex')
  FROM generate_series(1, $2::integer) n`;

const SETTLEMENT = `
  INSERT INTO settlement_entry (organisation_id, merchant_id, audit, amount_cents, settlement_date, transaction_type,
    payment_method, card_type, currency, acquirer)
  SELECT 1, 1, $1 + n, 1995, current_date - n % 365, 'purchase', 'card', 'visa', 'AUD', 'simulator'
  FROM generate_series(1, $2::integer) n`;

/** So that there are `upTo` where there were `from`. Returns how large all that is with its indexes. */
export function storePurchases(
  gateway: StandaloneGateway,
  { from, upTo }: { readonly from: number; readonly upTo: number },
): Promise<string | undefined> {
  return withDatabase(gateway, async (database) => {
    await database.query('UPDATE organisation SET next_audit = greatest(next_audit, $1) WHERE id = 1', [
      AUDITS_AFTER,
    ]);
    const fill = () => fillSideBySide(gateway, { from, upTo });
    if (upTo - from < MANY) await fill();
    else await withoutIndexes(gateway, database, TABLES, fill);
    await tidyUp(database);
    const { rows } = await database.query<{ size: string }>(
      `SELECT pg_size_pretty(pg_total_relation_size('transaction') + pg_total_relation_size('settlement_entry')) AS size`,
    );
    return rows[0]?.size;
  });
}

/** Over two sessions, for two cores. */
async function fillSideBySide(
  gateway: StandaloneGateway,
  { from, upTo }: { readonly from: number; readonly upTo: number },
): Promise<void> {
  let next = from;
  const session = () =>
    withDatabase(gateway, async (database) => {
      await database.query('SET synchronous_commit = off');
      while (next < upTo) {
        const first = next;
        next = Math.min(upTo, first + CHUNK);
        const values = [FIRST_AUDIT + first, next - first];
        await database.query(TRANSACTIONS, values);
        await database.query(SETTLEMENT, values);
      }
    });
  await Promise.all([session(), session()]);
}

const TOKENS = 200_000;

/** Chance that is the same each time: a number below `below`, another one for each `salt`. */
const chance = (salt: string, below: number) =>
  `(abs(hashint8(n * 31 + ${salt.length} * 1000003)) % ${below})`;

const TYPE = `CASE WHEN ${chance('type', 1000)} < 940 THEN 'purchase' WHEN ${chance('type', 1000)} < 960 THEN 'refund'
  WHEN ${chance('type', 1000)} < 975 THEN 'preauthorisation' WHEN ${chance('type', 1000)} < 990 THEN 'completion'
  WHEN ${chance('type', 1000)} < 995 THEN 'void' ELSE 'standalone_refund' END`;
// One in 50,000 was in doubt once, and one in 500,000 still is.
const STATUS = `CASE WHEN n % 500000 = 77 THEN 'unknown' WHEN ${chance('status', 1000)} < 80 THEN 'declined'
  WHEN bank AND left_over < 100000 THEN 'pending' WHEN ${chance('status', 10000)} = 999 THEN 'error' ELSE 'approved' END`;

const ROWS = `
  INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, gateway_status_code, status,
    resolve_attempts, resolve_at, settlement_date, transaction_type, target_audit, currency, correlation_id, reference, acquirer,
    card_mask, card_type, bank_account, token_id, response_code, response_message, authorisation_code,
    payment_details_key_version, payment_details_sealed)
  SELECT 1, $1 + n, at, 1 + ${chance('amount', 50_000)}, CASE WHEN n % 100 = 3 THEN 2 WHEN n % 100 = 4 THEN 3 ELSE 1 END,
    CASE status WHEN 'unknown' THEN -99 ELSE 0 END, status, CASE WHEN n % 50000 = 77 THEN 3 ELSE 0 END,
    CASE WHEN status = 'unknown' THEN now() + interval '1 day' END,
    CASE WHEN status = 'approved' AND NOT bank THEN settled + CASE extract(isodow FROM settled) WHEN 6 THEN 2 WHEN 7 THEN 1 ELSE 0 END END,
    type, CASE WHEN type IN ('completion', 'refund', 'void') THEN greatest(1, $1 + n - 1 - ${chance('target', 5_000)}) END,
    'AUD', md5(($1 + n)::text), 'order-' || n, 'simulator',
    CASE WHEN NOT bank THEN '411111******' || lpad(${chance('four', 10_000)}::text, 4, '0') END,
    CASE WHEN NOT bank THEN (ARRAY['visa', 'visa', 'visa', 'visa', 'mastercard', 'mastercard', 'mastercard', 'eftpos', 'amex',
      CASE WHEN n % 10000 = 7 THEN 'jcb' ELSE 'visa' END])[1 + ${chance('scheme!', 10)}] END,
    CASE WHEN bank THEN '{"bsb":"062-000","accountNumber":"******789","accountName":"A Customer"}'::json END,
    CASE WHEN ${chance('by token', 5)} = 0 THEN 1 + ${chance('which token', TOKENS)} END,
    '00', 'Approved', '123456', 1, decode(repeat(md5(n::text), 2), 'hex')
  FROM (
    SELECT *, ${STATUS} AS status, ${TYPE} AS type,
      (at AT TIME ZONE 'Australia/Sydney' + interval '6 hours')::date AS settled
    FROM (
      SELECT n, $3::integer - n AS left_over, now() - ($3::integer - n) * interval '3 seconds' AS at,
        ${chance('bank', 100)} < 3 AS bank
      FROM generate_series($2::integer + 1, $2::integer + $4::integer) n) AS numbered) AS dated`;

const CUSTOMERS = `
  INSERT INTO token (organisation_id, merchant_id, id, customer_id, key_version, active, virtual_pan, account_type,
    preferred_name, shown, sealed)
  SELECT 1, 1, n, 1 + n / 2, 1, true, '9' || lpad(n::text, 15, '0'), 'general_creditcard', 'Card ' || n, '{}', decode(md5(n::text), 'hex')
  FROM generate_series(1, ${TOKENS}) n`;

/**
 * A year of a busy merchant's transactions, of every kind and status: merchant 1 has 98 in a hundred. Returns how large the table is with
 * its indexes.
 */
export async function fillHistory(database: pg.Client, rows: number): Promise<string | undefined> {
  await database.query('SET synchronous_commit = off');
  await database.query('UPDATE organisation SET next_audit = $1, next_token_id = $2 WHERE id = 1', [
    FIRST_AUDIT + rows + 1,
    TOKENS + 1,
  ]);
  await database.query(CUSTOMERS);
  for (let first = 0; first < rows; first += CHUNK) {
    await database.query(ROWS, [FIRST_AUDIT, first, rows, Math.min(CHUNK, rows - first)]);
    say(`${Math.min(rows, first + CHUNK)} of ${rows} stored …`);
  }
  await database.query('VACUUM (ANALYZE) transaction, token');
  await database.query('CHECKPOINT');
  const size = `SELECT pg_size_pretty(pg_total_relation_size('transaction')) AS size`;
  return (await database.query<{ size: string }>(size)).rows[0]?.size;
}

const INDEX_SIZES = `
  SELECT indexrelname AS name, pg_size_pretty(pg_relation_size(indexrelid)) AS size
  FROM pg_stat_user_indexes WHERE relname = 'transaction' ORDER BY indexrelname`;

export async function indexSizes(database: pg.Client): Promise<{ name: string; size: string }[]> {
  return (await database.query<{ name: string; size: string }>(INDEX_SIZES)).rows;
}
