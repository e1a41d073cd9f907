// Tables as they are after years of payments: most rows of one merchant, nearly all decided, the statistics up to date.
import pg from 'pg';

/** The cast of a test gateway has to be there. */
export async function fillTables(url: string, rows: number): Promise<void> {
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  try {
    for (const statement of STATEMENTS) await database.query(statement.replaceAll('ROWS', String(rows)));
    await database.query(
      'VACUUM (ANALYZE) transaction, customer, token, journal, directdebit_item, directdebit_file, settlement_entry, event, event_feed, process, audit_lease, organisation, merchant, data_key',
    );
  } finally {
    await database.end();
  }
}

// One row in a hundred is of the other organisation; the rest is of merchant 1.
const OWNER = `CASE WHEN n % 100 = 0 THEN 2 ELSE 1 END, CASE WHEN n % 100 = 0 THEN 4 ELSE 1 END`;

const STATEMENTS = [
  `SET synchronous_commit = off`,
  `UPDATE organisation SET next_audit = ROWS + 1`,
  `INSERT INTO data_key (organisation_id, merchant_id, version, key_encryption_key, wrapped)
   SELECT organisation_id, id, version, 'key', '' FROM merchant, generate_series(1, 2) version`,
  `INSERT INTO transaction (organisation_id, merchant_id, audit, created_at, amount_cents, gateway_status_code, resolve_at,
     voidable_until, settlement_date, transaction_type, status, currency, correlation_id, reference, acquirer, card_mask,
     card_type, response_code, response_message, authorisation_code, payment_details_key_version, payment_details_sealed)
   SELECT ${OWNER}, n, now() - (ROWS - n) * interval '3 seconds', 1995, CASE WHEN n % 5000 = 0 THEN -99 ELSE 0 END,
     CASE WHEN n % 5000 = 0 THEN now() END, now(), '2026-11-16', 'purchase',
     CASE WHEN n % 5000 = 0 THEN 'unknown' WHEN n % 4 = 0 THEN 'pending' ELSE 'approved' END, 'AUD', md5(n::text),
     'order-' || n, 'simulator', '411111******1111', 'visa', '00', 'Approved', '123456', 2,
     decode(repeat(md5(n::text), 2), 'hex')
   FROM generate_series(1, ROWS) n`,
  `INSERT INTO customer (organisation_id, merchant_id, id, name, reference)
   SELECT ${OWNER}, n, md5(n::text), 'customer-' || lpad(n::text, 8, '0') FROM generate_series(1, ROWS / 4) n`,
  `INSERT INTO token (organisation_id, merchant_id, id, customer_id, key_version, active, virtual_pan, account_type,
     preferred_name, shown, sealed)
   SELECT ${OWNER}, n, n, 2, true, '9' || lpad(n::text, 15, '0'), 'general_creditcard', 'Card', '{}', decode(md5(n::text), 'hex')
   FROM generate_series(1, ROWS / 4) n`,
  `INSERT INTO journal (organisation_id, merchant_id, actor, action, token_id, correlation_id)
   SELECT ${OWNER}, 'user:owner', 'token.created', n, md5(n::text) FROM generate_series(1, ROWS / 4) n`,
  `INSERT INTO directdebit_file (organisation_id, merchant_id, number, made_at, processing_day, settings, items,
     debit_cents, credit_cents, written_at, taken_at, simulated)
   SELECT 1, 1, n, now(), '2026-11-16', '{}', 500, 1995, 0, now(), now(), true FROM generate_series(1, ROWS / 2000 + 1) n`,
  // Every fourth transaction; the last hundredth has not been cleared yet.
  `INSERT INTO directdebit_item (organisation_id, audit, merchant_id, account_audit, simulated, file_number, line, state, next_at)
   SELECT 1, n, 1, n, true, CASE WHEN n < ROWS * 0.995 THEN n / 2000 + 1 END, CASE WHEN n < ROWS * 0.995 THEN n END,
     CASE WHEN n < ROWS * 0.99 THEN 'cleared' WHEN n < ROWS * 0.995 THEN 'filed' ELSE 'waiting' END,
     CASE WHEN n >= ROWS * 0.99 THEN now() + interval '1 day' END
   FROM generate_series(4, ROWS, 4) n WHERE n % 100 <> 0`,
  // Over thirty days.
  `INSERT INTO event_feed (organisation_id, merchant_id, subject, version, type, created_at, data, slot, position)
   SELECT ${OWNER}, n, 1, 'transaction.approved', now(), '', (event_day() - n % 30) % 64,
     (event_day() - n % 30)::bigint * 10000000000 + n FROM generate_series(1, ROWS) n`,
  `UPDATE event_sequencer SET position = event_day()::bigint * 10000000000 + ROWS, day = event_day()`,
  // Thirty days.
  `INSERT INTO settlement_entry (organisation_id, merchant_id, audit, amount_cents, settlement_date, transaction_type,
     payment_method, card_type, currency, acquirer)
   SELECT ${OWNER}, n, 1995, current_date - 30 + n * 30 / ROWS, 'purchase', 'creditcard', 'visa', 'AUD', 'simulator'
   FROM generate_series(1, ROWS) n`,
  `INSERT INTO process (seen_at) SELECT now() FROM generate_series(1, 8)`,
  `INSERT INTO audit_lease (organisation_id, first_audit, last_audit, process_id)
   SELECT 1, ROWS - 64 * n, ROWS - 64 * n + 63, n FROM generate_series(1, 8) n`,
];
