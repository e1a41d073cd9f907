// The archive: old, finished transactions are written to a file that an operator keeps, and then removed from the database as
// far as the API can do without them. Audits stay, because they are the permanent identifier. Correlation IDs stay taken.
import { MOST_DAYS_KEPT } from '../events/feed.js';
import { JOURNAL_BEFORE } from '../journal/archive.sql.js';
import { journal } from '../journal/journal.js';
import type { Database, Queryable } from '../postgres/database.js';
import { refuse } from '../values/refusal.js';
import { FINISHED_TRANSACTIONS, ORGANISATIONS_TO_ARCHIVE, STRIP_ARCHIVED } from './archive.sql.js';

export interface ArchivedTransaction {
  readonly organisation_id: number;
  readonly audit: number;
}

const PAGE = 500;
const DAY_MS = 86_400_000;
/** An event is built from its transaction's row, and any event that is still kept can be replayed. */
const LEAST_DAYS = MOST_DAYS_KEPT + 1;

export function checkArchiveEnd(beforeMs: number): void {
  // guard(archive: nothing that events are still told from): - ⇒ +
  if (beforeMs > Date.now() - LEAST_DAYS * DAY_MS) refuse('archive_too_young', { days: LEAST_DAYS });
}

/** In pages, by organisation and audit. */
export async function* finishedTransactions(
  database: Queryable,
  beforeMs: number,
): AsyncGenerator<readonly ArchivedTransaction[]> {
  const { rows: organisations } = await database.query<{ id: number }>(ORGANISATIONS_TO_ARCHIVE);
  for (const { id } of organisations) {
    let last: number | null = 0;
    while (last !== null) {
      const page: FinishedPage = await finishedPage(database, id, last, beforeMs);
      if (page.transactions.length > 0) yield page.transactions;
      last = page.lastAudit;
    }
  }
}

interface FinishedPage {
  /** The last audit that was examined; null when there were none. */
  readonly lastAudit: number | null;
  readonly transactions: readonly ArchivedTransaction[];
}

async function finishedPage(
  database: Queryable,
  organisation: number,
  afterAudit: number,
  beforeMs: number,
): Promise<FinishedPage> {
  const values = [organisation, afterAudit, beforeMs, PAGE];
  return (await database.query<FinishedPage>(FINISHED_TRANSACTIONS, values)).rows[0] as FinishedPage;
}

/** The journal itself stays complete: it is append-only, and payments read the history of tokens and keys from it. */
export async function* journalBefore(
  database: Queryable,
  beforeMs: number,
): AsyncGenerator<readonly object[]> {
  for (let last = 0; ; ) {
    const { rows } = await database.query<{ id: number }>(JOURNAL_BEFORE, [last, beforeMs, PAGE]);
    if (rows.length === 0) return;
    last = Number(rows.at(-1)?.id);
    yield rows;
  }
}

/** In small commits: payments never wait for long, and a killed run resumes where it stopped. */
export async function stripArchived(
  database: Queryable,
  archived: readonly ArchivedTransaction[],
): Promise<number> {
  let stripped = 0;
  for (const organisation of new Set(archived.map(({ organisation_id }) => organisation_id))) {
    const audits = archived.filter((one) => one.organisation_id === organisation).map(({ audit }) => audit);
    stripped += (await database.query(STRIP_ARCHIVED, [organisation, audits])).count;
  }
  return stripped;
}

export async function journalArchive(
  database: Database,
  operator: string,
  action: 'archive.written' | 'archive.removed',
  detail: string,
): Promise<void> {
  await journal(database, { actor: operator, action, detail });
}
