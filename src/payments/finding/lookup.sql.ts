import { columns, float, integer, integers, text } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { Audit, MerchantId, OrganisationId } from '../../values/ids.js';

export const TRANSACTION_COLUMNS = `
  organisation_id AS "organisationId", audit, merchant_id AS "merchantId", transaction_type AS "transactionType",
  correlation_id AS "correlationId", round(extract(epoch FROM created_at) * 1000)::bigint AS "createdMs", reference,
  target_audit AS "targetAudit", amount_cents AS "amountCents", currency, card_mask AS "cardMask",
  card_type AS "cardType", bank_account AS "bankAccount", kvps, pricing, cardholder, acquirer,
  round(extract(epoch FROM completable_until) * 1000)::bigint AS "completableUntilMs",
  status, gateway_status_code AS "gatewayStatusCode", response_code AS "responseCode",
  response_message AS "responseMessage", settlement_date::text AS "settlementDate",
  authorisation_code AS "authorisationCode", preauthorisation_code AS "preauthorisationCode",
  network_transaction_id AS "networkTransactionId",
  round(extract(epoch FROM voidable_until) * 1000)::bigint AS "voidableUntilMs",
  refunded_cents AS "refundedCents", completed_by AS "completedBy", voided_by AS "voidedBy"`;

export const AUDITS = columns<{
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  readonly merchantIds: readonly number[];
}>('asked', {
  of_organisation: integer(({ organisationId }) => organisationId),
  of_audit: integer(({ audit }) => audit),
  of_merchants: integers(({ merchantIds }) => merchantIds),
});

/** Each only if it is of a merchant that its caller may use: any other is as if it did not exist. */
// guard(look-up by audit: only of merchants that the caller may use): merchant_id = ANY (of_merchants::integer[]) ⇒ of_merchants IS NOT NULL
const BY_AUDIT = `
    SELECT place, ${TRANSACTION_COLUMNS}, encode(outcome_seal, 'base64') AS "outcomeSeal"
    FROM ${AUDITS.places}
    JOIN transaction ON organisation_id = of_organisation AND audit = of_audit
    WHERE merchant_id = ANY (of_merchants::integer[])`;
export const FIND_BY_AUDIT: Statement = { name: 'find-by-audit', text: BY_AUDIT };

export const CORRELATION_IDS = columns<{
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly correlationId: string;
  readonly sinceMs: number;
}>('asked', {
  of_organisation: integer(({ organisationId }) => organisationId),
  of_merchant: integer(({ merchantId }) => merchantId),
  of_correlation_id: text(({ correlationId }) => correlationId),
  since_ms: float(({ sinceMs }) => sinceMs),
});

/**
 * One whose outcome is open is found however old it is: told that there is none, the client would pay again. The hours
 * of the others count from when they were last decided.
 */
// guard(search by correlation ID: its hours count from the decision): decided_at ⇒ created_at
// guard(search by correlation ID: finds what is in doubt, however old): OR status IN ('unknown', 'pending') ⇒
// guard(search by correlation ID: only of the merchant that is named): merchant_id = of_merchant ⇒ of_merchant > 0
const BY_CORRELATION_ID = `
    SELECT place, ${TRANSACTION_COLUMNS}, encode(outcome_seal, 'base64') AS "outcomeSeal"
    FROM ${CORRELATION_IDS.places}
    JOIN transaction ON organisation_id = of_organisation AND merchant_id = of_merchant
      AND correlation_id = of_correlation_id
    WHERE decided_at > to_timestamp(since_ms / 1000) OR status IN ('unknown', 'pending')`;
export const FIND_BY_CORRELATION_ID: Statement = { name: 'find-by-correlation-id', text: BY_CORRELATION_ID };

/**
 * Looks, and writes to the log: the commit comes after the look, and a server that the others have left behind cannot make
 * it. A message in the log costs no row, and nobody else waits for it.
 */
// guard(failover: "not there" is said after a commit): pg_logical_emit_message(true, 'tollgate', '') ⇒ 1
// guard(failover: neither a standby nor a former primary is asked, and neither is believed): pg_logical_emit_message(true, 'tollgate', '') ⇒ 1
export const PROVING = `WITH proof AS MATERIALIZED (SELECT pg_logical_emit_message(true, 'tollgate', ''))`;

/** The database has gone back, and no process has noticed yet. */
// guard(lost time: nothing is denied before a process has noticed that the database went back): g.lineage <> database_lineage() ⇒ false
const GONE_BACK = `g.lineage <> database_lineage()`;

/** It moves to another cell, or has moved: what is there by now is not known here. */
// guard(moved: a cell that an organisation has left denies nothing of it): o.residence IN ('arriving', 'closed', 'moved') ⇒ false
const ELSEWHERE = `o.residence IN ('arriving', 'closed', 'moved')`;

/**
 * Also says of which audits nobody can say that they are not there: those that may have been given out in the lost time, and those of
 * organisations that are elsewhere.
 */
export const PROVE_BY_AUDIT: Statement = {
  name: 'prove-by-audit',
  text: `${PROVING}, lost AS MATERIALIZED (
      SELECT coalesce(array_agg(place::integer), '{}') AS places, array_agg(place::integer) FILTER (WHERE ${ELSEWHERE}) AS elsewhere
      FROM ${AUDITS.places} JOIN organisation o ON o.id = of_organisation CROSS JOIN gateway g
      WHERE of_audit BETWEEN o.lost_first_audit AND o.lost_last_audit OR ${ELSEWHERE} OR ${GONE_BACK})
    SELECT found.*, lost.places AS lost, lost.elsewhere
    FROM proof CROSS JOIN lost LEFT JOIN (${BY_AUDIT}) AS found ON true`,
};

/** A correlation ID does not tell when it was used: each may be of the lost time. */
export const PROVE_BY_CORRELATION_ID: Statement = {
  name: 'prove-by-correlation-id',
  text: `${PROVING}, lost AS MATERIALIZED (
      SELECT CASE WHEN EXISTS (SELECT FROM gateway g WHERE g.lost_from IS NOT NULL OR ${GONE_BACK})
          THEN (SELECT array_agg(place::integer) FROM ${CORRELATION_IDS.places}) ELSE '{}' END AS places,
        (SELECT array_agg(place::integer) FROM ${CORRELATION_IDS.places} JOIN organisation o ON o.id = of_organisation
          WHERE ${ELSEWHERE}) AS elsewhere)
    SELECT found.*, lost.places AS lost, lost.elsewhere
    FROM proof CROSS JOIN lost LEFT JOIN (${BY_CORRELATION_ID}) AS found ON true`,
};

export const HELD = columns<{
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly correlationId: string;
}>('asked', {
  of_organisation: integer(({ organisationId }) => organisationId),
  of_merchant: integer(({ merchantId }) => merchantId),
  of_correlation_id: text(({ correlationId }) => correlationId),
});

/** The transactions that hold correlation IDs, however old. */
export const HOLDERS_HOWEVER_OLD: Statement = {
  name: 'holders-however-old',
  text: `
    SELECT place, audit
    FROM ${HELD.places}
    JOIN transaction ON organisation_id = of_organisation AND merchant_id = of_merchant
      AND correlation_id = of_correlation_id`,
};
