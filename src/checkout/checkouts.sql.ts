import { INTO_EVENTS_WITH_DATA } from '../events/events.sql.js';
import type { Statement } from '../postgres/database.js';

export const LEASE_CHECKOUT_NUMBERS: Statement = {
  name: 'lease-checkout-numbers',
  text: `
    UPDATE organisation SET next_checkout = next_checkout + $2 WHERE id = $1
    RETURNING (next_checkout - $2)::integer AS first, (next_checkout - 1)::integer AS last`,
};

export const ADD_CHECKOUT: Statement = {
  name: 'add-checkout',
  text: `
    INSERT INTO checkout (organisation_id, number, merchant_id, id, correlation_id, created_at, expires_at, attempts_allowed, terms,
      seal, user_id)
    VALUES ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), to_timestamp($7::float8 / 1000), $8, $9::json, $10, $11)
    ON CONFLICT (organisation_id, merchant_id, correlation_id) DO NOTHING
    RETURNING id`,
};

/** What is open and past its time has expired, also before that is written. */
const CHECKOUT = `
    SELECT c.organisation_id AS "organisationId", c.number, c.merchant_id AS "merchantId", c.id, c.correlation_id AS "correlationId",
      round(extract(epoch FROM c.created_at) * 1000)::float8 AS "createdMs", round(extract(epoch FROM c.expires_at) * 1000)::float8 AS "expiresMs",
      c.attempts_allowed AS "attemptsAllowed", c.terms::text AS terms, c.seal, c.user_id AS "userId",
      CASE WHEN c.attempt_until IS NOT NULL THEN 'processing'
        WHEN c.status = 'open' AND c.expires_at <= gateway_now() THEN 'expired' ELSE c.status END AS status,
      c.attempt_until IS NOT NULL AND c.attempt_until <= now() AS "isLeft",
      c.result_audit AS "resultAudit", c.result_virtual_pan AS "resultVirtualPan",
      coalesce((SELECT json_agg(json_build_object('n', a.n, 'outcome', a.outcome, 'audit', a.audit) ORDER BY a.n)
        FROM checkout_attempt a WHERE a.organisation_id = c.organisation_id AND a.checkout = c.number), '[]') AS attempts
    FROM checkout c`;

/** What the seal of a checkout `t` is of, as JSON. */
export const SEALED_CHECKOUT = `json_build_object('organisationId', t.organisation_id, 'number', t.number, 'merchantId', t.merchant_id,
        'id', t.id, 'expiresMs', round(extract(epoch FROM t.expires_at) * 1000)::float8, 'attemptsAllowed', t.attempts_allowed, 'terms', t.terms::text)`;

/** For a payer, who knows nothing else. */
export const CHECKOUT_BY_ID: Statement = {
  name: 'checkout-by-id',
  text: `${CHECKOUT} WHERE c.id = $1`,
};

export const CHECKOUT_OF_MERCHANTS: Statement = {
  name: 'checkout-of-merchants',
  // guard(checkout: a merchant sees its own): c.organisation_id = $2 AND c.merchant_id = ANY ($3::integer[]) ⇒ ($2::integer, $3::integer[]) IS NOT NULL
  text: `${CHECKOUT} WHERE c.id = $1 AND c.organisation_id = $2 AND c.merchant_id = ANY ($3::integer[])`,
};

export const CHECKOUT_BY_CORRELATION_ID: Statement = {
  name: 'checkout-by-correlation-id',
  text: `${CHECKOUT} WHERE c.organisation_id = $1 AND c.merchant_id = $2 AND c.correlation_id = $3`,
};

export const MERCHANTS_OF_CHECKOUTS: Statement = {
  name: '',
  text: `SELECT organisation_id AS organisation, id FROM merchant WHERE id = $1`,
};

/** Newest first, of a merchant ($2) of an organisation ($1): those after another ($4) of a status ($5), each empty where it is not asked for. */
export const LIST_CHECKOUTS: Statement = {
  name: '',
  text: `
    SELECT * FROM (${CHECKOUT}
      WHERE c.organisation_id = $1 AND c.merchant_id = $2
        AND ($4::text IS NULL OR c.number < (SELECT number FROM checkout WHERE organisation_id = $1 AND id = $4))
    ) AS listed
    WHERE $5::text IS NULL OR status = $5
    ORDER BY number DESC LIMIT $3`,
};

/** Reads `ended`: checkouts whose end is told of. */
const EVENTS = `
    told AS (${INTO_EVENTS_WITH_DATA}
      SELECT organisation_id, merchant_id, number, 1, 'checkout.' || status, (SELECT gateway_now()),
        json_build_object('checkout', id, 'audit', result_audit), user_id
      FROM ended
    )`;

/**
 * The attempt $3 of a checkout, for $4 milliseconds; nothing if there can be none now: another is under way, this one was made, all are used
 * up, or the checkout has ended.
 */
export const CLAIM_ATTEMPT: Statement = {
  name: 'claim-checkout-attempt',
  text: `
    WITH claimed AS (
      UPDATE checkout SET attempts = attempts + 1, attempt_until = now() + $4::integer * interval '1 millisecond'
      WHERE organisation_id = $1 AND number = $2 AND status = 'open' AND attempt_until IS NULL AND attempts = $3::integer - 1
        AND attempts < attempts_allowed AND expires_at > gateway_now()
      RETURNING organisation_id, number, attempts
    )
    INSERT INTO checkout_attempt (organisation_id, checkout, n, claimed_at)
    SELECT organisation_id, number, attempts, gateway_now() FROM claimed RETURNING n`,
};

/**
 * How an attempt ($3) has ended: its outcome ($4), its transaction ($5) or the virtual PAN that it came to ($6). Nothing if it had ended. The
 * last one that is allowed ends the checkout, too.
 */
export const SETTLE_ATTEMPT: Statement = {
  name: 'settle-checkout-attempt',
  text: `
    WITH settled AS (
      UPDATE checkout SET attempt_until = NULL,
        status = CASE WHEN $4::text = 'paid' THEN 'complete' WHEN attempts >= attempts_allowed THEN 'expired' ELSE status END,
        result_audit = CASE WHEN $4 = 'paid' AND $6::text IS NULL THEN $5::integer END,
        result_virtual_pan = CASE WHEN $4 = 'paid' THEN $6::text END
      WHERE organisation_id = $1 AND number = $2 AND attempts = $3::integer AND attempt_until IS NOT NULL
      RETURNING *
    ), decided AS (
      UPDATE checkout_attempt a SET outcome = $4, audit = $5 FROM settled s
      WHERE a.organisation_id = s.organisation_id AND a.checkout = s.number AND a.n = $3::integer AND a.outcome IS NULL
    ), ended AS (SELECT * FROM settled WHERE status <> 'open'),
    ${EVENTS}
    SELECT status FROM settled`,
};

/** Not one of which something is under way, and not one that is over. */
export const CANCEL_CHECKOUT: Statement = {
  name: 'cancel-checkout',
  // guard(checkout: not cancelled while something is under way): AND attempt_until IS NULL AND ⇒ AND
  text: `
    WITH ended AS (
      UPDATE checkout SET status = 'cancelled'
      WHERE organisation_id = $1 AND number = $2 AND status = 'open' AND attempt_until IS NULL AND expires_at > gateway_now()
      RETURNING *
    ), ${EVENTS}
    SELECT status FROM ended`,
};

/** Whether there is anything to do, in one look: most of the time there is not. */
export const CHECKOUTS_DUE: Statement = {
  name: 'checkouts-due',
  text: `
    SELECT EXISTS (SELECT FROM checkout WHERE status = 'open' AND expires_at <= gateway_now() AND attempt_until IS NULL) AS expired,
      EXISTS (SELECT FROM checkout WHERE attempt_until <= now()) AS "left"`,
};

/** Those whose time is over, a few at a time. */
export const EXPIRE_CHECKOUTS: Statement = {
  name: 'expire-checkouts',
  text: `
    WITH due AS (
      SELECT organisation_id, number FROM checkout
      WHERE status = 'open' AND expires_at <= gateway_now() AND attempt_until IS NULL
        AND organisation_id <> ALL (organisations_elsewhere())
      ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
    ), ended AS (
      UPDATE checkout c SET status = 'expired' FROM due d
      WHERE c.organisation_id = d.organisation_id AND c.number = d.number RETURNING c.*
    ), ${EVENTS}
    SELECT count(*)::integer AS expired FROM ended`,
};

/** Attempts that their processes have left, or whose outcome takes its time: their checkouts. */
export const LEFT_ATTEMPTS: Statement = {
  name: 'left-checkout-attempts',
  text: `${CHECKOUT}
    WHERE c.attempt_until <= now() AND c.organisation_id <> ALL (organisations_elsewhere())
    ORDER BY c.attempt_until LIMIT $1`,
};

/** Still in doubt: looked at again in $3 milliseconds. */
export const PUT_OFF: Statement = {
  name: 'put-checkout-off',
  text: `
    UPDATE checkout SET attempt_until = now() + $3::integer * interval '1 millisecond'
    WHERE organisation_id = $1 AND number = $2 AND attempt_until <= now()`,
};
