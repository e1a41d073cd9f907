import type { Statement } from '../postgres/database.js';

const CUSTOMER = `
      c.organisation_id AS organisation, c.merchant_id AS merchant, m.mode, c.id, c.name, c.reference, c.name_key AS place`;

/** The merchants to search: of an organisation ($2) and a mode ($3), or one ($1). */
export const MERCHANTS_TO_SEARCH: Statement = {
  name: '',
  text: `
    SELECT organisation_id AS organisation, id FROM merchant
    WHERE ($1::integer IS NULL OR id = $1) AND ($2::integer IS NULL OR organisation_id = $2)
      AND ($3::text IS NULL OR mode = $3)
    ORDER BY organisation_id, id`,
};

/** Ordered by name, after a given customer (`$4`, `$5`, `$6`). Merchants `$2` of organisations `$1`, one by one. */
export const LIST_CUSTOMERS: Statement = {
  name: '',
  text: `
    SELECT ${CUSTOMER}
    FROM unnest($1::integer[], $2::integer[]) AS lane(of_organisation, of_merchant) CROSS JOIN LATERAL (
      SELECT * FROM customer
      WHERE organisation_id = of_organisation AND merchant_id = of_merchant AND name_key >= $4::text
        AND (name_key, organisation_id, id) > ($4::text, $5::integer, $6::integer)
      ORDER BY name_key, id LIMIT $3) c
    JOIN merchant m ON m.id = c.merchant_id
    ORDER BY c.name_key, c.organisation_id, c.id LIMIT $3`,
};

/** Customers whose name or reference contains `$7`. */
export const CUSTOMERS_LIKE: Statement = {
  name: '',
  text: `
    SELECT ${CUSTOMER}
    FROM customer c JOIN merchant m ON m.id = c.merchant_id
    WHERE (c.name_key LIKE $7 OR c.reference_key LIKE $7)
      AND c.organisation_id = ANY ($1::integer[]) AND c.merchant_id = ANY ($2::integer[])
      AND (c.name_key, c.organisation_id, c.id) > ($4::text, $5::integer, $6::integer)
    ORDER BY c.name_key, c.organisation_id, c.id LIMIT $3`,
};

export const CUSTOMERS_BY_ID: Statement = {
  name: '',
  text: `
    SELECT ${CUSTOMER}
    FROM unnest($1::integer[]) AS of_organisation JOIN customer c ON c.organisation_id = of_organisation AND c.id = $3
    JOIN merchant m ON m.id = c.merchant_id
    WHERE c.merchant_id = ANY ($2::integer[]) ORDER BY c.organisation_id`,
};

const TOKEN = `
      t.organisation_id AS organisation, t.merchant_id AS merchant, t.customer_id AS customer, t.id,
      t.virtual_pan AS "virtualPan", t.preferred_name AS "preferredName", t.active, t.deleted_at IS NOT NULL AS deleted,
      t.account_type AS "accountType", t.shown`;

/** Deleted tokens, too. */
export const TOKENS_BY_VIRTUAL_PAN: Statement = {
  name: '',
  text: `
    SELECT ${TOKEN}
    FROM unnest($1::integer[]) AS of_organisation
    JOIN token t ON t.organisation_id = of_organisation AND t.virtual_pan = $3
    WHERE t.merchant_id = ANY ($2::integer[]) ORDER BY t.organisation_id`,
};

/** Newest first, up to a limit. */
export const TOKENS_OF_CUSTOMER_SHOWN: Statement = {
  name: '',
  text: `
    SELECT * FROM (
      (SELECT ${TOKEN} FROM token t
        WHERE t.organisation_id = $1 AND t.customer_id = $2 AND t.deleted_at IS NULL ORDER BY t.id DESC LIMIT $3)
      UNION ALL
      (SELECT ${TOKEN} FROM token t
        WHERE t.organisation_id = $1 AND t.customer_id = $2 AND t.deleted_at IS NOT NULL ORDER BY t.id DESC LIMIT $3)) found
    ORDER BY deleted, id DESC LIMIT $3`,
};
