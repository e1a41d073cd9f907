// The sealed contents of a gateway's database, opened with the stored keys.
import { dirname } from 'node:path';
import { expect } from 'vitest';
import { openKeyProvider } from '../src/gateway/settings/key-encryption.js';
import { readSettings } from '../src/gateway/settings/settings.js';
import { SEALED_PAYMENT_DETAILS } from '../src/payments/cards/payment-details.js';
import { Database } from '../src/postgres/database.js';
import type { MerchantId, OrganisationId } from '../src/values/ids.js';
import type { KeyProvider } from '../src/vault/keys/key-provider.js';
import { DataKeys, open, type Place } from '../src/vault/keys/keys.js';
import { Rotation } from '../src/vault/keys/rotation.js';
import { SEALED_TOKENS } from '../src/vault/keys/sealed-rows.js';
import { credentialKeyOf } from './cast.js';
import type { TestGateway } from './gateway.js';
import { cardAccount, cardBeginning, type NewToken, vaultOf } from './vault-client.js';

export interface SealedRow {
  readonly table: Place['table'];
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly row: number;
  readonly version: number;
  readonly sealed: Buffer;
  /** What the seal is bound to. */
  readonly bound: Record<string, never>;
}

const SEALED = `
  SELECT 'token' AS table, organisation_id AS "organisationId", merchant_id AS "merchantId", id AS row,
    key_version AS version, sealed, json_build_object('id', id, 'customerId', customer_id, 'virtualPan', virtual_pan,
      'accountType', account_type, 'sealVersion', seal_version) AS bound
  FROM token WHERE sealed IS NOT NULL
  UNION ALL
  SELECT 'transaction', organisation_id, merchant_id, audit, payment_details_key_version, payment_details_sealed,
    json_build_object('audit', audit, 'transactionType', transaction_type, 'amountCents', amount_cents, 'currency', currency,
      'paymentMethod', CASE WHEN bank_account IS NULL THEN 'card' ELSE 'bank_account' END, 'acquirer', acquirer, 'prepared', prepared)
  FROM transaction
  WHERE payment_details_sealed IS NOT NULL
  ORDER BY 1, 2, 3, 4`;

export const dataDirOf = ({ ledgerPath }: TestGateway) => dirname(ledgerPath);

/** An operator with the gateway's own key file, working beside the gateway. Close it after use. */
export interface Operator {
  readonly database: Database;
  readonly provider: KeyProvider;
  readonly rotation: Rotation;
  close(): Promise<void>;
}

export function rotationOf(database: Database, provider: KeyProvider): Rotation {
  const sealed = [SEALED_TOKENS, SEALED_PAYMENT_DETAILS];
  return new Rotation({ database, provider, actor: 'operator:test', sealed, wrapped: [] });
}

export function operatorOf(gateway: TestGateway): Promise<Operator> {
  return operatorAt(gateway.databaseUrl, dataDirOf(gateway));
}

/** With the key file of this data directory. */
export async function operatorAt(databaseUrl: string, dataDir: string): Promise<Operator> {
  const database = new Database(databaseUrl, { maxConnections: 2, patient: true });
  const settings = readSettings({ TOLLGATE_DATA_DIR: dataDir });
  const provider = await openKeyProvider(settings, database);
  await credentialKeyOf(database, settings);
  return {
    database,
    provider,
    rotation: rotationOf(database, provider),
    close: () => database.close(),
  };
}

export function sealedRows({ sql }: Pick<TestGateway, 'sql'>): Promise<SealedRow[]> {
  return sql<SealedRow & Record<string, unknown>>(SEALED);
}

/** The texts behind these rows. Throws if one does not open. */
export async function opened(
  { database, provider }: Operator,
  rows: readonly SealedRow[],
): Promise<string[]> {
  // New keys each time, without a cache.
  const keys = new DataKeys(database, provider);
  const texts: string[] = [];
  for (const { table, organisationId, merchantId, row, version, sealed, bound } of rows) {
    const key = await keys.version(organisationId, merchantId, version);
    const kind = table === 'token' ? SEALED_TOKENS : SEALED_PAYMENT_DETAILS;
    const place = kind.place({ organisationId, merchantId }, { row, keyVersion: version, sealed, ...bound });
    texts.push(open(key, place, sealed));
  }
  return texts;
}

/** The versions that seal anything of this merchant. */
export function versionsIn(rows: readonly SealedRow[], merchantId: number): number[] {
  return [
    ...new Set(rows.filter((row) => row.merchantId === merchantId).map(({ version }) => version)),
  ].sort();
}

/** Tokens of one new customer, each with a card of its own. */
export async function tokensOf(
  { api }: Pick<TestGateway, 'api'>,
  merchantId: number,
  count: number,
): Promise<NewToken[]> {
  const vault = vaultOf(api, merchantId);
  const customerId = await vault.newCustomer();
  return Promise.all(
    Array.from({ length: count }, (_, serial) =>
      vault.newToken({ account: cardAccount({ 'CARD.PAN': cardBeginning('45', serial) }) }, customerId),
    ),
  );
}

/** One purchase with each, all of them approved. */
export async function payWith(
  { api }: Pick<TestGateway, 'api'>,
  tokens: readonly NewToken[],
  merchant = 1,
): Promise<void> {
  const answers = await Promise.all(
    tokens.map(({ virtualPan }) => api.purchase({ pan: virtualPan, merchant })),
  );
  for (const { status, body } of answers) {
    expect([status, body.status?.transaction_status_code]).toEqual([201, 'approved']);
  }
}
