import type { Statement } from '../postgres/database.js';

/** None where the name is taken. */
export const ADD_ACQUIRER: Statement = {
  name: '',
  text: `
    INSERT INTO acquirer (name, kind, mode, host, port, tls, trusted, dialect, connections, institution, deadline_ms,
      key_encryption_key, mac_keys, plaintext_known)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (name) DO NOTHING RETURNING name`,
};

export const LOCK_ACQUIRER: Statement = {
  name: '',
  text: `SELECT name FROM acquirer WHERE name = $1 FOR UPDATE`,
};

/** Keeps it from being removed meanwhile. */
export const HOLD_ACQUIRER: Statement = {
  name: '',
  text: `SELECT name, mode FROM acquirer WHERE name = $1 FOR SHARE`,
};

export const SET_ACQUIRER: Statement = {
  name: '',
  text: `
    UPDATE acquirer SET host = $2, port = $3, tls = $4, trusted = $5, dialect = $6, connections = $7,
      institution = $8, deadline_ms = $9, key_encryption_key = $10, mac_keys = $11,
      plaintext_known = $12
    WHERE name = $1`,
};

export const MERCHANTS_OF_ACQUIRER: Statement = {
  name: '',
  text: `SELECT id FROM merchant WHERE acquirer = $1 ORDER BY id LIMIT 20`,
};

export const MERCHANTS_ROUTED_TO_ACQUIRER: Statement = {
  name: '',
  text: `SELECT DISTINCT merchant_id AS id FROM route WHERE acquirer = $1 ORDER BY id LIMIT 20`,
};

/** Orders that a host had never seen when it acknowledged their reversal, or approved after it; of one link ($1) or of all. */
export const UNSEEN_AT_ACQUIRERS: Statement = {
  name: '',
  text: `
    SELECT r.acquirer, r.organisation_id AS "organisationId", t.merchant_id AS "merchantId", t.audit,
      t.transaction_type AS "transactionType", t.amount_cents AS "amountCents", t.currency, r.terminal, r.original_stan AS stan,
      r.retrieval_reference AS "retrievalReference",
      round(extract(epoch FROM r.begun_at) * 1000)::bigint AS "reversedMs",
      CASE WHEN r.acknowledged_at IS NULL THEN 'being reversed again' WHEN r.approved_at IS NULL THEN 'never seen'
        ELSE 'reversed again' END AS state
    FROM acquirer_reversal r JOIN transaction t
      ON t.organisation_id = r.organisation_id AND t.audit = substring(r.reference FROM '[0-9]+$')::integer
    WHERE (r.unseen OR r.approved_at IS NOT NULL) AND ($1::text IS NULL OR r.acquirer = $1)
    ORDER BY r.begun_at DESC LIMIT 1000`,
};

/** Handed to the resolver, which has not come to an end with them; or to be reversed again. */
export const IN_DOUBT_AT_ACQUIRER: Statement = {
  name: '',
  text: `
    SELECT (SELECT count(*) FROM transaction WHERE resolve_at IS NOT NULL AND acquirer = $1)::integer
      + (SELECT count(*) FROM acquirer_reversal WHERE again_at IS NOT NULL AND acquirer = $1)::integer AS "inDoubt"`,
};

export const REMOVE_ACQUIRER: Statement = {
  name: '',
  text: `DELETE FROM acquirer WHERE name = $1`,
};

export const ALL_MAC_KEYS: Statement = {
  name: '',
  text: `
    SELECT name, key_encryption_key AS "keyId", mac_keys AS wrapped FROM acquirer WHERE mac_keys IS NOT NULL ORDER BY name`,
};

export const REWRAP_MAC_KEYS: Statement = {
  name: '',
  text: `
    UPDATE acquirer SET key_encryption_key = $2, mac_keys = $3 WHERE name = $1 AND mac_keys = $4`,
};
