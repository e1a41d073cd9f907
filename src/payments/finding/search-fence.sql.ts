import { columns, integer, text } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';

/** After the process that raises them. */
export const FENCED = columns<{
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly correlationId: string;
}>(
  'fenced',
  {
    organisation_id: integer(({ organisationId }) => organisationId),
    merchant_id: integer(({ merchantId }) => merchantId),
    correlation_id: text(({ correlationId }) => correlationId),
  },
  { after: 1 },
);

/** A fence is a row of `absence`; its number is an epoch. */
export const RAISE_FENCES: Statement = {
  name: 'raise-fences',
  text: `SELECT make_absences(${FENCED.arrays}, $1) AS number`,
};

/** Fences that lie before every live process's epoch, and before any request that may still come. A claim of an epoch before the forgotten ones is refused. */
export const FORGET_FENCES: Statement = {
  name: 'forget-fences',
  text: `
    WITH known AS (
      SELECT min(known_absence) AS number FROM process WHERE seen_at > now() - interval '30 seconds'
    ), last AS (
      SELECT max(a.number) AS number FROM absence a, known
      WHERE a.number <= known.number AND a.made_at < now() - interval '10 minutes'
    ), forgotten AS (
      UPDATE gateway SET forgotten_absence = last.number FROM last WHERE last.number > forgotten_absence
      RETURNING forgotten_absence
    )
    DELETE FROM absence a USING forgotten WHERE a.number <= forgotten.forgotten_absence`,
};
