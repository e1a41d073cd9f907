import { INTO_JOURNAL, INTO_JOURNAL_OF_OPERATORS } from '../../journal/journal.sql.js';
import {
  bigint,
  boolean,
  bytes,
  columns,
  float,
  integer,
  json,
  optionalBytes,
  optionalText,
  text,
} from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import { OUTCOME, OUTCOME_OF_TARGET, OUTCOMES } from '../outcome-seals.sql.js';
import { COMPLETABLE, MOST_COMPLETABLE, MOST_REFUNDABLE, REFUNDABLE, VOIDABLE } from '../target-rules.js';
import {
  type DirectClaim,
  type OpenedToken,
  type OperatorsClaim,
  storedDecisions,
  storedKvps,
  type TargetedClaim,
} from '../transaction.js';

/** After the asking process ($1) and the earliest epoch of the batch ($2). */
export const ASKED = columns<DirectClaim>(
  'asked',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    audit: integer(({ audit }) => audit),
    merchant_id: integer(({ merchantId }) => merchantId),
    amount_cents: bigint(({ amountCents }) => amountCents),
    created_ms: float(({ createdMs }) => createdMs),
    completable_until_ms: float(({ completableUntilMs }) => completableUntilMs),
    transaction_type: text(({ transactionType }) => transactionType),
    correlation_id: text(({ correlationId }) => correlationId),
    reference: text(({ reference }) => reference),
    currency: text(({ currency }) => currency),
    acquirer: text(({ acquirer }) => acquirer),
    card_mask: optionalText(({ cardMask }) => cardMask),
    card_type: optionalText(({ cardType }) => cardType),
    kvps: json(({ kvps }) => storedKvps(kvps)),
    payment_details_key_version: integer(({ keyVersion }) => keyVersion),
    token_id: integer(({ tokenId }) => tokenId),
    payment_details_sealed: bytes(({ sealed }) => sealed),
    bank_account: json(({ bankAccount }) => bankAccount),
    decisions: json(storedDecisions),
    epoch: bigint(({ inFlight }) => inFlight.epoch),
    unseen: boolean(({ inFlight }) => inFlight.unseen),
    user_id: integer(({ userId }) => userId),
  },
  { after: 2 },
);

/** The tokens that were opened, by whom and from where. After all other columns. */
export const OPENED = columns<OpenedToken>(
  'opened',
  {
    organisation_id: integer(({ claim }) => claim.organisationId),
    audit: integer(({ claim }) => claim.audit),
    actor: text(({ claim }) => `user:${claim.username}`),
    // Payments of schedules come from no address.
    address: optionalText(({ claim }) => claim.address),
    mark: optionalBytes(({ mac }) => mac),
  },
  { after: ASKED.last },
);

/**
 * A claim passes the search fences up to its epoch, and this process's own fences if its searches could see the request. No
 * process has the number 0. If no fence is newer than the earliest epoch, no claim needs checking.
 */
const PAST_EVERY_FENCE = `
    (SELECT no_absence_after($2)) OR NOT absent_after(organisation_id, merchant_id, correlation_id, epoch,
      CASE WHEN unseen THEN 0 ELSE $1::bigint END)`;

// guard(prepared: stored by commit A, before the order is asked): (decisions::json -> 'prepared')::jsonb ⇒ NULL
const INSERT_DIRECT = `
    INSERT INTO transaction (organisation_id, audit, merchant_id, amount_cents, created_at, completable_until,
      transaction_type, correlation_id, reference, currency, acquirer, card_mask, card_type, kvps, payment_details_key_version,
      token_id, payment_details_sealed, bank_account, pricing, cardholder, prepared, user_id)
    SELECT organisation_id, audit, merchant_id, amount_cents,
      to_timestamp(created_ms / 1000), to_timestamp(completable_until_ms / 1000),
      transaction_type, correlation_id, reference, currency, acquirer, card_mask, card_type, kvps::json,
      payment_details_key_version, token_id, decode(payment_details_sealed, 'base64'), bank_account::json, decisions::json -> 'pricing',
      decisions::json -> 'cardholder', (decisions::json -> 'prepared')::jsonb, user_id
    FROM ${ASKED.rows}
    WHERE ${PAST_EVERY_FENCE}`;

/** Skips claims whose correlation ID is taken. */
// guard(correlation ID: a payment that lost it is not inserted, and told so): ON CONFLICT (organisation_id, merchant_id, correlation_id) DO NOTHING ⇒
// guard(correlation ID: unique by constraint): (organisation_id, merchant_id, correlation_id) ⇒
const INSERT_UNTAKEN = `${INSERT_DIRECT}
    ON CONFLICT (organisation_id, merchant_id, correlation_id) DO NOTHING`;

const CLAIMED = `
    RETURNING organisation_id AS "organisationId", audit`;

/**
 * Commit A of payments with a payment method of their own. Claims whose correlation ID was reported absent are skipped; the
 * returned claims have won. If any correlation ID is taken the whole batch fails: that is rare, and allowing for it would cost
 * each claim a read and a second WAL record.
 */
export const CLAIM_DIRECT: Statement = { name: 'claim-direct', text: `${INSERT_DIRECT}${CLAIMED}` };

/** The same when clients repeat correlation IDs: claims whose correlation ID is taken are skipped as well. */
export const CLAIM_UNTAKEN: Statement = { name: 'claim-untaken', text: `${INSERT_UNTAKEN}${CLAIMED}` };

/** After the insertion: journals which token was opened for which audit. */
const CLAIMED_WITH_TOKENS = `
      RETURNING organisation_id, audit, merchant_id, token_id, correlation_id
    ), journalled AS (${INTO_JOURNAL}
      SELECT inserted.organisation_id, inserted.merchant_id, opened.actor, 'token.opened',
        NULL::integer, inserted.token_id, inserted.audit, inserted.correlation_id, opened.address, decode(opened.mark, 'base64')
      FROM inserted JOIN ${OPENED.rows}
        ON opened.organisation_id = inserted.organisation_id AND opened.audit = inserted.audit
    )
    SELECT organisation_id AS "organisationId", audit FROM inserted`;

/** Both again, for batches with tokens. */
export const CLAIM_DIRECT_WITH_TOKENS: Statement = {
  name: 'claim-direct-with-tokens',
  text: `
    WITH inserted AS (${INSERT_DIRECT}${CLAIMED_WITH_TOKENS}`,
};

export const CLAIM_UNTAKEN_WITH_TOKENS: Statement = {
  name: 'claim-untaken-with-tokens',
  text: `
    WITH inserted AS (${INSERT_UNTAKEN}${CLAIMED_WITH_TOKENS}`,
};

export const TAKEN = columns<DirectClaim>('asked', {
  organisation_id: integer(({ organisationId }) => organisationId),
  audit: integer(({ audit }) => audit),
  merchant_id: integer(({ merchantId }) => merchantId),
  correlation_id: text(({ correlationId }) => correlationId),
});

/** The audits that hold the requested correlation IDs. */
export const HOLDERS_OF_CORRELATION_IDS: Statement = {
  name: 'holders-of-correlation-ids',
  text: `
    SELECT asked.organisation_id AS "organisationId", asked.audit, t.audit AS holder
    FROM ${TAKEN.rows}
    JOIN transaction t ON t.organisation_id = asked.organisation_id AND t.merchant_id = asked.merchant_id
      AND t.correlation_id = asked.correlation_id`,
};

/** After the asking process ($1) and the earliest epoch of the batch ($2). */
export const ASKED_OF_TARGETS = columns<TargetedClaim>(
  'asked',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    audit: integer(({ audit }) => audit),
    merchant_id: integer(({ merchantId }) => merchantId),
    target_audit: integer(({ targetAudit }) => targetAudit),
    amount_cents: bigint(({ amountCents }) => amountCents),
    created_ms: float(({ createdMs }) => createdMs),
    refundable_from_ms: float(({ refundableFromMs }) => refundableFromMs),
    transaction_type: text(({ transactionType }) => transactionType),
    correlation_id: text(({ correlationId }) => correlationId),
    reference: text(({ reference }) => reference),
    currency: optionalText(({ currency }) => currency),
    kvps: json(({ kvps }) => storedKvps(kvps)),
    decisions: json(storedDecisions),
    attestation: bytes(({ attestation }) => attestation),
    epoch: bigint(({ inFlight }) => inFlight.epoch),
    unseen: boolean(({ inFlight }) => inFlight.unseen),
    user_id: integer(({ userId }) => userId),
  },
  { after: 2 },
);

/** The operators' own columns. After all other columns. */
export const ASKED_BY_OPERATORS = columns<OperatorsClaim>(
  'ordered',
  {
    organisation_id: integer(({ claim }) => claim.organisationId),
    audit: integer(({ claim }) => claim.audit),
    actor: text(({ actor }) => actor),
    address: optionalText(({ address }) => address),
    detail: text(({ detail }) => detail),
    until_ms: float(({ untilMs }) => untilMs),
    mark: optionalBytes(({ mac }) => mac),
  },
  { after: ASKED_OF_TARGETS.last },
);

const ASKED_PAST_FENCES = `asked AS (
      SELECT organisation_id, audit, merchant_id, target_audit, amount_cents, to_timestamp(created_ms / 1000) AS created_at,
        to_timestamp(refundable_from_ms / 1000) AS refundable_from, transaction_type, correlation_id, reference, currency, kvps,
        decisions::json AS decisions, decode(attestation, 'base64') AS attestation, user_id
      FROM ${ASKED_OF_TARGETS.rows}
      WHERE ${PAST_EVERY_FENCE}
    )`;

// guard(target: of the merchant that the request names): AND target.merchant_id = asked.merchant_id ⇒
const IS_TARGET = `target.organisation_id = asked.organisation_id AND target.audit = asked.target_audit
        AND target.merchant_id = asked.merchant_id`;

// guard(completion: no more than was preauthorised): AND asked.amount_cents <= ${MOST_COMPLETABLE.sql} ⇒
// guard(completion: in the currency of its target): AND target.currency = asked.currency ⏎ AND asked.amount_cents <= ${MOST_COMPLETABLE ⇒ AND asked.amount_cents <= ${MOST_COMPLETABLE
// guard(refund: no more than the original, without the constraint that stands behind it): AND asked.amount_cents <= ${MOST_REFUNDABLE.sql} ⇒
// guard(refund: together no more than the original): AND asked.amount_cents <= ${MOST_REFUNDABLE.sql} ⇒
// guard(refund: in the currency of its target): target.currency = asked.currency ⏎ AND ⇒
const IS_ALLOWED = `CASE
          WHEN asked.transaction_type = 'refund' THEN ${REFUNDABLE.sql}
            AND target.currency = asked.currency
            AND asked.amount_cents <= ${MOST_REFUNDABLE.sql}
          WHEN asked.transaction_type = 'completion' THEN ${COMPLETABLE.sql}
            AND target.currency = asked.currency
            AND asked.amount_cents <= ${MOST_COMPLETABLE.sql}
          WHEN asked.transaction_type = 'void' THEN ${VOIDABLE.sql}
        END`;

/** What is stored of an allowed operation. */
const OPERATION = `asked.organisation_id, asked.audit, asked.merchant_id, asked.target_audit,
        coalesce(asked.amount_cents, target.amount_cents) AS amount_cents, asked.created_at, asked.transaction_type,
        asked.correlation_id, asked.reference, coalesce(asked.currency, target.currency) AS currency, target.acquirer,
        target.card_mask, target.card_type, target.bank_account, target.token_id, asked.kvps, asked.decisions, asked.attestation,
        asked.user_id`;

/** What an operation takes of its target. The operations follow, as `asked`. */
// guard(refund: its amount is reserved while it is in doubt): + asked.amount_cents ⇒
const RESERVING = `
      UPDATE transaction target SET
        refunded_cents = CASE WHEN asked.transaction_type = 'refund' THEN target.refunded_cents + asked.amount_cents ELSE target.refunded_cents END,
        completed_cents = CASE WHEN asked.transaction_type = 'completion' THEN asked.amount_cents ELSE target.completed_cents END,
        completed_by = CASE WHEN asked.transaction_type = 'completion' THEN asked.audit ELSE target.completed_by END,
        voided_by = CASE WHEN asked.transaction_type = 'void' THEN asked.audit ELSE target.voided_by END
      FROM`;

/** The rows follow, in the form of `OPERATION`. */
// guard(prepared: stored by commit A of operations on a target): (decisions -> 'prepared')::jsonb ⇒ NULL
const INSERT_OPERATIONS = `
      INSERT INTO transaction (organisation_id, audit, merchant_id, target_audit, amount_cents, created_at,
        transaction_type, correlation_id, reference, currency, acquirer, card_mask, card_type, bank_account, token_id, kvps,
        pricing, prepared, attestation, user_id)
      SELECT organisation_id, audit, merchant_id, target_audit, amount_cents, created_at,
        transaction_type, correlation_id, reference, currency, acquirer, card_mask, card_type, bank_account, token_id, kvps::json,
        decisions -> 'pricing', (decisions -> 'prepared')::jsonb, attestation, user_id`;

/**
 * The same order as direct claims: batches that share correlation IDs win them in the same order. Sorting also locks all targets
 * before any correlation ID is claimed.
 */
const IN_ORDER = `
      ORDER BY correlation_id COLLATE "C", merchant_id`;

/** Reads `reserved`. */
const CLAIMED_ON_TARGET = `
    SELECT organisation_id AS "organisationId", audit, amount_cents AS "amountCents", currency, acquirer, card_mask AS "cardMask",
      card_type AS "cardType", bank_account AS "bankAccount", target,`;

/** What was asked of the same target before, for the process to hold against the target. */
const WITH_OPERATIONS = `${CLAIMED_ON_TARGET} sent_by(organisation_id, target_audit) AS "targetSentBy",
      (SELECT ${OUTCOMES} FROM transaction t
        WHERE t.organisation_id = reserved.organisation_id AND t.merchant_id = reserved.merchant_id
          AND t.target_audit = reserved.target_audit) AS operations
    FROM reserved`;

/** The target's row decides, and the reservation locks it. */
const RESERVE = `reserved AS (${RESERVING} asked
      WHERE ${IS_TARGET} AND ${IS_ALLOWED}
      RETURNING ${OPERATION}, ${OUTCOME_OF_TARGET} AS target
    )`;

/** After `IS_ALLOWED`: an operator's request is not claimed after its expiry, however late a gateway gets to it. */
// guard(operator: what was taken is not claimed after its time): now( ⇒ to_timestamp(0
const IN_TIME = `AND NOT EXISTS (
        SELECT FROM ${ASKED_BY_OPERATORS.rows}
        WHERE ordered.organisation_id = asked.organisation_id AND ordered.audit = asked.audit
          AND to_timestamp(ordered.until_ms / 1000) <= now())`;

const ALLOWED_OF = `
      SELECT ${OPERATION} FROM asked JOIN`;
const ALLOWED = `target ON ${IS_TARGET}
      WHERE ${IS_ALLOWED}`;

// guard(target: locked while it decides, so that two batches cannot both have what is left of it): FOR NO KEY UPDATE OF target ⇒
const LOCKED = `
      FOR NO KEY UPDATE OF target
    )`;

const LOCK_ALLOWED = `allowed AS (${ALLOWED_OF} transaction ${ALLOWED}${LOCKED}`;
const LOCK_ALLOWED_IN_TIME = `allowed AS (${ALLOWED_OF} transaction ${ALLOWED} ${IN_TIME}${LOCKED}`;

/** For distributed organisations: rows are locked on their servers, and joined with `asked` here. */
const LOCK_ELSEWHERE = `locked AS (
      SELECT organisation_id, audit, merchant_id, transaction_type, status, amount_cents, refunded_cents, completed_cents, currency,
        acquirer, card_mask, card_type, bank_account, token_id, completed_by, voided_by, completable_until, voidable_until, created_at
      FROM transaction WHERE organisation_id = ($3::integer[])[1] AND audit = ANY ($6::integer[])
      ORDER BY audit FOR NO KEY UPDATE
    )`;

const LOCK_ALLOWED_ELSEWHERE = `${LOCK_ELSEWHERE}, allowed AS (${ALLOWED_OF} locked ${ALLOWED}
    )`;

const LOCK_ALLOWED_ELSEWHERE_IN_TIME = `${LOCK_ELSEWHERE}, allowed AS (${ALLOWED_OF} locked ${ALLOWED} ${IN_TIME}
    )`;

// guard(correlation ID: won by another at the same moment → refused, reservation included): ON CONFLICT (organisation_id, merchant_id, correlation_id) DO NOTHING ⇒
// guard(correlation ID: unique by constraint): (organisation_id, merchant_id, correlation_id) ⇒
const INSERT_ALLOWED = `inserted AS (${INSERT_OPERATIONS}
      FROM allowed${IN_ORDER}
      ON CONFLICT (organisation_id, merchant_id, correlation_id) DO NOTHING
      RETURNING organisation_id, audit, merchant_id, target_audit, transaction_type, correlation_id, amount_cents, currency,
        acquirer, card_mask, card_type, bank_account
    )`;

const RESERVE_INSERTED = `reserved AS (${RESERVING} inserted AS asked
      WHERE target.organisation_id = asked.organisation_id AND target.audit = asked.target_audit
      RETURNING asked.*, ${OUTCOME_OF_TARGET} AS target
    )`;

/** For distributed organisations: read on their servers, and joined with `reserved` here. */
const OPERATIONS_ELSEWHERE = `operations AS MATERIALIZED (
      SELECT t.target_audit, ${OUTCOME} AS stored FROM transaction t
      WHERE t.organisation_id = ($3::integer[])[1] AND t.merchant_id = ANY ($5::integer[]) AND t.target_audit = ANY ($6::integer[])
    )`;
const WITH_OPERATIONS_ELSEWHERE = `${CLAIMED_ON_TARGET} NULL::text AS "targetSentBy",
      (SELECT coalesce(json_agg(stored), '[]'::json) FROM operations
        WHERE operations.target_audit = reserved.target_audit) AS operations
    FROM reserved`;

/** Citus cannot reserve before it inserts. */
const CLAIM_ELSEWHERE = `
    WITH ${OPERATIONS_ELSEWHERE}, ${ASKED_PAST_FENCES}, ${LOCK_ALLOWED_ELSEWHERE}, ${INSERT_ALLOWED}, ${RESERVE_INSERTED}
    ${WITH_OPERATIONS_ELSEWHERE}`;

/**
 * Commit A of operations on an earlier transaction. The target's row decides whether the operation is allowed; the amount is
 * reserved on it in the same step, which locks it, and the operation is inserted. If any correlation ID is taken the whole batch
 * fails, as with `CLAIM_DIRECT`. Nothing else that a client sends can make the statement fail.
 */
export const CLAIM_TARGETED: Statement = {
  name: 'claim-targeted',
  text: `
    WITH ${ASKED_PAST_FENCES}, ${RESERVE}, inserted AS (${INSERT_OPERATIONS}
      FROM reserved${IN_ORDER}
    )
    ${WITH_OPERATIONS}`,
  spread: `${CLAIM_ELSEWHERE}`,
};

/**
 * The same when clients repeat correlation IDs. The target's row is locked first. An allowed operation is inserted, unless its
 * correlation ID is taken; only an inserted operation reserves its amount.
 */
export const CLAIM_TARGETED_UNTAKEN: Statement = {
  name: 'claim-targeted-untaken',
  text: `
    WITH ${ASKED_PAST_FENCES}, ${LOCK_ALLOWED}, ${INSERT_ALLOWED}, ${RESERVE_INSERTED} ${WITH_OPERATIONS}`,
  spread: `${CLAIM_ELSEWHERE}`,
};

/** Reads `inserted`. */
const JOURNAL_ORDERED = `journalled AS (${INTO_JOURNAL_OF_OPERATORS}
      SELECT inserted.organisation_id, inserted.merchant_id, ordered.actor, 'transaction.' || inserted.transaction_type,
        inserted.audit, inserted.correlation_id, ordered.detail, ordered.address, decode(ordered.mark, 'base64')
      FROM inserted JOIN ${ASKED_BY_OPERATORS.rows}
        ON ordered.organisation_id = inserted.organisation_id AND ordered.audit = inserted.audit
    )`;

/** The same with expiry, and with a journal entry saying which operator asked for what, and why. */
export const CLAIM_TARGETED_BY_OPERATORS: Statement = {
  name: 'claim-targeted-by-operators',
  text: `
    WITH ${ASKED_PAST_FENCES}, ${LOCK_ALLOWED_IN_TIME}, ${INSERT_ALLOWED}, ${JOURNAL_ORDERED}, ${RESERVE_INSERTED}
    ${WITH_OPERATIONS}`,
  spread: `
    WITH ${OPERATIONS_ELSEWHERE}, ${ASKED_PAST_FENCES}, ${LOCK_ALLOWED_ELSEWHERE_IN_TIME}, ${INSERT_ALLOWED}, ${JOURNAL_ORDERED},
      ${RESERVE_INSERTED} ${WITH_OPERATIONS_ELSEWHERE}`,
};
