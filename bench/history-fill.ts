// A year of a busy merchant's transactions, of every kind and status, made quickly. For lists of transactions.
import type pg from 'pg';
import { say } from '../testkit/report.js';

const CHUNK = 500_000;
/** Audits that the fill takes; those of measured purchases come after it. */
const FIRST_AUDIT = 1_000_000;
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

/** Returns how large the table is with its indexes. Merchant 1 has 98 in a hundred. */
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
