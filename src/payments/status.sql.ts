import { INTO_EVENTS, INTO_EVENTS_TOGETHER } from '../events/events.sql.js';
import { INTO_JOURNAL_OF_TRANSACTIONS } from '../journal/journal.sql.js';
import {
  bytes,
  columns,
  date,
  float,
  integer,
  optionalBytes,
  optionalText,
  smallint,
  text,
} from '../postgres/batches.js';
import type { InDoubt, Recording, Resolution } from './transaction.js';

// The one home of a transaction's status: nothing else sets it. Each fragment changes the status, writes the events of the
// change, and settles amounts, as part of a larger statement. Its comment names the rows that it reads.

/**
 * The open settlement day, by the database. The first two parameters ($1, $2) of every settling statement are the candidate
 * days with their closes. Evaluated only if something settles.
 */
const OPENED = `
    opened AS MATERIALIZED (SELECT open_settlement_day($1::date[], $2::timestamptz[]) AS day)`;
const OPEN_DAY = `(SELECT day FROM opened)`;

/** The value of `gateway_now()`, planned with the statement: calling the function would run a query of its own each time. */
const NOW = `(SELECT now() + advanced_ms * interval '1 millisecond' FROM gateway)`;

/** The columns that every new status sets. */
const DECIDED_NOW = `version = t.version + 1, decided_at = ${NOW}`;

/**
 * A transaction reversed by messages may have to be reversed again, and a reversal names the card: the card lives a day longer
 * (`LIFE`).
 */
// guard(card: kept for a day of what was reversed by messages): OR (answer.status = 'error' AND t.reversing AND t.prepared IS NOT NULL) ⇒
// guard(card: kept of what was approved): NOT IN ('declined', 'error') ⇒ = 'none'
// guard(card: not kept of what was declined or has failed): NOT IN ('declined', 'error') ⇒ <> 'none'
const CARD_IS_NEEDED = `answer.status NOT IN ('declined', 'error') OR (answer.status = 'error' AND t.reversing AND t.prepared IS NOT NULL)`;

/** Destroys the card of a declined or failed transaction. */
const CARD_OF_DECIDED = `
        payment_details_sealed = CASE WHEN ${CARD_IS_NEEDED} THEN t.payment_details_sealed END,
        payment_details_key_version = CASE WHEN ${CARD_IS_NEEDED} THEN t.payment_details_key_version END`;

/** Destroys the card of a voided transaction. */
// guard(card: kept where a void was declined): NOT merged.voided ⇒ false
// guard(card: not kept of what was voided): NOT merged.voided ⇒ true
const CARD_OF_VOIDED = `
        payment_details_sealed = CASE WHEN NOT merged.voided THEN t.payment_details_sealed END,
        payment_details_key_version = CASE WHEN NOT merged.voided THEN t.payment_details_key_version END`;

/** The columns that an event needs. */
const SUBJECT = `t.organisation_id, t.merchant_id, t.audit, t.version, t.status, t.user_id`;
const FOR_EVENTS = `${SUBJECT}, t.decided_at AS told_at`;

const EVENT = `${INTO_EVENTS}
    SELECT organisation_id, merchant_id, audit, version, 'transaction.' || status, told_at, user_id`;

/** One row for all that have the same outcome, whoever they are of: whatever was decided is followed by the rows that it comes from. */
const EVENTS_TOGETHER = `${INTO_EVENTS_TOGETHER}
    SELECT 0, 0, 0, 0, array_agg(organisation_id), array_agg(merchant_id), array_agg(audit), array_agg(version), array_agg(user_id),
      'transaction.' || status, told_at`;

export const ANSWERS = columns<Recording>(
  'answer',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    audit: integer(({ intent }) => intent.audit),
    resolve_attempts: integer(({ attempt }) => attempt),
    gateway_status_code: smallint(({ outcome }) => outcome.gatewayStatusCode),
    voidable_until_ms: float(({ outcome }) => outcome.voidableUntilMs),
    status: text(({ outcome }) => outcome.status),
    response_code: optionalText(({ outcome }) => outcome.responseCode),
    response_message: optionalText(({ outcome }) => outcome.responseMessage),
    settlement_date: date(({ outcome }) => outcome.settlementDate),
    authorisation_code: optionalText(({ outcome }) => outcome.authorisationCode),
    preauthorisation_code: optionalText(({ outcome }) => outcome.preauthorisationCode),
    network_transaction_id: optionalText(({ outcome }) => outcome.networkTransactionId),
    outcome_seal: bytes(({ outcomeSeal }) => outcomeSeal),
    voided_seal: optionalBytes(({ voidedSeal }) => voidedSeal),
  },
  { after: 2 },
);

/** The columns that a settlement entry needs. */
const FOR_SETTLEMENT = `t.transaction_type, t.target_audit, t.amount_cents, t.currency, t.acquirer, t.card_type,
        t.bank_account IS NOT NULL AS direct_debit, t.settlement_date`;

/** Rows follow. Entries never change: undoing one is another entry. */
export const INTO_SETTLEMENT = `
      INSERT INTO settlement_entry (organisation_id, merchant_id, audit, target_audit, settlement_date, transaction_type,
        payment_method, card_type, currency, acquirer, amount_cents)`;

/** The columns that describe a settlement entry, beside its date, type and amount. */
const METHOD = `CASE WHEN direct_debit THEN 'bankaccount' ELSE 'creditcard' END, coalesce(card_type, ''), currency, acquirer`;

/** The amount that the merchant receives; negative if it is taken back. */
const GOT = `CASE WHEN transaction_type IN ('refund', 'standalone_refund') THEN -amount_cents ELSE amount_cents END`;

/** Reads `decided`. Preauthorisations and pending transactions settle nothing. */
const SETTLE_DECIDED = `${INTO_SETTLEMENT}
      SELECT organisation_id, merchant_id, audit, target_audit, settlement_date, transaction_type, ${METHOD}, ${GOT}
      FROM decided
      WHERE status = 'approved' AND transaction_type IN ('purchase', 'completion', 'refund', 'standalone_refund')`;

/**
 * The outcomes of transactions in doubt. Once the resolver has taken a transaction (its attempts increase), only the newest
 * attempt may decide it: a late answer changes nothing. Nothing settles on a closed day, whatever day the answer names.
 */
// guard(settlement: nothing is dated on a closed day, whatever the answer says): greatest ⇒ coalesce
// guard(record: what is decided stays decided): status = 'unknown' AND t. ⇒
// guard(record: only the current attempt decides): AND t.resolve_attempts = answer.resolve_attempts ⇒
const DECIDE = `
      UPDATE transaction t SET
        status = answer.status, ${DECIDED_NOW}, outcome_seal = decode(answer.outcome_seal, 'base64'), gateway_status_code = answer.gateway_status_code,
        response_code = answer.response_code, response_message = answer.response_message,
        settlement_date = CASE WHEN answer.settlement_date IS NOT NULL THEN greatest(answer.settlement_date, ${OPEN_DAY}) END,
        authorisation_code = answer.authorisation_code, preauthorisation_code = answer.preauthorisation_code,
        network_transaction_id = answer.network_transaction_id,
        voidable_until = CASE WHEN answer.settlement_date < ${OPEN_DAY} AND t.completable_until IS NULL
          THEN ($2::timestamptz[])[array_position($1::date[], ${OPEN_DAY})]
          ELSE to_timestamp(answer.voidable_until_ms / 1000) END,
        resolve_at = NULL,${CARD_OF_DECIDED}
      FROM ${ANSWERS.rows}
      WHERE t.organisation_id = answer.organisation_id AND t.audit = answer.audit
        AND t.status = 'unknown' AND t.resolve_attempts = answer.resolve_attempts`;

/** Whether the stored outcome equals the answer: its day may have closed meanwhile. */
// guard(settlement: the client is told the day that is stored): t.settlement_date IS NOT DISTINCT FROM answer.settlement_date ⇒ true
const AS_ANSWERED = `t.settlement_date IS NOT DISTINCT FROM answer.settlement_date AS as_answered`;

/** Turns the answers into `decided`: the transactions that were decided, with the columns to enter a direct debit. */
export const DECIDE_DIRECT = `${OPENED},
    decided AS (${DECIDE}
      RETURNING ${FOR_EVENTS}, ${FOR_SETTLEMENT}, t.voidable_until, t.response_code, ${AS_ANSWERED}
    ), events AS (${EVENTS_TOGETHER}
      FROM decided GROUP BY status, told_at
    ), settled AS (${SETTLE_DECIDED}
    )`;

/**
 * The same for operations on an earlier transaction. A failed operation gives its reservation back. A successful void makes its
 * target voided, and gives the amount of a voided completion or refund back to the target's own target.
 */
// guard(settlement: a void of a hold settles nothing): AND undone.transaction_type <> 'preauthorisation' ⇒
// guard(settlement: a void takes back what has settled): 'approved' AND ⇒ 'declined' AND
// guard(record: a void that did not happen gives nothing back): happened AND decided. ⇒
// guard(record: a voided completion gives its preauthorisation back): undone.transaction_type = 'completion' ⇒ false
// guard(record: a voided refund gives its amount back to its target): CASE WHEN undone.transaction_type = 'refund' THEN undone.amount_cents ELSE 0 END ⇒ 0
// guard(record: only what did not happen gives back): NOT happened ⇒ NOT happened OR transaction_type <> 'void'
// guard(record: a void that happened makes its target voided): true ⇒ false
// guard(record: a void that did not happen frees its target): transaction_type = 'void' AS ⇒ false AS
// guard(record: a completion that did not happen frees the preauthorisation): transaction_type = 'completion' ⇒ false
// guard(record: a refund that did not happen gives its amount back): CASE WHEN transaction_type = 'refund' THEN amount_cents ELSE 0 END ⇒ 0
export const DECIDE_TARGETED = `${OPENED},
    decided AS (${DECIDE}
      RETURNING ${FOR_EVENTS}, ${FOR_SETTLEMENT}, t.voidable_until, t.response_code, ${AS_ANSWERED},
        t.status IN ('approved', 'pending') AS happened, answer.voided_seal
    ), undone AS MATERIALIZED (
      -- Read before the change below, which a later part would see if organisations are distributed.
      SELECT t.organisation_id, t.audit, t.target_audit, t.transaction_type, t.status, t.amount_cents
      FROM decided JOIN transaction t ON t.organisation_id = decided.organisation_id AND t.audit = decided.target_audit
      WHERE decided.happened AND decided.transaction_type = 'void'
    ), effects AS (
      SELECT organisation_id, target_audit AS audit,
        CASE WHEN transaction_type = 'refund' THEN amount_cents ELSE 0 END AS refund_cents_back,
        transaction_type = 'completion' AS completion_back,
        transaction_type = 'void' AS void_back,
        false AS voided, NULL::text AS voided_seal, NULL::integer AS voider_id
      FROM decided WHERE NOT happened
      UNION ALL
      SELECT organisation_id, target_audit, 0, false, false, true, voided_seal, user_id
      FROM decided WHERE happened AND transaction_type = 'void'
      UNION ALL
      SELECT undone.organisation_id, undone.target_audit,
        CASE WHEN undone.transaction_type = 'refund' THEN undone.amount_cents ELSE 0 END,
        undone.transaction_type = 'completion', false, false, NULL, NULL
      FROM undone WHERE undone.target_audit IS NOT NULL
    ), merged AS (
      SELECT organisation_id, audit, sum(refund_cents_back) AS refund_cents_back,
        bool_or(completion_back) AS completion_back, bool_or(void_back) AS void_back, bool_or(voided) AS voided,
        max(voided_seal) AS voided_seal, max(voider_id) AS voider_id
      FROM effects GROUP BY organisation_id, audit ORDER BY audit
    ), applied AS (
      UPDATE transaction t SET
        refunded_cents = t.refunded_cents - merged.refund_cents_back,
        completed_cents = CASE WHEN merged.completion_back THEN 0 ELSE t.completed_cents END,
        completed_by = CASE WHEN merged.completion_back THEN NULL ELSE t.completed_by END,
        voided_by = CASE WHEN merged.void_back THEN NULL ELSE t.voided_by END,
        status = CASE WHEN merged.voided THEN 'voided' ELSE t.status END,
        outcome_seal = CASE WHEN merged.voided THEN decode(merged.voided_seal, 'base64') ELSE t.outcome_seal END,
        version = CASE WHEN merged.voided THEN t.version + 1 ELSE t.version END,
        decided_at = CASE WHEN merged.voided THEN ${NOW} ELSE t.decided_at END,${CARD_OF_VOIDED}
      FROM merged
      WHERE t.organisation_id = merged.organisation_id AND t.audit = merged.audit
      RETURNING ${FOR_EVENTS}, merged.voided, merged.voider_id
    ), events AS (${EVENTS_TOGETHER}
      FROM (
        SELECT organisation_id, merchant_id, audit, version, status, told_at, user_id FROM decided
        UNION ALL
        SELECT organisation_id, merchant_id, audit, version, status, told_at, voider_id FROM applied WHERE voided) changed
      GROUP BY status, told_at
    ), settled AS (${SETTLE_DECIDED}
    ), unsettled AS (${INTO_SETTLEMENT}
      -- On the day of the void, or a later one if that day has closed meanwhile. Transactions that settled nothing are skipped.
      SELECT organisation_id, merchant_id, audit, target_audit, settlement_date, 'void', ${METHOD}, -${GOT}
      FROM (
        SELECT decided.organisation_id, decided.merchant_id, decided.audit, decided.target_audit, decided.settlement_date,
          decided.direct_debit, decided.card_type, decided.currency, decided.acquirer, undone.transaction_type,
          undone.amount_cents
        FROM decided JOIN undone ON undone.organisation_id = decided.organisation_id AND undone.audit = decided.target_audit
        WHERE decided.status = 'approved' AND undone.status = 'approved' AND undone.transaction_type <> 'preauthorisation') undoing
    )`;

/** The cards of payments that were declined, by which they are found when they are tried again. */
export const DECLINED_CARDS = columns<Recording>(
  'declined_card_now',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    audit: integer(({ intent }) => intent.audit),
    advice_code: optionalText(({ outcome }) => outcome.adviceCode),
    tag: optionalBytes(({ outcome }) => outcome.cardTag),
  },
  { after: ANSWERS.last },
);

/** Reads `decided`, and cards. In the same commit as the decline: a card that may not be tried again is never forgotten. */
const DECLINED_INTO = `
    declined_cards AS (
      INSERT INTO declined_card (organisation_id, audit, merchant_id, tag, response_code, advice_code, declined_at)
      SELECT d.organisation_id, d.audit, d.merchant_id, decode(n.tag, 'base64'), coalesce(d.response_code, ''), n.advice_code, d.told_at
      FROM`;
const DECLINED_AMONG = `n
      JOIN decided d ON d.organisation_id = n.organisation_id AND d.audit = n.audit
      WHERE d.status = 'declined' AND n.tag IS NOT NULL
      ON CONFLICT DO NOTHING
    )`;
export const NOTE_DECLINED = `${DECLINED_INTO} (SELECT * FROM ${DECLINED_CARDS.rows}) ${DECLINED_AMONG}`;

/** The journal text for each answer about a transaction that was in doubt. After the columns of the answers. */
export const RESOLUTIONS = columns<Resolution>(
  'resolution',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    audit: integer(({ intent }) => intent.audit),
    detail: text(({ detail }) => detail),
    mark: optionalBytes(({ mac }) => mac),
  },
  { after: ANSWERS.last },
);
export const DECLINED_CARDS_OF_DOUBTS = columns<Recording>(
  'declined_card_now',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    audit: integer(({ intent }) => intent.audit),
    advice_code: optionalText(({ outcome }) => outcome.adviceCode),
    tag: optionalBytes(({ outcome }) => outcome.cardTag),
  },
  { after: RESOLUTIONS.last },
);
export const NOTE_DECLINED_OF_DOUBTS = `${DECLINED_INTO} (SELECT * FROM ${DECLINED_CARDS_OF_DOUBTS.rows}) ${DECLINED_AMONG}`;

/** Reads `decided`. Every decision about a transaction in doubt is journalled in the same commit. */
export const JOURNAL_RESOLUTIONS = `
    journalled AS (${INTO_JOURNAL_OF_TRANSACTIONS}
      SELECT decided.organisation_id, decided.merchant_id, 'gateway:resolver', 'transaction.resolved', decided.audit,
        resolution.detail, decode(resolution.mark, 'base64')
      FROM decided JOIN ${RESOLUTIONS.rows}
        ON resolution.organisation_id = decided.organisation_id AND resolution.audit = decided.audit
    )`;

export const DOUBTS = columns<InDoubt>('doubt', {
  organisation_id: integer(({ organisationId }) => organisationId),
  audit: integer(({ audit }) => audit),
});

/** Reads `doubt`: the transactions that the resolver takes over. The time follows, then an optional condition. */
const DOUBTED_AT = `
    doubted AS (
      UPDATE transaction t SET version = t.version + 1, resolve_at =`;
const OF_DOUBT = `
      FROM doubt
      WHERE`;
// guard(dead processes: what was handed over once is not taken from its resolver): AND t.resolve_at IS NULL ⇒
// guard(doubt: what was decided meanwhile is not taken up again): status = 'unknown' AND t. ⇒
const DOUBT_AND_EVENTS = ` t.organisation_id = doubt.organisation_id AND t.audit = doubt.audit
        AND t.status = 'unknown' AND t.resolve_at IS NULL
      RETURNING ${SUBJECT}
    ), events AS (${EVENT}
      FROM (SELECT *, ${NOW} AS told_at FROM doubted) told
    )`;

/** No readable answer: due at once. */
export const IN_DOUBT = `${DOUBTED_AT} now()${OF_DOUBT}${DOUBT_AND_EVENTS}`;

/**
 * Left by a process that may still be alive: due after the deadline for the acquirer's answer ($5, in milliseconds). Until then
 * the answer still decides, if anybody can record it.
 */
// guard(processes: what a process left is not asked about before the deadline for its answer): + $ ⇒ + 0 * $
const LEFT_IN_DOUBT = `${DOUBTED_AT}
        greatest(now(), least(now(), t.created_at - (gateway_now() - now())) + $5 * interval '1 millisecond')${OF_DOUBT}`;
export const LEFT_BEHIND = `${LEFT_IN_DOUBT}${DOUBT_AND_EVENTS}`;

/** The same within one organisation ($2). */
export const LEFT_BEHIND_BY_ONE = `${LEFT_IN_DOUBT} t.organisation_id = $2 AND${DOUBT_AND_EVENTS}`;

/** Reads `lodged`: direct debits, and the day of the bank file that holds them from now on. */
// guard(file: says that its items cannot be voided any more): voidable_until = NULL, ⇒
export const SETTLE_LODGED = `
    settled AS (
      UPDATE transaction t SET voidable_until = NULL, settlement_date = lodged.processing_day
      FROM lodged WHERE t.organisation_id = lodged.organisation_id AND t.audit = lodged.audit
    )`;

/**
 * Reads `cleared`: direct debits that were not returned in time, with their messages and the seals of their outcomes. Turns them into `approved`; they settle
 * now.
 */
export const APPROVE_CLEARED = `${OPENED},
    approved AS (
      UPDATE transaction t SET status = 'approved', ${DECIDED_NOW}, outcome_seal = decode(cleared.outcome_seal, 'base64'),
        response_code = '00', response_message = cleared.message
      FROM cleared
      WHERE t.organisation_id = cleared.organisation_id AND t.audit = cleared.audit AND t.status = 'pending'
      RETURNING ${FOR_EVENTS}, ${FOR_SETTLEMENT}
    ), events AS (${EVENT}
      FROM approved
    ), settled AS (${INTO_SETTLEMENT}
      SELECT organisation_id, merchant_id, audit, target_audit, ${OPEN_DAY}, transaction_type, ${METHOD}, ${GOT} FROM approved
    )`;

/** Reads `before`. */
// guard(settlement: what was returned before it cleared has nothing to be taken back): WHERE late ⇒
const DECLINE_BEFORE = `${OPENED},
    declined AS (
      UPDATE transaction t SET status = 'declined', ${DECIDED_NOW}, response_code = before.code::text,
        response_message = before.message, authorisation_code = NULL, preauthorisation_code = NULL, voidable_until = NULL,
        outcome_seal = decode(before.outcome_seal, 'base64')
      FROM before
      WHERE t.organisation_id = before.organisation_id AND t.audit = before.audit
      RETURNING ${FOR_EVENTS}, ${FOR_SETTLEMENT}, t.refunded_cents, before.status = 'approved' AS late
    ), taken_back AS (${INTO_SETTLEMENT}
      SELECT organisation_id, merchant_id, audit, target_audit, ${OPEN_DAY}, 'return', ${METHOD}, -${GOT}
      FROM declined WHERE late
    ), events AS (${INTO_EVENTS}
      SELECT organisation_id, merchant_id, audit, version, 'directdebit.returned', told_at, user_id FROM declined
    )`;

/**
 * Reads `returned`: direct debits that the bank returned, with its code, the code's meaning and the seals of their outcomes. Turns them into `declined`.
 * Rows are locked by audit and then read again, since the clearing may just have approved them. A settled amount is taken back
 * today; its own day stays as it is.
 */
// guard(return: once): WHERE t.status IN ('pending', 'approved') ⇒
export const DECLINE_RETURNED = `
    before AS (
      SELECT t.organisation_id, t.audit, t.status, returned.code, returned.message, returned.outcome_seal FROM transaction t
      JOIN returned ON returned.organisation_id = t.organisation_id AND returned.audit = t.audit
      WHERE t.status IN ('pending', 'approved')
      ORDER BY t.organisation_id, t.audit FOR UPDATE OF t
    ), ${DECLINE_BEFORE}`;

/** The same for distributed organisations, within one ($3): rows are locked on their server, and joined here. */
export const DECLINE_RETURNED_ELSEWHERE = `
    decided_before AS MATERIALIZED (
      SELECT organisation_id, audit, status FROM transaction
      WHERE organisation_id = ($3::integer[])[1] AND audit = ANY (ARRAY(SELECT audit FROM returned))
        AND status IN ('pending', 'approved')
      ORDER BY audit FOR UPDATE
    ), before AS MATERIALIZED (
      SELECT t.organisation_id, t.audit, t.status, returned.code, returned.message, returned.outcome_seal
      FROM decided_before t JOIN returned ON returned.organisation_id = t.organisation_id AND returned.audit = t.audit
    ), ${DECLINE_BEFORE}`;

/** Reads `declined`: failed refunds. Their amounts can be refunded again. */
// guard(return of a refund: gives its amount back): - back.cents ⇒
export const RELEASE_DECLINED = `
    released AS (
      UPDATE transaction target SET refunded_cents = target.refunded_cents - back.cents
      FROM (SELECT organisation_id, target_audit, sum(amount_cents) AS cents FROM declined
        GROUP BY organisation_id, target_audit) back
      WHERE target.organisation_id = back.organisation_id AND target.audit = back.target_audit
    )`;
