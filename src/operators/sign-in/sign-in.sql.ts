import type { Statement } from '../../postgres/database.js';
import { OPERATOR } from '../operators.sql.js';

/** The operator who has this passkey, and how often it has signed. */
export const FIND_BY_PASSKEY: Statement = {
  name: '',
  text: `
    SELECT ${OPERATOR}, coalesce((passkey_uses -> $2 ->> 'counter')::float8, 0) AS counter
    FROM operator WHERE passkeys @> $1::jsonb`,
};

export const FIND_BY_SUBJECT: Statement = {
  name: '',
  text: `SELECT ${OPERATOR} FROM operator WHERE provider_subject = $1`,
};

export const STORE_SIGN_IN: Statement = {
  name: '',
  text: `UPDATE operator SET signed_in_at = to_timestamp($2::float8 / 1000), signed_in_seal = $3 WHERE name = $1`,
};

/** A code works once, and none before it works any more. */
export const USE_CODE: Statement = {
  name: '',
  text: `UPDATE operator SET totp_step = $2 WHERE name = $1 AND totp_step < $2`,
};

/** A passkey that counts counts up: one that does not was copied. Some do not count at all. */
export const USE_PASSKEY: Statement = {
  name: '',
  text: `
    UPDATE operator SET passkey_uses = passkey_uses || jsonb_build_object($2::text,
      jsonb_build_object('counter', $3::float8, 'used_at', now()))
    WHERE name = $1 AND ($3::float8 = 0 OR coalesce((passkey_uses -> $2 ->> 'counter')::float8, 0) < $3::float8)`,
};

export const USE_CHALLENGE: Statement = {
  name: '',
  text: `
    INSERT INTO used_challenge (tag, until) VALUES ($1, to_timestamp($2::float8 / 1000)) ON CONFLICT (tag) DO NOTHING`,
};

export const FORGET_CHALLENGES: Statement = {
  name: '',
  text: `DELETE FROM used_challenge WHERE until < now()`,
};
