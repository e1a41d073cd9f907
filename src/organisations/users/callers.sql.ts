import { newestSeal } from '../../journal/seals.js';
import { columns, text } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import { SEALED_MERCHANT } from '../sealed-merchant.sql.js';
import { SEALED_ORGANISATION } from '../sealed-organisation.sql.js';

const NEWEST_OF_ROUTES = `${newestSeal("'routes/' || m.id")}`;

export const USERNAMES = columns<string>('asked', { username: text((username) => username) });

/** What it takes to be a user `u`. Times as numbers that know infinity: whatever was written there, the statement does not fail. */
const REQUIRED = `u.secret_tag AS "secretTag", u.previous_secret_tag AS "previousSecretTag",
      round(extract(epoch FROM u.previous_until) * 1000)::float8 AS "previousUntilMs",
      round(extract(epoch FROM u.expires_at) * 1000)::float8 AS "expiresMs", u.client_certificates AS "clientCertificates"`;

/** Everything that the seal of a user `u` covers, the seal, and what the journal seals that with. */
export const SEALED_USER = `u.username, u.id AS "userId", u.organisation_id AS "organisationId",
      u.merchant_id AS "assignedMerchantId", u.permissions, u.from_addresses AS "fromAddresses", ${REQUIRED},
      u.revoked_at IS NOT NULL AS revoked, u.version, u.seal, ${newestSeal("'user/' || u.username")} AS newest,
      ARRAY(SELECT g.merchant_id FROM user_grant g WHERE g.username = u.username ORDER BY g.merchant_id) AS grants`;

/** Only this is read for wrong credentials: it takes the same time whether there is such a user and whatever it is granted. */
export const FIND_SECRETS: Statement = {
  name: 'find-secrets',
  text: `
    SELECT u.username, u.organisation_id AS "organisationId", ${REQUIRED}
    FROM ${USERNAMES.rows}
    JOIN gateway_user u ON u.username = asked.username
    WHERE u.revoked_at IS NULL`,
};

/** Each by itself (`OFFSET 0`): a plan for many would read all merchants that there are. */
export const FIND_USERS: Statement = {
  name: 'find-users',
  // guard(callers: only merchants that the user was given): (m.id = u.merchant_id OR EXISTS ( ⏎ SELECT FROM user_grant g WHERE g.username = u.username AND g.merchant_id = m.id)) ⇒ true
  text: `
    SELECT found.* FROM ${USERNAMES.rows} CROSS JOIN LATERAL (
      SELECT ${SEALED_USER},
             ${SEALED_MERCHANT}, ${NEWEST_OF_ROUTES} AS "newestOfRoutes", ${SEALED_ORGANISATION}
      FROM gateway_user u
      JOIN organisation o ON o.id = u.organisation_id
      JOIN merchant m ON m.organisation_id = u.organisation_id
        AND (m.id = u.merchant_id OR EXISTS (
          SELECT FROM user_grant g WHERE g.username = u.username AND g.merchant_id = m.id))
      WHERE u.username = asked.username AND u.revoked_at IS NULL OFFSET 0) found`,
};

/** Once a day for each user. */
export const STORE_USE: Statement = {
  name: '',
  text: `UPDATE gateway_user SET used_on = $2::date WHERE username = ANY($1::text[]) AND used_on IS DISTINCT FROM $2::date`,
};

/** For what an operator does on behalf of a merchant. */
export const FIND_MERCHANT: Statement = {
  name: '',
  text: `
    SELECT ${SEALED_MERCHANT}, ${NEWEST_OF_ROUTES} AS "newestOfRoutes", ${SEALED_ORGANISATION}
    FROM merchant m JOIN organisation o ON o.id = m.organisation_id
    WHERE m.organisation_id = $1 AND m.id = $2`,
};
