import { newestSeal } from '../journal/seals.js';

/** Everything that the journal seals of a merchant `m`, and its newest seal. */
export const SEALED_MERCHANT = `m.id, m.organisation_id AS "merchantOrganisationId", m.name, m.mode, m.vault,
      m.preauthorisation_days AS "preauthorisationDays", m.card_days AS "cardDays", m.acquirer, m.acceptor_id AS "acceptorId",
      m.terminals, m.category_code AS "categoryCode", m.suspended_at IS NOT NULL AS suspended,
      coalesce((SELECT json_object_agg(p.plugin, p.settings) FROM merchant_plugin p
        WHERE p.organisation_id = m.organisation_id AND p.merchant_id = m.id), '{}') AS plugins,
      ${newestSeal("'merchant/' || m.id")} AS "newestOfMerchant"`;

export const LOCK_MERCHANT = {
  name: '',
  text: `SELECT id FROM merchant WHERE id = $1 FOR NO KEY UPDATE`,
};

export const FIND_SEALED_MERCHANT = {
  name: 'find-sealed-merchant',
  text: `SELECT ${SEALED_MERCHANT} FROM merchant m WHERE m.id = $1`,
};
