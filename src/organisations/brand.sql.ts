import { newestSeal } from '../journal/seals.js';
import type { Statement } from '../postgres/database.js';

/** Of a merchant `m`, with its brand `b` if it has one. */
const BRAND = `m.organisation_id AS "organisationId", m.id AS merchant, b.merchant_id IS NOT NULL AS "isSet",
      b.display_name AS "displayName", b.colour, encode(sha256(b.logo), 'hex') AS "logoDigest", octet_length(b.logo) AS "logoBytes",
      ${newestSeal("'brand/' || m.id")} AS newest`;

const OF_MERCHANT = `FROM merchant m LEFT JOIN merchant_brand b ON b.organisation_id = m.organisation_id AND b.merchant_id = m.id
    WHERE m.id = $1`;

export const FIND_BRAND: Statement = {
  name: 'find-brand',
  text: `SELECT ${BRAND} ${OF_MERCHANT}`,
};

/** The same with the logo itself, whose digest is taken here: what is served is what was checked. */
export const FIND_LOGO: Statement = {
  name: 'find-logo',
  text: `SELECT ${BRAND}, b.logo ${OF_MERCHANT}`,
};

/** The logo ($5) is replaced only if $4. */
export const PUT_BRAND: Statement = {
  name: '',
  text: `
    INSERT INTO merchant_brand AS b (organisation_id, merchant_id, display_name, colour, logo)
    SELECT organisation_id, id, $2, $3, $5::bytea FROM merchant WHERE id = $1
    ON CONFLICT (organisation_id, merchant_id) DO UPDATE SET display_name = excluded.display_name, colour = excluded.colour,
      logo = CASE WHEN $4::boolean THEN excluded.logo ELSE b.logo END`,
};

export const REMOVE_BRAND: Statement = {
  name: '',
  text: `DELETE FROM merchant_brand WHERE merchant_id = $1`,
};
