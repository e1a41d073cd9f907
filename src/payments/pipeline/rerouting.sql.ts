import { INTO_JOURNAL_OF_TRANSACTIONS } from '../../journal/journal.sql.js';
import { columns, integer, json, optionalBytes, text } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import type { JournalledMove } from '../transaction.js';

export const MOVES = columns<JournalledMove>('moving', {
  organisation_id: integer(({ organisationId }) => organisationId),
  audit: integer(({ audit }) => audit),
  before: text(({ before }) => before),
  acquirer: text(({ acquirer }) => acquirer),
  prepared: json(({ prepared }) => prepared),
  detail: text(({ detail }) => detail),
  mark: optionalBytes(({ mark }) => mark),
});

/**
 * Only what is in doubt and in the hands of its own process: whoever has taken it over asks the link that it was stored with. Who is
 * returned is moved.
 */
export const REROUTE: Statement = {
  name: 'reroute',
  // guard(routes: what another process has taken over is not moved): AND t.resolve_attempts = 0 AND t.resolve_at IS NULL ⇒
  text: `
    WITH moved AS (
      UPDATE transaction t SET acquirer = moving.acquirer, prepared = moving.prepared::jsonb
      FROM ${MOVES.rows}
      WHERE t.organisation_id = moving.organisation_id AND t.audit = moving.audit AND t.acquirer = moving.before
        AND t.status = 'unknown' AND t.resolve_attempts = 0 AND t.resolve_at IS NULL
      RETURNING t.organisation_id, t.merchant_id, t.audit, moving.detail, moving.mark
    ), journalled AS (${INTO_JOURNAL_OF_TRANSACTIONS}
      SELECT organisation_id, merchant_id, 'gateway:routes', 'transaction.rerouted', audit, detail, decode(mark, 'base64')
      FROM moved
    )
    SELECT organisation_id AS "organisationId", audit FROM moved`,
};
