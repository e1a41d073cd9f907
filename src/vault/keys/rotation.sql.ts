import { bytes, columns, integer } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import { isNotElsewhere } from '../../postgres/elsewhere.js';

/** After the organisation, the merchant and the new version. */
export const RESEALED = columns<{ readonly row: number; readonly sealed: Buffer }>(
  'resealed',
  { row: integer(({ row }) => row), sealed: bytes(({ sealed }) => sealed) },
  { after: 3 },
);

/** Locks the merchant, so that two rotations do not both create a new version. */
export const LOCK_MERCHANT: Statement = {
  name: '',
  text: `SELECT id FROM merchant WHERE organisation_id = $1 AND id = $2 FOR NO KEY UPDATE`,
};

export const MERCHANTS_WITH_KEYS: Statement = {
  name: '',
  text: `
    SELECT DISTINCT organisation_id AS "organisationId", merchant_id AS "merchantId" FROM data_key
    WHERE ($1::integer IS NULL OR merchant_id = $1) AND ${isNotElsewhere('organisation_id')} ORDER BY 1, 2`,
};

export const OLDER_TOKENS_LEFT: Statement = {
  name: '',
  text: `
    SELECT EXISTS (SELECT FROM token
      WHERE organisation_id = $1 AND merchant_id = $2 AND key_version < $3 AND deleted_at IS NULL) AS left`,
};

export const COUNT_OLDER_TOKENS: Statement = {
  name: '',
  text: `
    SELECT count(*) AS rows FROM token
    WHERE organisation_id = $1 AND merchant_id = $2 AND key_version < $3 AND deleted_at IS NULL`,
};

export const OLDER_TOKENS: Statement = {
  name: 'older-tokens',
  text: `
    SELECT id AS row, key_version AS "keyVersion", sealed, id, customer_id AS "customerId", virtual_pan AS "virtualPan",
      account_type AS "accountType", seal_version AS "sealVersion"
    FROM token
    WHERE organisation_id = $1 AND merchant_id = $2 AND key_version < $3 AND deleted_at IS NULL AND id > $5
      AND id <> ALL ($6::integer[])
    ORDER BY key_version, id LIMIT $4`,
};

export const RESEAL_TOKENS: Statement = {
  name: 'reseal-tokens',
  text: `
    UPDATE token t SET key_version = $3, sealed = decode(resealed.sealed, 'base64')
    FROM ${RESEALED.rows}
    WHERE t.organisation_id = $1 AND t.merchant_id = $2 AND t.id = resealed.row`,
};

/** Data keys under which nothing is sealed any more. */
export const EMPTIED_DATA_KEYS: Statement = {
  name: '',
  text: `
    UPDATE data_key SET emptied_at = now()
    WHERE organisation_id = $1 AND merchant_id = $2 AND version < $3 AND emptied_at IS NULL`,
};

// guard(destroying a key: not one that was just replaced): newer.created_at < now() - $3 * interval '1 millisecond' ⇒ $3::bigint > 0
// guard(destroying a key: not the newest): > k ⇒ >= k
const KEY_TO_DESTROY = `
    DELETE FROM data_key k
    WHERE k.merchant_id = $1 AND k.version = $2
      AND EXISTS (SELECT FROM data_key newer WHERE newer.organisation_id = k.organisation_id
        AND newer.merchant_id = k.merchant_id AND newer.version > k.version
        AND newer.created_at < now() - $3 * interval '1 millisecond')
      AND NOT EXISTS (SELECT FROM token t WHERE t.organisation_id = k.organisation_id
        AND t.merchant_id = k.merchant_id AND t.key_version = k.version)
      AND`;

// guard(webhooks: a key that seals a secret is not destroyed): AND NOT EXISTS (SELECT FROM webhook_endpoint e WHERE e.organisation_id = k.organisation_id ⏎ AND e.merchant_id = k.merchant_id AND e.key_version = k.version) ⇒
const KEY_DESTROYED = `
      AND NOT EXISTS (SELECT FROM webhook_endpoint e WHERE e.organisation_id = k.organisation_id
        AND e.merchant_id = k.merchant_id AND e.key_version = k.version)
      AND NOT EXISTS (SELECT FROM one_time_card o WHERE o.organisation_id = k.organisation_id
        AND o.merchant_id = k.merchant_id AND o.key_version = k.version)
      AND NOT EXISTS (SELECT FROM wallet_key w WHERE w.organisation_id = k.organisation_id
        AND w.merchant_id = k.merchant_id AND w.key_version = k.version)
    RETURNING k.organisation_id AS "organisationId", k.merchant_id AS "merchantId"`;

/** Neither the newest nor a young version (a process may still seal under it), and nothing is sealed under it. */
export const DESTROY_DATA_KEY: Statement = {
  name: '',
  // guard(destroying a key: not while a transaction is sealed under it): NOT EXISTS (SELECT FROM transaction t WHERE t.organisation_id = k.organisation_id ⏎ AND t.merchant_id = k.merchant_id AND t.payment_details_key_version = k.version) ⇒ true
  text: `${KEY_TO_DESTROY} NOT EXISTS (SELECT FROM transaction t WHERE t.organisation_id = k.organisation_id
        AND t.merchant_id = k.merchant_id AND t.payment_details_key_version = k.version)${KEY_DESTROYED}`,
  spread: `${KEY_TO_DESTROY} NOT transactions_sealed_under(k.organisation_id, k.merchant_id, k.version)${KEY_DESTROYED}`,
};

/** Held until the database transaction ends; false if another process has it. */
export const LOCK_REWRAPPING: Statement = {
  name: '',
  // guard(renewing the key-encryption key: one at a time): pg_try_advisory_xact_lock(hashtext('tollgate rewrap')) ⇒ true
  text: `SELECT pg_try_advisory_xact_lock(hashtext('tollgate rewrap')) AS locked`,
};

/** But those that were wiped when their organisation had moved to another cell. */
export const ALL_DATA_KEYS: Statement = {
  name: '',
  text: `
    SELECT organisation_id AS "organisationId", merchant_id AS "merchantId", version,
      key_encryption_key AS "keyId", wrapped
    FROM data_key WHERE (organisation_id, merchant_id, version) > ($1, $2, $3) AND wrapped <> ''
    ORDER BY organisation_id, merchant_id, version LIMIT 500`,
};

export const REWRAP_DATA_KEY: Statement = {
  name: 'rewrap-data-key',
  text: `
    UPDATE data_key SET key_encryption_key = $4, wrapped = $5
    WHERE organisation_id = $1 AND merchant_id = $2 AND version = $3 AND wrapped = $6`,
};
