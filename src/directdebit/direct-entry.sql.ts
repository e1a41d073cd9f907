import { newestSeal } from '../journal/seals.js';
import { columns, integer } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';

const SETTINGS = `
  m.organisation_id AS "organisationId", m.id AS merchant, m.name, e.bank, e.user_name AS "userName",
  e.user_id AS "userId", e.description, e.trace_bsb AS "traceBsb", e.trace_account AS "traceAccount", e.remitter,
  e.clearing_days AS "clearingDays", e.dispute_days AS "disputeDays", coalesce(e.simulated, m.mode = 'test') AS simulated,
  ${newestSeal("'bank/' || m.id")} AS newest`;

export const DIRECT_ENTRY: Statement = {
  name: 'direct-entry',
  text: `
    SELECT ${SETTINGS}, m.mode FROM merchant m
    LEFT JOIN direct_entry e ON e.organisation_id = m.organisation_id AND e.merchant_id = m.id
    WHERE m.id = $1`,
};

export const ASKED = columns<{
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
}>('asked', {
  organisation_id: integer(({ organisationId }) => organisationId),
  merchant_id: integer(({ merchantId }) => merchantId),
});

/** The settings of several merchants, each with its place among them. */
export const DIRECT_ENTRIES: Statement = {
  name: 'direct-entries',
  text: `
    SELECT asked.place, ${SETTINGS}, m.mode
    FROM ${ASKED.places}
    JOIN merchant m ON m.organisation_id = asked.organisation_id AND m.id = asked.merchant_id
    LEFT JOIN direct_entry e ON e.organisation_id = m.organisation_id AND e.merchant_id = m.id`,
};

export const SET_DIRECT_ENTRY: Statement = {
  name: '',
  text: `
    INSERT INTO direct_entry (organisation_id, merchant_id, bank, user_name, user_id, description, trace_bsb,
      trace_account, remitter, clearing_days, dispute_days, simulated)
    SELECT organisation_id, id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM merchant WHERE id = $1
    ON CONFLICT (organisation_id, merchant_id) DO UPDATE SET bank = excluded.bank, user_name = excluded.user_name,
      user_id = excluded.user_id, description = excluded.description, trace_bsb = excluded.trace_bsb,
      trace_account = excluded.trace_account, remitter = excluded.remitter, clearing_days = excluded.clearing_days,
      dispute_days = excluded.dispute_days, simulated = excluded.simulated
    RETURNING organisation_id AS "organisationId", merchant_id AS "merchantId"`,
};
