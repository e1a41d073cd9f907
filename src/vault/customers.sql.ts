import { INTO_EVENTS_WITH_DATA } from '../events/events.sql.js';
import { columns, integer, text } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import type { CustomerId } from '../values/ids.js';

/**
 * Writes the events of a change. Reads `changed`: the customer as it is or was, what is `told` of it, and whose change it is.
 */
const EVENTS = `
    events AS (${INTO_EVENTS_WITH_DATA}
      SELECT organisation_id, merchant_id, id, version, told, (SELECT gateway_now()),
        json_build_object('name', name, 'reference', reference), user_id
      FROM changed
    )`;

export const LEASE_CUSTOMER_IDS: Statement = {
  name: 'lease-customer-ids',
  text: `
    UPDATE organisation SET next_customer_id = next_customer_id + $2 WHERE id = $1
    RETURNING (next_customer_id - $2)::integer AS first, (next_customer_id - 1)::integer AS last`,
};

export const ADD_CUSTOMER: Statement = {
  name: 'add-customer',
  text: `
    WITH changed AS (
      INSERT INTO customer (organisation_id, merchant_id, id, reference, name, version) VALUES ($1, $2, $3, $4, $5, 1)
      ON CONFLICT (organisation_id, merchant_id, reference) DO NOTHING
      RETURNING *, 'customer.created' AS told, $6::integer AS user_id
    ), ${EVENTS}
    SELECT id, name, reference FROM changed`,
};

export const NEW_CUSTOMERS = columns<{
  readonly id: CustomerId;
  readonly reference: string;
  readonly name: string;
}>(
  'asked',
  {
    id: integer(({ id }) => id),
    reference: text(({ reference }) => reference),
    name: text(({ name }) => name),
  },
  { after: 3 },
);

/** Several customers of one merchant. A customer whose reference is taken, or is just being taken, is skipped. */
export const ADD_CUSTOMERS: Statement = {
  name: 'add-customers',
  text: `
    WITH changed AS (
      INSERT INTO customer (organisation_id, merchant_id, id, reference, name, version)
      SELECT $1::integer, $2::integer, id, reference, name, 1 FROM ${NEW_CUSTOMERS.rows}
      ORDER BY reference COLLATE "C"
      ON CONFLICT (organisation_id, merchant_id, reference) DO NOTHING
      RETURNING *, 'customer.created' AS told, $3::integer AS user_id
    ), ${EVENTS}
    SELECT id, name, reference FROM changed`,
};

export const CUSTOMERS_BY_REFERENCE: Statement = {
  name: 'customers-by-reference',
  text: `
    SELECT id, name, reference FROM customer
    WHERE organisation_id = $1 AND merchant_id = $2 AND reference = ANY ($3::text[])`,
};

export const CUSTOMER_BY_REFERENCE: Statement = {
  name: 'customer-by-reference',
  text: `SELECT id, name, reference FROM customer WHERE organisation_id = $1 AND merchant_id = $2 AND reference = $3`,
};

/** The references `$4` places after and before a given one, in order; none if the list ends earlier. */
export const REFERENCES_NEAR: Statement = {
  name: 'references-near',
  text: `
    (SELECT reference_key AS reference FROM customer
      WHERE organisation_id = $1 AND merchant_id = $2 AND reference_key >= $3
      ORDER BY reference_key, id OFFSET $4 LIMIT 1)
    UNION ALL
    (SELECT reference_key AS reference FROM customer
      WHERE organisation_id = $1 AND merchant_id = $2 AND reference_key <= $3
      ORDER BY reference_key DESC, id DESC OFFSET $4 LIMIT 1)`,
};

export const CUSTOMER: Statement = {
  name: 'customer',
  text: `SELECT id, name, reference FROM customer WHERE organisation_id = $1 AND merchant_id = $2 AND id = $3`,
};

export const CHANGE_CUSTOMER: Statement = {
  name: 'change-customer',
  text: `
    WITH changed AS (
      UPDATE customer SET reference = coalesce($4, reference), name = coalesce($5, name), version = version + 1
      WHERE organisation_id = $1 AND merchant_id = $2 AND id = $3
      RETURNING *, 'customer.updated' AS told, $6::integer AS user_id
    ), ${EVENTS}
    SELECT id, name, reference FROM changed`,
};

/** Locks the customer, so that no token can be added meanwhile. */
export const DELETE_CUSTOMER: Statement = {
  name: 'delete-customer',
  // guard(customer: deleted, cards and all, only by its merchant): merchant_id = $2 ⇒ $2::integer > 0
  text: `
    WITH deleted AS (
      DELETE FROM customer WHERE organisation_id = $1 AND merchant_id = $2 AND id = $3 RETURNING *
    ), changed AS (
      SELECT organisation_id, merchant_id, id, version + 1 AS version, name, reference, 'customer.deleted' AS told,
        $4::integer AS user_id
      FROM deleted
    ), ${EVENTS}
    SELECT id FROM changed`,
};

/**
 * The customers of a vault with their positions in an order. Only indexed columns, so that distant pages are found in the index
 * alone.
 */
export const PLACES_BY_NAME = `
    SELECT id, name_key AS place FROM customer WHERE organisation_id = $1 AND merchant_id = $2`;

export const PLACES_BY_REFERENCE = `
    SELECT id, reference_key AS place FROM customer WHERE organisation_id = $1 AND merchant_id = $2`;

export const PLACES_BY_ID = `
    SELECT id, '' AS place FROM customer WHERE organisation_id = $1 AND merchant_id = $2`;

/** The customers at the given positions. Rows leave `found` in its order, and no more are read than needed. */
export const FOUND = `
    WITH found AS MATERIALIZED (`;

export const CUSTOMERS_FOUND = `)
    SELECT c.id, c.name, c.reference, at.place FROM customer c JOIN (SELECT * FROM found LIMIT $5) at
    ON c.organisation_id = $1 AND c.id = at.id ORDER BY at.place, at.id`;
