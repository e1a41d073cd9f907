import { columns, text } from '../postgres/columns.js';
import type { Statement } from '../postgres/database.js';

export const USERNAMES = columns<string>('asked', { username: text((username) => username) });

/** Only this is read for wrong credentials: it takes the same time whether there is such a user and whatever it is granted. */
export const FIND_SECRETS: Statement = {
  name: 'find-secrets',
  text: `
    SELECT u.username, u.secret_digest AS "secretDigest"
    FROM ${USERNAMES.rows}
    JOIN gateway_user u ON u.username = asked.username
    WHERE u.revoked_at IS NULL`,
};

export const FIND_USER: Statement = {
  name: 'find-user',
  text: `
    SELECT u.organisation_id AS "organisationId", u.merchant_id AS "assignedMerchantId", u.secret_digest AS "secretDigest",
           m.id, m.vault, m.preauthorisation_days AS "preauthorisationDays", m.card_days AS "cardDays", m.mode, m.acquirer,
           m.routes_version AS "routesVersion",
           CASE WHEN NOT e.simulated THEN 'directdebit' WHEN m.mode = 'test' THEN 'simulated-bank' END AS bank,
           coalesce((SELECT json_object_agg(p.plugin, p.settings) FROM merchant_plugin p
             WHERE p.organisation_id = m.organisation_id AND p.merchant_id = m.id), '{}') AS plugins
    FROM gateway_user u
    JOIN merchant m ON m.organisation_id = u.organisation_id
      AND (m.id = u.merchant_id OR EXISTS (
        SELECT FROM user_grant g WHERE g.username = u.username AND g.merchant_id = m.id))
    LEFT JOIN direct_entry e ON e.organisation_id = m.organisation_id AND e.merchant_id = m.id
    WHERE u.username = $1 AND u.revoked_at IS NULL`,
};
