// Millions of purchases, stored as the gateway leaves them, made quickly.
import type { StandaloneGateway } from '../testkit/standalone.js';
import { tidyUp, withDatabase, withoutIndexes } from './filling.js';

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
