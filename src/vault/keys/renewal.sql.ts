import type { Statement } from '../../postgres/database.js';
import { isNotElsewhere } from '../../postgres/elsewhere.js';

/** Why the newest data key `k` of a merchant is due, if it is: after $1 days, or $2 seals. */
// guard(renewal of keys: of those that have sealed too much): 2 THEN ⇒ 2 * 1000 THEN
// guard(renewal of keys: of those that are too old): 24 ⇒ 9999
export const DUE = `
      CASE WHEN k.created_at < now() - $1::integer * interval '24 hours' THEN 'age'
        WHEN (SELECT u.seals FROM data_key_use u WHERE u.organisation_id = k.organisation_id
          AND u.merchant_id = k.merchant_id AND u.version = k.version) >= $2 THEN 'seals' END`;

/** The newest key of each merchant that is due, or whose rotation was begun a while ago and is unfinished. */
export const KEYS_TO_RENEW: Statement = {
  name: 'keys-to-renew',
  // guard(renewal of keys: one that was interrupted is finished): < k.version AND older.emptied_at IS NULL ⇒ > k.version
  text: `
    SELECT organisation_id AS "organisationId", merchant_id AS "merchantId", version,
      CASE WHEN unfinished THEN 'unfinished' ELSE due END AS because
    FROM (
      SELECT DISTINCT ON (k.organisation_id, k.merchant_id) k.organisation_id, k.merchant_id, k.version, ${DUE} AS due,
        EXISTS (SELECT FROM data_key older WHERE older.organisation_id = k.organisation_id
          AND older.merchant_id = k.merchant_id AND older.version < k.version AND older.emptied_at IS NULL)
          AND k.created_at < now() - interval '10 minutes' AS unfinished
      FROM data_key k WHERE ${isNotElsewhere('k.organisation_id')} ORDER BY k.organisation_id, k.merchant_id, k.version DESC) newest
    WHERE unfinished OR due IS NOT NULL`,
};
