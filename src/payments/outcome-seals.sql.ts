// The columns that the seals of outcomes are checked with.

const MEMBERS = (t: string) => `'organisationId', ${t}.organisation_id, 'merchantId', ${t}.merchant_id, 'audit', ${t}.audit,
        'transactionType', ${t}.transaction_type, 'targetAudit', ${t}.target_audit, 'correlationId', ${t}.correlation_id,
        'amountCents', ${t}.amount_cents, 'currency', ${t}.currency, 'acquirer', ${t}.acquirer, 'status', ${t}.status,
        'gatewayStatusCode', ${t}.gateway_status_code, 'responseCode', ${t}.response_code,
        'authorisationCode', ${t}.authorisation_code, 'preauthorisationCode', ${t}.preauthorisation_code,
        'outcomeSeal', encode(${t}.outcome_seal, 'base64')`;

/** A transaction as `StoredOutcome`, in one column. */
export const storedOutcome = (t: string) => `json_build_object(${MEMBERS(t)})`;

/** Several of them. Empty if there are none. */
export const storedOutcomes = (t: string) =>
  `coalesce(json_agg(json_build_object(${MEMBERS(t)})), '[]'::json)`;

/** Everything that was ever asked of the row `target`. */
export const OPERATIONS_ON_TARGET = `(SELECT ${storedOutcomes('operation')} FROM transaction operation
        WHERE operation.organisation_id = target.organisation_id AND operation.merchant_id = target.merchant_id
          AND operation.target_audit = target.audit)`;

/** The columns that an outcome's seal is bound to, for parts of a statement that hand rows on. */
export const OUTCOME_COLUMNS = `organisation_id, merchant_id, audit, transaction_type, target_audit, correlation_id, amount_cents, currency,
        acquirer, status, gateway_status_code, response_code, authorisation_code, preauthorisation_code, outcome_seal`;
