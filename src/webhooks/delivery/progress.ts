// Records the result of a batch in one database transaction, only for the holder of the lease: the endpoint's position, retries
// and their times, events given up, and whether the endpoint is disabled.
import { journal } from '../../journal/journal.js';
import type { Database, Queryable } from '../../postgres/database.js';
import { type DisabledBecause, disableEndpoint } from '../endpoints.js';
import type { BatchResult, Sent } from './batch.js';
import { type Delivery, isFailing, type LeasedEndpoint, type Postponed } from './delivery.js';
import {
  ADVANCE_SUBJECTS,
  ATTEMPTS_MADE,
  COUNT_WAITING,
  DONE,
  FAILING_SINCE,
  HASTEN_DELIVERIES,
  POSTPONE_DELIVERIES,
  POSTPONED,
  RECORD_PROGRESS,
  REMOVE_DELIVERIES,
} from './delivery.sql.js';
import { isDelivered, type LoggedAttempt, outcomeOf } from './outcome.js';
import { pauseAfter, readRetryAfter } from './schedule.js';

/** The lease was taken over, or the endpoint moved or removed: the batch goes unrecorded, and is sent again. */
export class LeaseLost extends Error {}

export interface ProgressOptions {
  readonly leaseMs: number;
  readonly firstPauseMs: number;
}

export interface Progress {
  readonly endpoint: LeasedEndpoint;
  /** Whether the lease ended with it, since nothing is left to do. */
  readonly ended: boolean;
  readonly disabled: DisabledBecause | 'before' | undefined;
  /** Events that have no attempts left. */
  readonly givenUp: readonly Delivery[];
  /** How long the receiver asked to be left alone. */
  readonly restMs: number;
}

interface ProgressRow
  extends Pick<
    LeasedEndpoint,
    'failures' | 'keyVersion' | 'sealed' | 'secretVersion' | 'overlapping' | 'toProbe'
  > {
  readonly disabled: boolean;
}

const GONE = 410;
const ASKS_FOR_REST = [429, 503];
/** The longest pause in new events that a receiver can ask for. */
const LONGEST_REST_MS = 3_600_000;
const ACTOR = 'gateway:webhooks';

/** `caughtUp`: nothing after `position` could be sent now. */
export async function recordBatch(
  database: Database,
  endpoint: LeasedEndpoint,
  { sent, left }: BatchResult,
  { position, caughtUp }: { readonly position: number; readonly caughtUp: boolean },
  options: ProgressOptions,
): Promise<Progress> {
  const failed = sent.filter(({ attempt }) => !isDelivered(attempt));
  const delivered = sent.length - failed.length;
  const probes = sent.filter(({ delivery }) => delivery.probe);
  const probed = probes.length === 0 ? null : probes.some(({ attempt }) => isDelivered(attempt));
  // The endpoint is back, and nothing needs to wait for its time.
  const isBack = probed ?? (delivered > 0 && isFailing(endpoint));
  // One event that the receiver refuses does not make an endpoint fail that just accepted others.
  const failures = endpoint.failures === 0 ? failed.filter(({ delivery }) => !delivery.probe) : failed;
  const simple = failed.length === 0 && left.length === 0 && sent.every(({ delivery }) => !delivery.stored);
  const ended = simple && caughtUp && endpoint.waiting === 0;
  const record = async (connection: Queryable) => {
    const values = [
      ...[endpoint.organisationId, endpoint.id, endpoint.lease, position],
      ...[delivered > 0, failures.length, options.leaseMs, ended, isBack || probed],
      ...ATTEMPTS_MADE.encode(sent.map(loggedOf)),
    ];
    const { rows } = await connection.query<ProgressRow>(RECORD_PROGRESS, values);
    const [row] = rows;
    if (row === undefined) throw new LeaseLost();
    return row;
  };
  const restMs = Math.max(0, ...failed.map(restOf));
  if (simple) {
    const { disabled, ...current } = await record(database);
    const next = { ...endpoint, ...current, position };
    return { endpoint: next, ended, disabled: disabled ? 'before' : undefined, givenUp: [], restMs };
  }
  return database.transaction(async (connection) => {
    const { disabled: before, ...current } = await record(connection);
    const { givenUp, disabled, ...waiting } = await resolveBatch(
      connection,
      endpoint,
      { sent, left },
      options,
    );
    if (isBack) {
      await connection.query(HASTEN_DELIVERIES, [endpoint.organisationId, endpoint.id]);
    }
    const next = { ...endpoint, ...current, ...waiting, position };
    return { endpoint: next, ended: false, disabled: before ? 'before' : disabled, givenUp, restMs };
  });
}

type Waiting = Pick<LeasedEndpoint, 'waiting' | 'waitingSubjects'>;

interface ResolvedBatch extends Waiting {
  readonly givenUp: Delivery[];
  readonly disabled: DisabledBecause | undefined;
}

async function resolveBatch(
  connection: Queryable,
  endpoint: LeasedEndpoint,
  { sent, left }: BatchResult,
  { firstPauseMs }: ProgressOptions,
): Promise<ResolvedBatch> {
  const { organisationId, id } = endpoint;
  const done: Delivery[] = [];
  const givenUp: Delivery[] = [];
  const postponed: Postponed[] = [];
  let disabled: DisabledBecause | undefined;
  for (const { delivery, attempt, atMs } of sent) {
    if (isDelivered(attempt)) {
      if (delivery.stored) done.push(delivery);
      continue;
    }
    const attempts = delivery.attempts + 1;
    const answered = attempt.kind === 'answered' ? attempt : undefined;
    const retryAfterMs = readRetryAfter(answered?.retryAfter, atMs + attempt.durationMs);
    const pauseMs = pauseAfter({ attempts, retryAfterMs }, firstPauseMs);
    if (answered?.httpStatus === GONE) disabled = 'gone';
    // A probe keeps its place and time.
    // guard(webhooks: a probe counts as no attempt): if (delivery.probe) continue; ⇒
    if (delivery.probe) continue;
    if (pauseMs !== undefined) {
      postponed.push({ ...delivery, attempts, pauseMs });
    } else if (await nothingDeliveredSince(connection, endpoint, delivery)) {
      disabled ??= 'failing';
      postponed.push({ ...delivery, attempts, pauseMs: 0 });
    } else {
      givenUp.push(delivery);
      if (delivery.stored) done.push(delivery);
    }
  }
  const hopeless = sent.length > 0 && !sent.some(({ attempt }) => isDelivered(attempt));
  for (const delivery of left.filter(({ probe }) => !probe)) {
    const soonMs = hopeless ? pauseAfter({ attempts: 1 }, firstPauseMs) : 0;
    if (!delivery.stored || !delivery.behind) {
      postponed.push({ ...delivery, pauseMs: delivery.behind ? undefined : soonMs });
    }
  }
  if (done.length > 0) await connection.query(REMOVE_DELIVERIES, [organisationId, id, ...DONE.encode(done)]);
  if (postponed.length > 0) {
    await connection.query(POSTPONE_DELIVERIES, [organisationId, id, ...POSTPONED.encode(postponed)]);
  }
  const subjects = [...done, ...givenUp].map(({ subject }) => subject);
  if (subjects.length > 0) await connection.query(ADVANCE_SUBJECTS, [organisationId, id, subjects]);
  if (disabled !== undefined) await disable(connection, endpoint, disabled);
  const { rows } = await connection.query<Waiting>(COUNT_WAITING, [organisationId, id]);
  return { givenUp, disabled, ...(rows[0] as Waiting) };
}

/** Then the endpoint is at fault, and not the event. */
async function nothingDeliveredSince(
  connection: Queryable,
  { organisationId, id }: LeasedEndpoint,
  { subject, version }: Delivery,
): Promise<boolean> {
  return (await connection.query(FAILING_SINCE, [organisationId, id, subject, version])).count > 0;
}

async function disable(
  connection: Queryable,
  endpoint: LeasedEndpoint,
  because: DisabledBecause,
): Promise<void> {
  const { organisationId, merchantId, id } = endpoint;
  if (!(await disableEndpoint(connection, endpoint, because))) return;
  const detail = `endpoint ${id}, ${because}`;
  await journal(connection, { actor: ACTOR, action: 'webhook.disabled', organisationId, merchantId, detail });
}

function loggedOf({ delivery, attempt, atMs }: Sent): LoggedAttempt {
  const { id: eventId, type, version } = delivery.event;
  return {
    atMs,
    eventId,
    type,
    version,
    attempt: delivery.probe ? 0 : delivery.attempts + 1,
    ...outcomeOf(attempt),
  };
}

function restOf({ attempt, atMs }: Sent): number {
  if (attempt.kind !== 'answered' || !ASKS_FOR_REST.includes(attempt.httpStatus)) return 0;
  return Math.min(readRetryAfter(attempt.retryAfter, atMs + attempt.durationMs) ?? 0, LONGEST_REST_MS);
}
