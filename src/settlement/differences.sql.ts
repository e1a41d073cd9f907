import { columns, integer, optionalText, text } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import type { FoundDifference } from './reconciliation.js';

/** After the day, the acquirer and who has found them. */
export const FOUND = columns<FoundDifference>(
  'found',
  {
    kind: text(({ kind }) => kind),
    reference: text(({ reference }) => reference),
    there: optionalText(({ there }) => there),
    here: optionalText(({ here }) => here),
    organisation_id: integer(({ organisationId }) => organisationId),
    merchant_id: integer(({ merchantId }) => merchantId),
    audit: integer(({ audit }) => audit),
  },
  { after: 3 },
);

/** Of a day and an acquirer: who keeps differences, or looks at all of them, waits for whoever does so already. */
export const LOCK_DIFFERENCES: Statement = {
  name: '',
  text: `SELECT pg_advisory_xact_lock(hashtextextended(format('tollgate differences %s %s', $1::date, $2::text), 0))`,
};

/** One that was found before stays as it is, with whoever has looked at it; one that was gone is back. */
export const KEEP_DIFFERENCES: Statement = {
  name: '',
  // guard(reconciliation: a difference that was looked at does not hide another one): , here) ⇒ )
  // guard(reconciliation: a difference that was looked at does not hide another one): gone_at ⇒ here = excluded.here, gone_at
  text: `
    INSERT INTO settlement_difference AS d (settlement_date, acquirer, found_by, kind, reference, there, here, organisation_id,
      merchant_id, audit)
    SELECT DISTINCT ON (kind, reference, coalesce(there, ''), coalesce(here, '')) $1::date, $2, $3, kind, reference, coalesce(there, ''), coalesce(here, ''),
      organisation_id, merchant_id, audit
    FROM ${FOUND.rows}
    ON CONFLICT (settlement_date, acquirer, kind, reference, there, here)
    DO UPDATE SET gone_at = NULL, merchant_id = coalesce(excluded.merchant_id, d.merchant_id)
    RETURNING id`,
};

/** Those of the day, the acquirer and the kinds that the newest file does not have. */
export const DIFFERENCES_GONE: Statement = {
  name: '',
  text: `
    UPDATE settlement_difference SET gone_at = now()
    WHERE settlement_date = $1::date AND acquirer = $2 AND gone_at IS NULL AND kind = ANY ($4::text[])
      AND NOT id = ANY ($3::bigint[])
    RETURNING id`,
};

const DIFFERENCE = `id, settlement_date::text AS date, acquirer, kind, reference, there, here, organisation_id AS "organisationId",
      merchant_id AS "merchantId", audit, found_at AS found, found_by AS "foundBy", gone_at AS gone, looked_at AS looked,
      looked_by AS "lookedBy", note`;

/** The newest days first. */
export const DIFFERENCES: Statement = {
  name: '',
  text: `
    SELECT ${DIFFERENCE} FROM settlement_difference
    WHERE ($1::date IS NULL OR settlement_date = $1) AND ($2::text IS NULL OR acquirer = $2)
      AND ($3 OR (looked_at IS NULL AND gone_at IS NULL))
    ORDER BY settlement_date DESC, id LIMIT $4`,
};

export const OPEN_DIFFERENCES_BY_DAY: Statement = {
  name: '',
  text: `
    SELECT settlement_date::text AS date, acquirer, count(*)::integer AS open FROM settlement_difference
    WHERE looked_at IS NULL AND gone_at IS NULL GROUP BY 1, 2 ORDER BY 1 DESC, 2 LIMIT 366`,
};

/** Once: who looks again, or at the same time, changes nothing. */
export const LOOK_AT_DIFFERENCE: Statement = {
  name: '',
  text: `
    UPDATE settlement_difference SET looked_at = now(), looked_by = $2, note = $3 WHERE id = $1 AND looked_at IS NULL
    RETURNING ${DIFFERENCE}`,
};

/** All that are open of a day and an acquirer. */
export const LOOK_AT_DIFFERENCES: Statement = {
  name: '',
  text: `
    UPDATE settlement_difference SET looked_at = now(), looked_by = $3, note = $4
    WHERE settlement_date = $1::date AND acquirer = $2 AND looked_at IS NULL AND gone_at IS NULL
    RETURNING id`,
};

export const FIND_DIFFERENCE: Statement = {
  name: '',
  text: `SELECT ${DIFFERENCE} FROM settlement_difference WHERE id = $1`,
};
