import { INTO_EVENTS_WITH_DATA } from '../../events/events.sql.js';
import type { Statement } from '../../postgres/database.js';

/**
 * An attempt of a merchant ($1, $2) under a correlation ID ($3) by a user ($5), against limits ($4). Returns those that it has reached, and
 * tells of each for the first time in a row.
 */
export const COUNT_ATTEMPT: Statement = {
  name: 'count-attempt',
  text: `
    WITH reached AS MATERIALIZED (SELECT * FROM count_attempt($1, $2, $3, $4::json)),
    told AS (${INTO_EVENTS_WITH_DATA}
      SELECT $1::integer, $2::integer, id, version, 'limit.reached', gateway_now(),
        json_build_object('per', per, 'mode', mode, 'shown', shown), $5::integer
      FROM reached WHERE begins
    )
    SELECT per, mode FROM reached ORDER BY per`,
};

/** When no limit counts them any more, and 30 days after a limit was last reached. */
export const FORGET_ATTEMPTS: Statement = {
  name: 'forget-attempts',
  text: `
    WITH caught AS (DELETE FROM limit_reached WHERE last_at <= gateway_now() - interval '30 days' AND goes_on_until <= gateway_now())
    DELETE FROM limit_attempt WHERE counts_until <= gateway_now()`,
};
