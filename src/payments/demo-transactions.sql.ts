import { INTO_EVENTS } from '../events/events.sql.js';
import {
  bigint,
  columns,
  date,
  float,
  integer,
  json,
  optionalBytes,
  optionalText,
  smallint,
  text,
} from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import type { DemoEvent, DemoSettlementEntry, DemoTransaction } from './demo-transaction.js';
import { INTO_SETTLEMENT } from './status.sql.js';

/** Nobody else assigns these audits. */
export const RESERVE_AUDITS: Statement = {
  name: '',
  text: `
    UPDATE organisation SET next_audit = next_audit + $2 WHERE id = $1
    RETURNING (next_audit - $2)::integer AS first`,
};

/** No settlement day closes until the end of the database transaction. */
export const HOLD_SETTLEMENT_DAYS: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock_shared(hashtext('tollgate settlement'))`,
};

/** The settlement days of an organisation that have entries, and the time of its newest transaction. */
export const EXISTING_DAYS: Statement = {
  name: '',
  text: `
    SELECT ARRAY(SELECT DISTINCT settlement_date::text FROM settlement_entry WHERE organisation_id = $1) AS days,
      (SELECT round(extract(epoch FROM max(created_at)) * 1000)::bigint FROM transaction WHERE organisation_id = $1) AS "newestMs",
      EXISTS (SELECT FROM transaction WHERE organisation_id = $1 AND resolve_at IS NOT NULL) AS "inDoubt"`,
};

export const DEMO_TRANSACTIONS = columns<DemoTransaction>('traded', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ merchantId }) => merchantId),
  audit: integer(({ audit }) => audit),
  target_audit: integer(({ targetAudit }) => targetAudit),
  transaction_type: text(({ transactionType }) => transactionType),
  correlation_id: text(({ correlationId }) => correlationId),
  reference: text(({ reference }) => reference),
  created_ms: float(({ createdMs }) => createdMs),
  decided_ms: float(({ decidedMs }) => decidedMs),
  amount_cents: bigint(({ amountCents }) => amountCents),
  currency: text(({ currency }) => currency),
  acquirer: text(({ acquirer }) => acquirer),
  card_mask: optionalText(({ cardMask }) => cardMask),
  card_type: optionalText(({ cardType }) => cardType),
  bank_account: json(({ bankAccount }) => bankAccount),
  token_id: integer(({ tokenId }) => tokenId),
  user_id: integer(({ userId }) => userId),
  status: text(({ status }) => status),
  gateway_status_code: smallint(({ gatewayStatusCode }) => gatewayStatusCode),
  response_code: optionalText(({ responseCode }) => responseCode),
  response_message: optionalText(({ responseMessage }) => responseMessage),
  authorisation_code: optionalText(({ authorisationCode }) => authorisationCode),
  preauthorisation_code: optionalText(({ preauthorisationCode }) => preauthorisationCode),
  settlement_date: date(({ settlementDate }) => settlementDate),
  voidable_until_ms: float(({ voidableUntilMs }) => voidableUntilMs),
  completable_until_ms: float(({ completableUntilMs }) => completableUntilMs),
  refunded_cents: bigint(({ refundedCents }) => refundedCents),
  completed_cents: bigint(({ completedCents }) => completedCents),
  completed_by: integer(({ completedBy }) => completedBy),
  voided_by: integer(({ voidedBy }) => voidedBy),
  resolve_attempts: integer(({ resolveAttempts }) => resolveAttempts),
  resolve_at_ms: float(({ resolveAtMs }) => resolveAtMs),
  version: integer(({ version }) => version),
  sealed: optionalBytes(({ sealed }) => sealed),
  key_version: integer(({ keyVersion }) => keyVersion),
  attestation: optionalBytes(({ attestation }) => attestation),
  outcome_seal: optionalBytes(({ outcomeSeal }) => outcomeSeal),
});

export const ADD_DEMO_TRANSACTIONS: Statement = {
  name: '',
  text: `
    INSERT INTO transaction (organisation_id, merchant_id, audit, target_audit, transaction_type, correlation_id, reference,
      created_at, decided_at, amount_cents, currency, acquirer, card_mask, card_type, bank_account, token_id, user_id, status,
      gateway_status_code, response_code, response_message, authorisation_code, preauthorisation_code, settlement_date,
      voidable_until, completable_until, refunded_cents, completed_cents, completed_by, voided_by, resolve_attempts, resolve_at,
      version, payment_details_sealed, payment_details_key_version, attestation, outcome_seal)
    SELECT organisation_id, merchant_id, audit, target_audit, transaction_type, correlation_id, reference,
      to_timestamp(created_ms / 1000), to_timestamp(decided_ms / 1000), amount_cents, currency, acquirer, card_mask, card_type,
      bank_account::json, token_id, user_id, status, gateway_status_code, response_code, response_message, authorisation_code,
      preauthorisation_code, settlement_date, to_timestamp(voidable_until_ms / 1000), to_timestamp(completable_until_ms / 1000),
      refunded_cents, completed_cents, completed_by, voided_by, resolve_attempts, to_timestamp(resolve_at_ms / 1000), version,
      decode(sealed, 'base64'), key_version, decode(attestation, 'base64'), decode(outcome_seal, 'base64')
    FROM ${DEMO_TRANSACTIONS.rows}`,
};

export const DEMO_EVENTS = columns<DemoEvent>('told', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ merchantId }) => merchantId),
  audit: integer(({ audit }) => audit),
  version: integer(({ version }) => version),
  type: text(({ type }) => type),
  at_ms: float(({ atMs }) => atMs),
  user_id: integer(({ userId }) => userId),
});

/** In the order of events, which is the order of the feed. */
export const ADD_DEMO_EVENTS: Statement = {
  name: '',
  text: `${INTO_EVENTS}
    SELECT organisation_id, merchant_id, audit, version, type, to_timestamp(at_ms / 1000), user_id
    FROM ${DEMO_EVENTS.rows} ORDER BY at_ms, audit, version`,
};

export const DEMO_SETTLEMENT = columns<DemoSettlementEntry>('settled', {
  organisation_id: integer(({ traded }) => traded.organisationId),
  merchant_id: integer(({ traded }) => traded.merchantId),
  audit: integer(({ traded }) => traded.audit),
  target_audit: integer(({ traded }) => traded.targetAudit),
  settlement_date: date(({ day }) => day),
  transaction_type: text(({ type }) => type),
  payment_method: text(({ traded }) => (traded.bankAccount === undefined ? 'creditcard' : 'bankaccount')),
  card_type: optionalText(({ traded }) => traded.cardType),
  currency: text(({ traded }) => traded.currency),
  acquirer: text(({ traded }) => traded.acquirer),
  amount_cents: bigint(({ cents }) => cents),
});

export const ADD_DEMO_SETTLEMENT: Statement = {
  name: '',
  text: `${INTO_SETTLEMENT}
    SELECT organisation_id, merchant_id, audit, target_audit, settlement_date, transaction_type, payment_method,
      coalesce(card_type, ''), currency, acquirer, amount_cents
    FROM ${DEMO_SETTLEMENT.rows}`,
};
