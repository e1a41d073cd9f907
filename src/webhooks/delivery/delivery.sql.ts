import { bigint, columns, float, integer, optionalText, smallint, text } from '../../postgres/batches.js';
import type { Statement } from '../../postgres/database.js';
import { isNotElsewhere } from '../../postgres/elsewhere.js';
import { INTO_ATTEMPTS } from '../attempts.sql.js';
import { NEWEST_OF_ENDPOINT } from '../endpoints.sql.js';
import type { DeliveryKey, EndpointKey, Postponed } from './delivery.js';
import type { LoggedAttempt } from './outcome.js';

/**
 * Endpoints with work: those that are due, and those whose merchants have undelivered events after position `$1`. `$2` are the
 * days that can hold such events.
 */
export const LOOK: Statement = {
  name: 'look-for-webhooks',
  // guard(webhooks: nobody takes an endpoint that another works for): AND (e.leased_until IS NULL OR e.leased_until < now()) ⇒
  text: `
    WITH news AS MATERIALIZED (
      SELECT organisation_id, merchant_id, max(position) AS newest FROM event_feed
      WHERE slot = ANY ($2::smallint[]) AND position > $1 GROUP BY organisation_id, merchant_id
    )
    SELECT organisation_id AS "organisationId", id FROM webhook_endpoint
    WHERE disabled_at IS NULL AND wake_at <= now() AND ${isNotElsewhere('organisation_id')}
    UNION
    SELECT e.organisation_id, e.id
    FROM news JOIN webhook_endpoint e ON e.organisation_id = news.organisation_id AND e.merchant_id = news.merchant_id
    WHERE e.position < news.newest AND ${isNotElsewhere('e.organisation_id')} AND e.disabled_at IS NULL AND (e.leased_until IS NULL OR e.leased_until < now())
      AND (e.paused_until IS NULL OR e.paused_until <= now())`,
};

/** The same for the whole feed, however old: finds what the quick poll missed. */
export const LOOK_THOROUGHLY: Statement = {
  name: 'look-for-webhooks-thoroughly',
  text: `
    SELECT e.organisation_id AS "organisationId", e.id FROM webhook_endpoint e
    CROSS JOIN LATERAL (SELECT FROM event_feed f WHERE f.organisation_id = e.organisation_id AND f.merchant_id = e.merchant_id
      AND f.position > e.position LIMIT 1) news
    WHERE e.disabled_at IS NULL AND ${isNotElsewhere('e.organisation_id')} AND (e.leased_until IS NULL OR e.leased_until < now())
      AND (e.paused_until IS NULL OR e.paused_until <= now())`,
};

export const ANY_ENDPOINT: Statement = {
  name: 'any-webhook-endpoint',
  text: `SELECT EXISTS (SELECT FROM webhook_endpoint WHERE disabled_at IS NULL) AS "any"`,
};

/** After the duration of the lease. */
export const WANTED = columns<EndpointKey>(
  'wanted',
  { organisation_id: integer(({ organisationId }) => organisationId), id: integer(({ id }) => id) },
  { after: 1 },
);

/** An endpoint that another process serves, or has just locked, is left to it. */
export const TAKE: Statement = {
  name: 'take-webhook-endpoints',
  // guard(webhooks: nobody takes an endpoint that another works for): AND (e.leased_until IS NULL OR e.leased_until < now()) ⏎ AND (e.paused_until IS NULL OR e.paused_until <= now()) ⇒
  text: `
    WITH free AS (
      SELECT e.organisation_id, e.id FROM webhook_endpoint e
      JOIN ${WANTED.rows} ON e.organisation_id = wanted.organisation_id AND e.id = wanted.id
      WHERE e.disabled_at IS NULL AND (e.leased_until IS NULL OR e.leased_until < now())
        AND (e.paused_until IS NULL OR e.paused_until <= now())
      FOR UPDATE OF e SKIP LOCKED
    )
    UPDATE webhook_endpoint e SET lease = e.lease + 1, leased_until = now() + $1 * interval '1 millisecond',
      wake_at = now() + $1 * interval '1 millisecond'
    FROM free WHERE e.organisation_id = free.organisation_id AND e.id = free.id
    RETURNING e.organisation_id AS "organisationId", e.id, e.merchant_id AS "merchantId", e.url, e.types, e.lease,
      e.position, e.failures, e.key_version AS "keyVersion", e.sealed, e.secret_version AS "secretVersion", e.overlap_until > now() AS overlapping,
      e.probe_at <= now() AS "toProbe", ${NEWEST_OF_ENDPOINT} AS newest,
      (SELECT count(*)::integer FROM webhook_delivery d
        WHERE d.organisation_id = e.organisation_id AND d.endpoint_id = e.id) AS waiting,
      (SELECT count(*)::integer FROM webhook_delivery d
        WHERE d.organisation_id = e.organisation_id AND d.endpoint_id = e.id AND d.next_at IS NOT NULL) AS "waitingSubjects",
      (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs"`,
};

export const DUE_DELIVERIES: Statement = {
  name: 'due-webhook-deliveries',
  text: `
    SELECT subject, version, position, attempts FROM webhook_delivery
    WHERE organisation_id = $1 AND endpoint_id = $2 AND next_at <= now() ORDER BY next_at LIMIT $3`,
};

/**
 * Any waiting deliveries with a retry time of their own: one event that the receiver always refuses must not hide that others
 * would get through.
 */
export const DELIVERIES_TO_PROBE: Statement = {
  name: 'webhook-deliveries-to-probe',
  text: `
    SELECT subject, version, position, attempts FROM webhook_delivery
    WHERE organisation_id = $1 AND endpoint_id = $2 AND next_at > now() ORDER BY random() LIMIT $3`,
};

/** Which of these subjects have waiting deliveries. */
export const WAITING_SUBJECTS: Statement = {
  name: 'waiting-webhook-subjects',
  text: `
    SELECT DISTINCT subject FROM webhook_delivery
    WHERE organisation_id = $1 AND endpoint_id = $2 AND subject = ANY ($3::text[])`,
};

/** After the endpoint's own columns. */
export const ATTEMPTS_MADE = columns<LoggedAttempt>(
  'made',
  {
    at_ms: float(({ atMs }) => atMs),
    version: integer(({ version }) => version),
    attempt: smallint(({ attempt }) => attempt),
    http_status: smallint(({ httpStatus }) => httpStatus),
    duration_ms: integer(({ durationMs }) => durationMs),
    event_id: text(({ eventId }) => eventId),
    type: text(({ type }) => type),
    result: text(({ result }) => result),
    response: optionalText(({ response }) => response),
  },
  { after: 9 },
);

/**
 * Records an endpoint's position and the attempts that led there, only for the holder of the lease: nobody else gets a row
 * back. `$5`: whether anything was delivered; `$6`: how many attempts failed; `$8`: whether the lease ends; `$9`: the result of
 * probes, if any. While nothing gets through, the next probe is a minute later. Once something new gets through, waiting
 * deliveries are tried, too.
 */
export const RECORD_PROGRESS: Statement = {
  name: 'record-webhook-progress',
  // guard(webhooks: only whoever has the lease records): lease = ⇒ lease >=
  text: `
    WITH progress AS (
      UPDATE webhook_endpoint SET position = $4,
        failures = CASE WHEN $5 THEN 0 ELSE failures + $6::integer END,
        failing_since = CASE WHEN $5 THEN NULL WHEN $6::integer > 0 THEN coalesce(failing_since, now()) ELSE failing_since END,
        delivered_at = CASE WHEN $5 THEN now() ELSE delivered_at END,
        leased_until = CASE WHEN NOT $8 THEN now() + $7 * interval '1 millisecond' END,
        wake_at = CASE WHEN NOT $8 THEN now() + $7 * interval '1 millisecond' END,
        paused_until = CASE WHEN $5 THEN NULL ELSE paused_until END,
        probe_at = CASE WHEN $5 AND failures > 0 AND $9::boolean IS NOT TRUE THEN now()
          WHEN NOT $5 AND $6::integer > 0 THEN now() + interval '1 minute' WHEN NOT $5 AND $9 IS NULL THEN probe_at END
      WHERE organisation_id = $1 AND id = $2 AND lease = $3
      RETURNING organisation_id, id, failures, disabled_at IS NOT NULL AS disabled, key_version AS "keyVersion", sealed,
        secret_version AS "secretVersion", overlap_until > now() AS overlapping, probe_at <= now() AS "toProbe"
    ), logged AS (${INTO_ATTEMPTS}
      SELECT progress.organisation_id, progress.id, to_timestamp(made.at_ms / 1000), made.version, made.attempt,
        made.http_status, made.duration_ms, made.event_id, made.type, made.result, made.response
      FROM progress CROSS JOIN ${ATTEMPTS_MADE.rows}
    )
    SELECT failures, disabled, "keyVersion", sealed, "secretVersion", overlapping, "toProbe" FROM progress`,
};

/** After the organisation and the endpoint. */
export const DONE = columns<DeliveryKey>(
  'done',
  { subject: text(({ subject }) => subject), version: integer(({ version }) => version) },
  { after: 2 },
);

export const REMOVE_DELIVERIES: Statement = {
  name: 'remove-webhook-deliveries',
  text: `
    DELETE FROM webhook_delivery d USING ${DONE.rows}
    WHERE d.organisation_id = $1 AND d.endpoint_id = $2 AND d.subject = done.subject AND d.version = done.version`,
};

/** After the organisation and the endpoint. */
export const POSTPONED = columns<Postponed>(
  'later',
  {
    subject: text(({ subject }) => subject),
    version: integer(({ version }) => version),
    position: bigint(({ position }) => position),
    attempts: smallint(({ attempts }) => attempts),
    pause_ms: bigint(({ pauseMs }) => pauseMs),
  },
  { after: 2 },
);

/** A delivery without a pause waits behind an earlier one of the same subject; a delivery that waits already keeps its time. */
export const POSTPONE_DELIVERIES: Statement = {
  name: 'postpone-webhook-deliveries',
  text: `
    INSERT INTO webhook_delivery AS d (organisation_id, endpoint_id, subject, version, position, attempts, next_at)
    SELECT $1, $2, later.subject, later.version, later.position, later.attempts,
      now() + later.pause_ms * interval '1 millisecond'
    FROM ${POSTPONED.rows}
    ON CONFLICT (organisation_id, endpoint_id, subject, version) DO UPDATE SET attempts = excluded.attempts,
      next_at = excluded.next_at WHERE excluded.next_at IS NOT NULL`,
};

/** Deliveries that waited behind a finished one are now due. */
export const ADVANCE_SUBJECTS: Statement = {
  name: 'advance-webhook-subjects',
  text: `
    UPDATE webhook_delivery d SET next_at = now(), failing_since = now()
    WHERE d.organisation_id = $1 AND d.endpoint_id = $2 AND d.subject = ANY ($3::text[]) AND d.next_at IS NULL
      AND NOT EXISTS (SELECT FROM webhook_delivery earlier WHERE earlier.organisation_id = d.organisation_id
        AND earlier.endpoint_id = d.endpoint_id AND earlier.subject = d.subject AND earlier.version < d.version)`,
};

/** Of each subject, one delivery waits for its time, and the others behind it. */
export const COUNT_WAITING: Statement = {
  name: 'count-waiting-webhooks',
  text: `
    SELECT count(*)::integer AS waiting, count(next_at)::integer AS "waitingSubjects" FROM webhook_delivery
    WHERE organisation_id = $1 AND endpoint_id = $2`,
};

/** The endpoint is back: waiting deliveries are due at once. */
export const HASTEN_DELIVERIES: Statement = {
  name: 'hasten-webhook-deliveries',
  text: `
    UPDATE webhook_delivery SET next_at = now()
    WHERE organisation_id = $1 AND endpoint_id = $2 AND next_at > now()`,
};

/** Whether nothing was delivered since an event failed that has no attempts left. */
export const FAILING_SINCE: Statement = {
  name: 'webhook-failing-since',
  text: `
    SELECT 1 FROM webhook_endpoint e JOIN webhook_delivery d ON d.organisation_id = e.organisation_id AND d.endpoint_id = e.id
    WHERE e.organisation_id = $1 AND e.id = $2 AND d.subject = $3 AND d.version = $4 AND e.failing_since <= d.failing_since`,
};

/** Waiting deliveries are next handled when one is due, or when the endpoint is probed. */
const NEXT = `CASE WHEN due.next_at IS NOT NULL THEN least(due.next_at, e.probe_at) END`;

/** `$4`: due at once, since there is more to do; `$5`: nothing is sent for this long; `$6`: nothing before the next one. */
export const RELEASE: Statement = {
  name: 'release-webhook-endpoint',
  text: `
    UPDATE webhook_endpoint e SET leased_until = NULL,
      wake_at = greatest(CASE WHEN $4 THEN now() ELSE ${NEXT} END, now() + nullif($5, 0) * interval '1 millisecond',
        CASE WHEN $6 THEN ${NEXT} END),
      paused_until = greatest(CASE WHEN $6 THEN ${NEXT} END, now() + nullif($5, 0) * interval '1 millisecond')
    FROM (SELECT min(next_at) AS next_at FROM webhook_delivery WHERE organisation_id = $1 AND endpoint_id = $2) due
    WHERE e.organisation_id = $1 AND e.id = $2 AND e.lease = $3`,
};

/** After a wrong clock: the gateway never writes a time further ahead than this ($1, in milliseconds). */
export const MEND_ENDPOINTS: Statement = {
  name: 'mend-webhook-endpoints',
  text: `
    UPDATE webhook_endpoint SET wake_at = now(), paused_until = NULL, leased_until = NULL, probe_at = NULL
    WHERE ${isNotElsewhere('organisation_id')} AND disabled_at IS NULL AND (greatest(leased_until, probe_at) > now() + interval '10 minutes'
      OR greatest(wake_at, paused_until) > now() + $1 * interval '1 millisecond')`,
};

export const MEND_DELIVERIES: Statement = {
  name: 'mend-webhook-deliveries',
  text: `UPDATE webhook_delivery SET next_at = now() WHERE next_at > now() + $1 * interval '1 millisecond' AND ${isNotElsewhere('organisation_id')}`,
};
