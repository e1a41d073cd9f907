import type { Statement } from '../postgres/database.js';

const SETTINGS = `
  m.organisation_id AS "organisationId", m.id AS merchant, m.name, e.bank, e.user_name AS "userName",
  e.user_id AS "userId", e.description, e.trace_bsb AS "traceBsb", e.trace_account AS "traceAccount", e.remitter,
  e.clearing_days AS "clearingDays", e.dispute_days AS "disputeDays", coalesce(e.simulated, m.mode = 'test') AS simulated`;

export const DIRECT_ENTRY: Statement = {
  name: 'direct-entry',
  text: `
    SELECT ${SETTINGS}, m.mode FROM merchant m
    LEFT JOIN direct_entry e ON e.organisation_id = m.organisation_id AND e.merchant_id = m.id
    WHERE m.id = $1`,
};
