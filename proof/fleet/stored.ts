// Payments that an organisation has had for long: as many as it takes, sealed as the gateway seals them, without a request for each. Their
// events and cards have come to their end.
import { openKeyProvider } from '../../src/gateway/settings/key-encryption.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { outcomeSealOf } from '../../src/payments/outcome-seals.js';
import { bigint, bytes, columns, integer } from '../../src/postgres/batches.js';
import type { Database } from '../../src/postgres/database.js';
import type { Audit, MerchantId, OrganisationId } from '../../src/values/ids.js';
import type { Cents } from '../../src/values/money.js';
import { DataKeys } from '../../src/vault/keys/keys.js';
import type { Cell } from './cell.js';
import type { TradingOrganisation } from './organisation.js';

/** For WHERE: transactions of the proof's own trade. */
export const NOT_STORED = `reference NOT LIKE 'stored-%'`;

const BATCH = 5_000;
const ASKED = 200;
const ANSWERED = { status: 'approved', gatewayStatusCode: 0, responseCode: '00' } as const;

interface Payment {
  readonly audit: number;
  readonly amountCents: number;
  readonly seal: Buffer;
}

const PAYMENTS = columns<Payment>(
  'stored',
  {
    audit: integer(({ audit }) => audit),
    cents: bigint(({ amountCents }) => amountCents),
    seal: bytes(({ seal }) => seal),
  },
  { after: 3 },
);

/** The last ($3) four months ago, and two of them in a minute. */
const MADE_AT = `date_trunc('day', now()) - interval '130 days' - ($3::integer - audit) * interval '30 seconds'`;

const STORE = {
  name: '',
  text: `
    WITH made AS (SELECT *, ${MADE_AT} AS at FROM ${PAYMENTS.rows}),
    settled AS (
      INSERT INTO settlement_entry (organisation_id, merchant_id, audit, amount_cents, settlement_date, transaction_type, payment_method,
        card_type, currency, acquirer)
      SELECT $1, $2, audit, cents, at::date, 'purchase', 'card', 'visa', 'AUD', 'simulator' FROM made)
    INSERT INTO transaction (organisation_id, merchant_id, audit, created_at, decided_at, amount_cents, gateway_status_code, settlement_date,
      transaction_type, status, currency, correlation_id, reference, acquirer, card_mask, card_type, response_code, response_message,
      outcome_seal)
    SELECT $1, $2, audit, at, at, cents, 0, at::date, 'purchase', 'approved', 'AUD', 'stored-' || audit, 'stored-' || audit, 'simulator',
      '411111******1111', 'visa', '00', 'Approved', decode(seal, 'base64')
    FROM made`,
};

/** What is paid from now on comes after them. */
const COUNT_ON = {
  name: '',
  text: 'UPDATE organisation SET next_audit = greatest(next_audit, $2) WHERE id = $1',
};

interface Place {
  readonly organisation: number;
  readonly merchant: number;
  readonly dataDir: string;
}

export async function storePayments(
  database: Database,
  { organisation, merchant, dataDir }: Place,
  count: number,
): Promise<void> {
  const provider = await openKeyProvider(readSettings({ TOLLGATE_DATA_DIR: dataDir }), database);
  const keys = new DataKeys(database, provider);
  // As the first card has made it: `keys verify` looks at merchants with a key.
  await keys.newest(organisation as OrganisationId, merchant as MerchantId);
  for (let done = 0; done < count; done += BATCH) {
    const payments = Array.from({ length: Math.min(BATCH, count - done) }, async (_, index) => {
      const audit = done + index + 1;
      const amountCents = 100 + ((audit * 7_919) % 60_000);
      const intent = {
        organisationId: organisation as OrganisationId,
        merchantId: merchant as MerchantId,
        audit: audit as Audit,
        transactionType: 'purchase',
        correlationId: `stored-${audit}`,
        amountCents: amountCents as Cents,
        currency: 'AUD',
        acquirer: 'simulator',
      } as const;
      return { audit, amountCents, seal: await outcomeSealOf(keys, intent, ANSWERED) };
    });
    const values = PAYMENTS.encode(await Promise.all(payments));
    await database.query(STORE, [organisation, merchant, count, ...values]);
  }
  await database.query(COUNT_ON, [organisation, count + 1]);
  await database.query({ name: '', text: 'VACUUM (ANALYZE) transaction, settlement_entry' });
}

const DIGEST = `
  SELECT (SELECT count(*) || ' payments, digest ' || sum(hashtextextended(concat_ws(' ', audit, amount_cents, status, correlation_id,
      extract(epoch FROM created_at)), 0)) FROM transaction WHERE organisation_id = $1 AND merchant_id = $2)
    || '; ' || (SELECT count(*) || ' settled, digest ' || sum(hashtextextended(concat_ws(' ', audit, amount_cents, settlement_date), 0))
      FROM settlement_entry WHERE organisation_id = $1 AND merchant_id = $2) AS digest`;

export async function digestOfStored(
  cell: Cell,
  { id, storedMerchantId }: TradingOrganisation,
): Promise<string> {
  const [row] = await cell.sql<{ digest: string }>(DIGEST, [id, storedMerchantId]);
  return row?.digest ?? '';
}

/** Whether its client finds stored payments, spread over all of them, as they were decided. */
export async function lostPayments({ id, shop }: TradingOrganisation, count: number): Promise<string[]> {
  const lost: string[] = [];
  for (let asked = 0; asked < ASKED; asked += 1) {
    const audit = 1 + Math.floor((asked * (count - 1)) / (ASKED - 1));
    const found = await shop.lookUp(audit);
    const status = found === undefined ? 'not found' : found === 'no answer' ? found : statusOf(found);
    if (status !== 'approved') lost.push(`organisation ${id}, stored audit ${audit}: ${status}`);
  }
  return lost;
}

function statusOf({ status }: { status: { transaction_status_code: string } }): string {
  return status.transaction_status_code;
}
