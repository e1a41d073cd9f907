import { KEY_DESTROYED } from '../../journal/journal.sql.js';
import { bigint, columns, integer } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';

export const KEY_PROOF: Statement = {
  name: 'key-proof',
  text: `SELECT key_proof_key AS "keyId", key_proof AS wrapped FROM gateway WHERE key_proof IS NOT NULL`,
};

export const SET_KEY_PROOF: Statement = {
  name: '',
  text: `UPDATE gateway SET key_proof_key = $1, key_proof = $2 WHERE key_proof IS NULL OR $3`,
};

export const NEWEST_DATA_KEY: Statement = {
  name: 'newest-data-key',
  text: `
    SELECT version, key_encryption_key AS "keyId", wrapped FROM data_key
    WHERE organisation_id = $1 AND merchant_id = $2 ORDER BY version DESC LIMIT 1`,
};

export const KNOWN_KEYS = columns<{
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly version: number;
}>('known', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ merchantId }) => merchantId),
  version: integer(({ version }) => version),
});

/** Merchants whose newest key is another than the one that is known. */
export const OTHER_NEWEST_KEYS: Statement = {
  name: 'other-newest-keys',
  text: `
    SELECT known.merchant_id AS "merchantId" FROM ${KNOWN_KEYS.rows}
    WHERE known.version IS DISTINCT FROM (SELECT max(k.version) FROM data_key k
      WHERE k.organisation_id = known.organisation_id AND k.merchant_id = known.merchant_id)`,
};

/** `destroyed`: what the journal says. A destroyed key stays gone, even if somebody has put its row back. */
export const DATA_KEY: Statement = {
  name: 'data-key',
  text: `
    SELECT version, key_encryption_key AS "keyId", wrapped, ${KEY_DESTROYED} AS destroyed FROM data_key
    WHERE organisation_id = $1 AND merchant_id = $2 AND version = $3::integer`,
};

export const ADD_DATA_KEY: Statement = {
  name: 'add-data-key',
  text: `
    INSERT INTO data_key (organisation_id, merchant_id, version, key_encryption_key, wrapped)
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
};

export const COUNTED = columns<{
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly version: number;
  readonly count: number;
}>('counted', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ merchantId }) => merchantId),
  version: integer(({ version }) => version),
  count: bigint(({ count }) => count),
});

export const COUNT_SEALS: Statement = {
  name: 'count-seals',
  // guard(renewal of keys: the seals of all processes count): data_key_use.seals + ⇒
  text: `
    INSERT INTO data_key_use (organisation_id, merchant_id, version, seals)
    SELECT organisation_id, merchant_id, version, count FROM ${COUNTED.rows}
    ORDER BY organisation_id, merchant_id, version
    ON CONFLICT (organisation_id, merchant_id, version) DO UPDATE SET seals = data_key_use.seals + excluded.seals`,
};
