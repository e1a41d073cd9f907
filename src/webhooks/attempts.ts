// The log of attempts: every webhook that was sent, and its result. Kept for some days.
import type { Database, Queryable } from '../postgres/database.js';
import type { OrganisationId, WebhookEndpointId } from '../values/ids.js';
import { FORGET_ATTEMPTS, LOG_ATTEMPT, READ_ATTEMPTS } from './attempts.sql.js';
import type { AttemptResult, LoggedAttempt } from './delivery/outcome.js';

/** The ring has 32 days: these, today, tomorrow, and one in which to empty a day before it is reused. */
export const MOST_LOG_DAYS = 28;

export interface AttemptView {
  readonly at: Date;
  readonly event: string;
  readonly type: string;
  readonly version: number;
  readonly attempt: number;
  readonly result: AttemptResult;
  readonly httpStatus: number | null;
  readonly durationMs: number;
  readonly response: string | null;
}

interface EndpointKey {
  readonly organisationId: OrganisationId;
  readonly id: WebhookEndpointId;
}

/** For attempts outside the gateway's deliveries, which log theirs along with the progress. */
export async function logAttempt(
  connection: Queryable,
  { organisationId, id }: EndpointKey,
  made: LoggedAttempt,
): Promise<void> {
  const { atMs, version, attempt, httpStatus, durationMs, eventId, type, result, response } = made;
  const outcome = [httpStatus ?? null, durationMs, eventId, type, result, response ?? null];
  await connection.query(LOG_ATTEMPT, [organisationId, id, atMs, version, attempt, ...outcome]);
}

/** Newest first. */
export async function readAttempts(
  database: Queryable,
  { organisationId, id }: EndpointKey,
  limit: number,
): Promise<AttemptView[]> {
  return (await database.query<AttemptView>(READ_ATTEMPTS, [organisationId, id, limit])).rows;
}

export class AttemptRetention {
  constructor(
    private readonly database: Database,
    private readonly keptDays: number,
  ) {}

  /** Empties old days; any number of processes may do so, at any time. Returns how many days were emptied. */
  async run(): Promise<number> {
    const { rows } = await this.database.query<{ emptied: number }>(FORGET_ATTEMPTS, [this.keptDays]);
    return rows[0]?.emptied ?? 0;
  }
}
