import type { Statement } from '../store/database.js';

const SETTINGS = `
  m.organisation_id AS "organisationId", m.id AS merchant, m.name, e.bank, e.user_name AS "userName",
  e.user_id AS "userId", e.description, e.trace_bsb AS "traceBsb", e.trace_account AS "traceAccount", e.remitter,
  e.clearing_days AS "clearingDays", e.dispute_days AS "disputeDays", coalesce(e.simulated, true) AS simulated`;

export const DIRECT_ENTRY: Statement = {
  name: 'direct-entry',
  text: `
    SELECT ${SETTINGS} FROM merchant m
    LEFT JOIN direct_entry e ON e.organisation_id = m.organisation_id AND e.merchant_id = m.id
    WHERE m.id = $1`,
};

export const SET_DIRECT_ENTRY: Statement = {
  name: '',
  text: `
    INSERT INTO direct_entry (organisation_id, merchant_id, bank, user_name, user_id, description, trace_bsb,
      trace_account, remitter, clearing_days, dispute_days, simulated)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    ON CONFLICT (organisation_id, merchant_id) DO UPDATE SET bank = excluded.bank, user_name = excluded.user_name,
      user_id = excluded.user_id, description = excluded.description, trace_bsb = excluded.trace_bsb,
      trace_account = excluded.trace_account, remitter = excluded.remitter, clearing_days = excluded.clearing_days,
      dispute_days = excluded.dispute_days, simulated = excluded.simulated`,
};

/** The simulated bank takes what waits at the next close of a day; a real one waits for the operator. */
export const HAND_WAITING_ITEMS_TO_BANK: Statement = {
  name: '',
  text: `
    UPDATE directdebit_item SET next_at = CASE WHEN $3 THEN to_timestamp($4::float8 / 1000) END
    WHERE organisation_id = $1 AND merchant_id = $2 AND state = 'waiting'`,
};
