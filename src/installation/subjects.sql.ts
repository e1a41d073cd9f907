import { SEALED_MERCHANT } from '../organisations/sealed-merchant.sql.js';
import { SEALED_ORGANISATION } from '../organisations/sealed-organisation.sql.js';
import type { Statement } from '../postgres/database.js';

/** One process at a time seals what is there. */
export const LOCK_SEALS: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock(hashtext('tollgate seals'))`,
};

export const MERCHANTS_TO_LOOK_AT: Statement = {
  name: '',
  text: `
    SELECT ${SEALED_MERCHANT} FROM merchant m WHERE m.id > $1 AND ($2::integer IS NULL OR m.id = $2) ORDER BY m.id LIMIT $3`,
};

export const ORGANISATIONS_TO_LOOK_AT: Statement = {
  name: '',
  text: `
    SELECT o.id, ${SEALED_ORGANISATION} FROM organisation o
    WHERE o.id > $1 AND (o.residence <> 'here' OR coalesce(o.host_name, o.moved_to, o.moved_to_address) IS NOT NULL)
    ORDER BY o.id LIMIT $2`,
};

export const MERCHANTS_WITH_ROUTES: Statement = {
  name: '',
  text: `
    SELECT DISTINCT organisation_id AS "organisationId", merchant_id AS merchant FROM route
    WHERE $1::integer IS NULL OR merchant_id = $1 ORDER BY 2`,
};

export const MERCHANTS_WITH_BANK: Statement = {
  name: '',
  text: `
    SELECT organisation_id AS "organisationId", merchant_id AS merchant FROM direct_entry
    WHERE $1::integer IS NULL OR merchant_id = $1 ORDER BY 2`,
};

export const MERCHANTS_WITH_BRAND: Statement = {
  name: '',
  text: `
    SELECT organisation_id AS "organisationId", merchant_id AS merchant FROM merchant_brand
    WHERE $1::integer IS NULL OR merchant_id = $1 ORDER BY 2`,
};

/** Everything that the journal has ever sealed, with its newest seal. */
export const SUBJECTS: Statement = {
  name: '',
  text: `
    SELECT DISTINCT ON (subject) subject, int4send(subject_version) || seal AS newest FROM journal
    WHERE subject > $1 ORDER BY subject, subject_version DESC LIMIT $2`,
};
