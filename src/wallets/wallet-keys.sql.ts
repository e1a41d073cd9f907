import { newestSeal } from '../journal/seals.js';
import type { Statement } from '../postgres/database.js';
import { RESEALED } from '../vault/keys/rotation.sql.js';

const KEY = `organisation_id AS "organisationId", merchant_id AS "merchantId", number, type, recipient, gateway_merchant AS "gatewayMerchant",
  public_key AS "publicKey", roots, created_at AS "createdAt", key_version AS "keyVersion", sealed,
  ${newestSeal("'wallet/' || merchant_id || '/' || number")} AS newest`;

/** Locks the merchant, so that keys are numbered one after the other. */
export const LOCK_OWNER: Statement = {
  name: '',
  text: `SELECT organisation_id AS "organisationId", id AS "merchantId" FROM merchant WHERE id = $1 FOR NO KEY UPDATE`,
};

/** Of a merchant, or of all. */
export const READ_WALLET_KEYS: Statement = {
  name: '',
  text: `SELECT ${KEY} FROM wallet_key WHERE $1::integer IS NULL OR merchant_id = $1 ORDER BY merchant_id, number`,
};

export const WALLET_KEYS_OF_MERCHANT: Statement = {
  name: 'wallet-keys-of-merchant',
  text: `SELECT ${KEY} FROM wallet_key WHERE organisation_id = $1 AND merchant_id = $2 ORDER BY number DESC`,
};

export const ADD_WALLET_KEY: Statement = {
  name: '',
  text: `
    INSERT INTO wallet_key (organisation_id, merchant_id, number, type, recipient, gateway_merchant, public_key, roots, key_version, sealed)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};

export const SET_WALLET_ROOTS: Statement = {
  name: '',
  text: `UPDATE wallet_key SET roots = $4 WHERE organisation_id = $1 AND merchant_id = $2 AND number = $3`,
};

export const REMOVE_WALLET_KEY: Statement = {
  name: '',
  text: `DELETE FROM wallet_key WHERE organisation_id = $1 AND merchant_id = $2 AND number = $3`,
};

export const OLDER_WALLET_KEYS_LEFT: Statement = {
  name: '',
  text: `
    SELECT EXISTS (SELECT FROM wallet_key
      WHERE organisation_id = $1 AND merchant_id = $2 AND key_version < $3) AS left`,
};

export const COUNT_OLDER_WALLET_KEYS: Statement = {
  name: '',
  text: `
    SELECT count(*) AS rows FROM wallet_key
    WHERE organisation_id = $1 AND merchant_id = $2 AND key_version < $3`,
};

export const OLDER_WALLET_KEYS: Statement = {
  name: 'older-wallet-keys',
  text: `
    SELECT number AS row, key_version AS "keyVersion", sealed, number, public_key AS "publicKey" FROM wallet_key
    WHERE organisation_id = $1 AND merchant_id = $2 AND key_version < $3 AND number > $5 AND number <> ALL ($6::integer[])
    ORDER BY number LIMIT $4`,
};

export const RESEAL_WALLET_KEYS: Statement = {
  name: 'reseal-wallet-keys',
  text: `
    UPDATE wallet_key w SET key_version = $3, sealed = decode(resealed.sealed, 'base64')
    FROM ${RESEALED.rows}
    WHERE w.organisation_id = $1 AND w.number = resealed.row AND w.merchant_id = $2`,
};
