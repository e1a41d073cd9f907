import { newestSeal } from '../journal/seals.js';
import type { Statement } from '../postgres/database.js';

/** Whoever writes to the database may write any JSON: anything but a list of such elements does not stop those who read all operators. */
const OBJECTS = `'$[*] ? (@.type() == "object")'`;
const STRINGS = `'$[*] ? (@.type() == "string")'`;

/** What the seal covers, the seal, and what the journal seals that with; and when the operator was added and signed in last. */
export const OPERATOR = `name, role, organisation_id AS "organisationId", link_tag AS "linkTag",
      round(extract(epoch FROM link_until) * 1000)::float8 AS "linkUntilMs", version, seal, removed_at IS NOT NULL AS removed,
      password, totp, jsonb_path_query_array(passkeys, ${OBJECTS}) AS passkeys, provider_subject AS "providerSubject",
      is_demo AS "isDemo", jsonb_path_query_array(history, ${OBJECTS}) AS history,
      jsonb_path_query_array(former_passwords, ${STRINGS}) AS "formerPasswords", round(extract(epoch FROM enabled_at) * 1000)::float8 AS "enabledMs",
      round(extract(epoch FROM operator.created_at) * 1000)::float8 AS "createdMs",
      round(extract(epoch FROM signed_in_at) * 1000)::float8 AS "signedInMs", signed_in_seal AS "signedInSeal",
      ${newestSeal("'operator/' || operator.name")} AS newest`;

export const ADD_OPERATOR: Statement = {
  name: '',
  text: `
    INSERT INTO operator (name, role, organisation_id, is_demo)
    SELECT $1, $2, $3::integer, $4 WHERE $3::integer IS NULL OR EXISTS (SELECT FROM organisation WHERE id = $3::integer)`,
};

export const FIND_OPERATOR: Statement = {
  name: '',
  text: `SELECT ${OPERATOR} FROM operator WHERE name = $1`,
};

export const FIND_ORGANISATION: Statement = {
  name: '',
  text: `SELECT FROM organisation WHERE id = $1`,
};

/** One change after the other. */
export const LOCK_OPERATOR: Statement = {
  name: '',
  text: `SELECT ${OPERATOR} FROM operator WHERE name = $1 FOR NO KEY UPDATE`,
};

export const LIST_OPERATORS: Statement = {
  name: '',
  text: `SELECT ${OPERATOR} FROM operator ORDER BY name`,
};

export const HAS_OPERATORS: Statement = {
  name: '',
  text: `SELECT FROM operator WHERE removed_at IS NULL AND NOT is_demo LIMIT 1`,
};

export const STORE_OPERATOR: Statement = {
  name: '',
  text: `
    UPDATE operator SET link_tag = $2, link_until = to_timestamp($3::float8 / 1000), version = $4, seal = $5,
      removed_at = CASE WHEN $6 THEN coalesce(removed_at, now()) END, role = $7, organisation_id = $8,
      password = $9, totp = $10, passkeys = $11, provider_subject = $12, history = $13, former_passwords = $14,
      enabled_at = to_timestamp($15::float8 / 1000)
    WHERE name = $1`,
};

/** Who was given access, when and by whom; and the reviews of it. */
export const ACCESS_GIVEN: Statement = {
  name: '',
  text: `
    SELECT action, split_part(detail, ':', 1) AS name, actor, at
    FROM journal WHERE action IN ('operator.added', 'user.added', 'operator.reviewed') ORDER BY id`,
};

/** Locked, so that of two administrators who remove each other the second sees what the first has done. */
export const LOCK_OPERATORS: Statement = {
  name: '',
  text: `SELECT name FROM operator WHERE removed_at IS NULL AND NOT is_demo ORDER BY name FOR UPDATE`,
};

/** The organisation of each thing that is named: NULL where it belongs to none, or is not there. */
export const ORGANISATIONS_OF_NAMED: Statement = {
  name: '',
  text: `
    SELECT organisation FROM unnest($1::integer[]) organisation
    UNION SELECT organisation_id FROM unnest($2::integer[]) named LEFT JOIN merchant ON id = named
    UNION SELECT organisation_id FROM unnest($3::text[]) named LEFT JOIN gateway_user ON username = named
    UNION SELECT organisation_id FROM unnest($4::bigint[]) named LEFT JOIN webhook_endpoint ON id = named
    UNION SELECT organisation_id FROM unnest($5::text[]) named LEFT JOIN operator ON name = named`,
};
