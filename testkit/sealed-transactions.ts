// Transactions set up by SQL, with the seals that the gateway would have given them.

import { outcomeSealOf } from '../src/payments/outcome-seals.js';
import { OUTCOME } from '../src/payments/outcome-seals.sql.js';
import { attestedWords, paymentDetailsPlace, type StoredOutcome } from '../src/payments/transaction.js';
import type { Database } from '../src/postgres/database.js';
import type { Audit } from '../src/values/ids.js';
import { DataKeys, seal } from '../src/vault/keys/keys.js';
import type { TestGateway } from './gateway.js';
import { operatorAt } from './sealed-rows.js';

interface Row {
  readonly stored: StoredOutcome;
  readonly prepared: unknown;
  readonly attested: boolean;
  readonly keyVersion: number | null;
  readonly sealed: Buffer | null;
  readonly paymentMethod: 'card' | 'bank_account';
}

const ROWS = (where: string) => ({
  name: '',
  text: `
    SELECT ${OUTCOME} AS stored, t.prepared, t.attestation IS NOT NULL AS attested,
      t.payment_details_key_version AS "keyVersion", t.payment_details_sealed AS sealed,
      CASE WHEN t.bank_account IS NULL THEN 'card' ELSE 'bank_account' END AS "paymentMethod"
    FROM transaction t WHERE ${where} ORDER BY t.audit`,
});

const placeOf = ({ stored, paymentMethod, prepared }: Row) =>
  paymentDetailsPlace(stored, { ...stored, paymentMethod, prepared });

/**
 * Changes transactions as if the gateway had stored them so in the first place: past the triggers, and with seals that fit. `where` must
 * find the same rows before and after.
 */
export async function storedAs(
  gateway: Pick<TestGateway, 'databaseUrl' | 'dataDir' | 'sql'>,
  set: string,
  where: string,
): Promise<void> {
  const operator = await operatorAt(gateway.databaseUrl, gateway.dataDir);
  try {
    const keys = new DataKeys(operator.database, operator.provider);
    const { rows } = await operator.database.query<Row>(ROWS(where));
    const secrets = await Promise.all(
      rows.map(async (row) => row.sealed && keys.open(placeOf(row), row.keyVersion as number, row.sealed)),
    );
    await gateway.sql(
      `BEGIN; SET LOCAL session_replication_role = replica; UPDATE transaction t SET ${set} WHERE ${where}; COMMIT`,
    );
    await sealAll(operator.database, keys, where, secrets);
  } finally {
    await operator.close();
  }
}

/** A decided payment as if its answer had been lost: the resolver has tried seven times, and its next attempt is an hour away. */
export function inDoubtForLong(
  gateway: Pick<TestGateway, 'databaseUrl' | 'dataDir' | 'sql'>,
  audit: number,
): Promise<void> {
  const set = `status = 'unknown', gateway_status_code = -99, decided_at = NULL, response_code = NULL, response_message = NULL,
    authorisation_code = NULL, settlement_date = NULL, voidable_until = NULL, resolve_at = now() + interval '1 hour',
    resolve_attempts = 7`;
  return storedAs(gateway, set, `organisation_id = 1 AND audit = ${audit}`);
}

/** Seals transactions as they are stored now: for rows that a test has inserted. */
export async function sealStored(
  { databaseUrl, dataDir }: Pick<TestGateway, 'databaseUrl' | 'dataDir'>,
  where: string,
): Promise<void> {
  const operator = await operatorAt(databaseUrl, dataDir);
  try {
    await sealAll(operator.database, new DataKeys(operator.database, operator.provider), where, []);
  } finally {
    await operator.close();
  }
}

async function sealAll(
  database: Database,
  keys: DataKeys,
  where: string,
  secrets: readonly (string | null)[],
): Promise<void> {
  const { rows } = await database.query<Row>(ROWS(where));
  for (const [index, row] of rows.entries()) {
    const { stored, prepared, keyVersion, attested } = row;
    const { organisationId, merchantId, audit, transactionType, amountCents, currency, status } = stored;
    const outcome = status === 'unknown' ? null : await outcomeSealOf(keys, stored, stored);
    const secret = secrets[index];
    const details = secret
      ? seal(await keys.version(organisationId, merchantId, keyVersion as number), placeOf(row), secret)
      : row.sealed;
    const amount = transactionType === 'void' ? {} : { amountCents, currency };
    const targetAudit = stored.targetAudit as Audit;
    const words = { organisationId, merchantId, audit, transactionType, targetAudit, prepared, ...amount };
    const attestation = attested ? await keys.attest(attestedWords(words)) : null;
    await database.query(
      {
        name: '',
        text: `UPDATE transaction SET outcome_seal = $3, payment_details_sealed = $4, attestation = $5
          WHERE organisation_id = $1 AND audit = $2`,
      },
      [organisationId, audit, outcome, details, attestation],
    );
  }
}
