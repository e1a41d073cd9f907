// Many direct debits at once: sealed and stored as the gateway does, without a request for each; and the operator's commands
// that take them to the bank and back.
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openKeyProvider } from '../src/gateway/settings/key-encryption.js';
import { readSettings } from '../src/gateway/settings/settings.js';
import { outcomeSealOf } from '../src/payments/outcome-seals.js';
import { paymentDetailsPlace } from '../src/payments/transaction.js';
import { bigint, bytes, columns, integer, json, text } from '../src/postgres/batches.js';
import { Database } from '../src/postgres/database.js';
import { BankAccount } from '../src/values/bank-account.js';
import type { Audit, MerchantId, OrganisationId } from '../src/values/ids.js';
import type { Cents } from '../src/values/money.js';
import { bankSecrets } from '../src/vault/account.js';
import { DataKeys, seal } from '../src/vault/keys/keys.js';
import { type Client, type Json, paymentBody } from './client.js';
import { runHere } from './command-here.js';
import type { Ended, Environment } from './gateway-process.js';

/** A database, and the data directory with the key that it is sealed under. */
export interface Home {
  readonly databaseUrl: string;
  readonly dataDir: string;
}

export interface MadeItem {
  readonly audit: number;
  readonly amountCents: number;
  readonly bsb: string;
  readonly accountNumber: string;
  readonly accountName: string;
  readonly type: 'purchase' | 'standalone_refund';
}

/** An ordinary customer of the bank, each with an account and an amount of its own. */
export function customer(serial: number): Omit<MadeItem, 'audit'> {
  return {
    amountCents: 100 + ((serial * 7_919) % 60_000),
    bsb: `06${serial % 10}-${String(serial % 1_000).padStart(3, '0')}`,
    accountNumber: String(1_000_000 + serial),
    accountName: `Customer ${serial}`,
    type: serial % 10 === 9 ? 'standalone_refund' : 'purchase',
  };
}

/** One that comes through HTTP, as every item does. */
export async function payByBank(api: Client, merchant = 1): Promise<MadeItem> {
  const paid = {
    amountCents: 1_000,
    bsb: '062-000',
    accountNumber: '12345678',
    accountName: 'A Customer',
    type: 'purchase',
  } as const;
  const body = paymentBody({ merchant, amount: paid.amountCents });
  body.transaction.payment_method = {
    bankaccount: { bsb: paid.bsb, account_number: paid.accountNumber, account_name: paid.accountName },
  };
  const answer = await api.post('/transactions/purchase', body);
  expect([answer.status, answer.body.status?.transaction_status_code]).toEqual([201, 'pending']);
  return { audit: answer.body.audit, ...paid };
}

/** After the audit of the item that they are made after. */
const MADE = columns<
  MadeItem & { readonly account: BankAccount; readonly sealed: Buffer; readonly outcomeSeal: Buffer }
>(
  'made',
  {
    audit: integer(({ audit }) => audit),
    amount_cents: bigint(({ amountCents }) => amountCents),
    transaction_type: text(({ type }) => type),
    bank_account: json(({ account }) => account.shown),
    sealed: bytes(({ sealed }) => sealed),
    outcome_seal: bytes(({ outcomeSeal }) => outcomeSeal),
  },
  { after: 1 },
);

/** What differs between two items; everything else is as in one that came through HTTP. */
const COPY_WITH = {
  name: '',
  text: `
    WITH made AS (
      SELECT * FROM ${MADE.rows}
    ), items AS (
      INSERT INTO directdebit_item (organisation_id, audit, merchant_id, account_audit, simulated, next_at)
      SELECT i.organisation_id, made.audit, i.merchant_id, made.audit, i.simulated, i.next_at
      FROM made, directdebit_item i WHERE i.organisation_id = 1 AND i.audit = $1
    )
    INSERT INTO transaction (organisation_id, audit, merchant_id, created_at, amount_cents, gateway_status_code,
      voidable_until, settlement_date, transaction_type, status, currency, correlation_id, reference, acquirer,
      response_code, response_message, payment_details_key_version, bank_account, payment_details_sealed, outcome_seal)
    SELECT t.organisation_id, made.audit, t.merchant_id, t.created_at, made.amount_cents, t.gateway_status_code,
      t.voidable_until, t.settlement_date, made.transaction_type, t.status, t.currency, 'made-' || made.audit, t.reference,
      t.acquirer, t.response_code, t.response_message, t.payment_details_key_version, made.bank_account::json,
      decode(made.sealed, 'base64'), decode(made.outcome_seal, 'base64')
    FROM made, transaction t WHERE t.organisation_id = 1 AND t.audit = $1`,
};
const LINK_OF = {
  name: '',
  text: `SELECT acquirer FROM transaction WHERE organisation_id = 1 AND audit = $1`,
};
const BATCH = 5_000;
/** Beyond every audit that a gateway gives out in a test. */
const FIRST_AUDIT = 10_000_000;

/** Waiting items: one comes through HTTP, and the others are stored like it. Ordered by audit. */
export async function waitingItems(
  { databaseUrl, dataDir }: Home,
  api: Client,
  {
    merchant = 1,
    count,
    from = 0,
    change = () => ({}),
  }: {
    merchant?: number;
    count: number;
    /** The serial of the first that is stored; no two have the same. */
    from?: number;
    change?: (serial: number) => Partial<MadeItem>;
  },
): Promise<MadeItem[]> {
  const paid = await payByBank(api, merchant);
  const database = new Database(databaseUrl, { maxConnections: 1, patient: true });
  try {
    const provider = await openKeyProvider(readSettings({ TOLLGATE_DATA_DIR: dataDir }), database);
    const owner = { organisationId: 1 as OrganisationId, merchantId: merchant as MerchantId };
    const keys = new DataKeys(database, provider);
    const key = await keys.newest(owner.organisationId, owner.merchantId);
    const { rows } = await database.query<{ acquirer: string }>(LINK_OF, [paid.audit]);
    const acquirer = rows[0]?.acquirer as string;
    const all = [paid];
    const further = count - 1;
    for (let done = 0; done < further; done += BATCH) {
      const items = Array.from({ length: Math.min(BATCH, further - done) }, (_, index): MadeItem => {
        const serial = from + done + index;
        return { audit: FIRST_AUDIT + serial, ...customer(serial), ...change(serial) };
      });
      const made = items.map(async (item) => {
        const account = new BankAccount(item.bsb, item.accountNumber, item.accountName);
        const place = paymentDetailsPlace(owner, {
          audit: item.audit as Audit,
          transactionType: item.type,
          amountCents: item.amountCents as Cents,
          currency: 'AUD',
          paymentMethod: 'bank_account',
          acquirer,
        });
        const intent = {
          ...owner,
          audit: item.audit as Audit,
          transactionType: item.type,
          correlationId: `made-${item.audit}`,
          amountCents: item.amountCents as Cents,
          currency: 'AUD',
          acquirer,
        };
        const outcomeSeal = await outcomeSealOf(keys, intent, { status: 'pending', gatewayStatusCode: 0 });
        return { ...item, account, sealed: seal(key, place, bankSecrets(account)), outcomeSeal };
      });
      await database.query(COPY_WITH, [paid.audit, ...MADE.encode(await Promise.all(made))]);
      all.push(...items);
    }
    return all;
  } finally {
    await database.close();
  }
}

export function environmentOf({ databaseUrl, dataDir }: Home): Environment {
  return { DATABASE_URL: databaseUrl, TOLLGATE_DATA_DIR: dataDir };
}

export const EXPORT = (merchant: number, out: string, ...further: string[]) => [
  ...['directdebit', 'export', '--merchant', String(merchant), '--out', out, '--json'],
  ...further,
];

export const IMPORT = (file: string) => ['directdebit', 'import-returns', file, '--json'];

/** What a command that succeeded printed, and nothing else. */
export function printed({ code, stdout, stderr }: Ended): Json {
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

/** From now on the operator brings the merchant's items to a real bank. */
export async function lodgeWithRealBank(home: Home, merchant = 1): Promise<void> {
  const settings = {
    '--bank': 'CBA',
    '--user-name': 'Tollgate Shoes Pty Ltd',
    '--user-id': '301500',
    '--trace-bsb': '062-001',
    '--trace-account': '11223344',
    '--remitter': 'Tollgate Shoes',
  };
  const args = [
    'directdebit',
    'set',
    '--merchant',
    String(merchant),
    ...Object.entries(settings).flat(),
    '--json',
  ];
  expect(printed(await runHere(args, environmentOf(home)))).toMatchObject({ simulated: false });
}

/** An empty folder for files of the bank, inside the data directory, which goes when the test file ends. */
export function bankFolder({ dataDir }: Home): Promise<string> {
  return mkdtemp(join(dataDir, 'bank-'));
}
