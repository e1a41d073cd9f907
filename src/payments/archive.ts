// The archive: old, finished transactions are written to a file that an operator keeps, and then removed from the database as
// far as the API can do without them. Audits stay, because they are the permanent identifier. Correlation IDs stay taken.
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { MOST_DAYS_KEPT } from '../events/feed.js';
import { JOURNAL_BEFORE } from '../journal/archive.sql.js';
import { journal } from '../journal/journal.js';
import type { Database, Queryable } from '../postgres/database.js';
import { FLAG, FROM, TEXT } from '../tasks/kinds.js';
import { type Doing, type Given, needed, optional, task } from '../tasks/task.js';
import { refuse } from '../values/refusal.js';
import { unreadable, writeWhole } from '../values/whole-file.js';
import { FINISHED_TRANSACTIONS, ORGANISATIONS_TO_ARCHIVE, STRIP_ARCHIVED } from './archive.sql.js';

interface ArchivedTransaction {
  readonly organisation_id: number;
  readonly audit: number;
}

const PAGE = 500;
const DAY_MS = 86_400_000;
/** An event is built from its transaction's row, and any event that is still kept can be replayed. */
const LEAST_DAYS = MOST_DAYS_KEPT + 1;

function checkArchiveEnd(beforeMs: number): void {
  // guard(archive: nothing that events are still told from): - ⇒ +
  if (beforeMs > Date.now() - LEAST_DAYS * DAY_MS) refuse('archive_too_young', { days: LEAST_DAYS });
}

/** In pages, by organisation and audit. */
async function* finishedTransactions(
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
async function* journalBefore(database: Queryable, beforeMs: number): AsyncGenerator<readonly object[]> {
  for (let last = 0; ; ) {
    const { rows } = await database.query<{ id: number }>(JOURNAL_BEFORE, [last, beforeMs, PAGE]);
    if (rows.length === 0) return;
    last = Number(rows.at(-1)?.id);
    yield rows;
  }
}

/** In small commits: payments never wait for long, and a killed run resumes where it stopped. */
async function stripArchived(database: Queryable, archived: readonly ArchivedTransaction[]): Promise<number> {
  let stripped = 0;
  for (const organisation of new Set(archived.map(({ organisation_id }) => organisation_id))) {
    const audits = archived.filter((one) => one.organisation_id === organisation).map(({ audit }) => audit);
    stripped += (await database.query(STRIP_ARCHIVED, [organisation, audits])).count;
  }
  return stripped;
}

interface Archive {
  readonly transactions: number;
  readonly journalEntries: number;
  /** Of everything before the last line. */
  readonly sha256: string;
}

const PIECE = 200;

const INPUT = {
  before: needed(FROM, '--before <day>', 'what was made before this day, or instant'),
  to: needed(TEXT, '--to <file>', 'the file; one that is there must be this very archive, and is only read'),
  remove: optional(
    FLAG,
    '--remove',
    'then take out of the database what look-ups can do without; can be interrupted and run again',
  ),
};

/** For the sentence: the file was there. */
const WAS_THERE = Symbol('the file was there');

async function archive({ database, actor }: Doing, { before, to, remove = false }: Given<typeof INPUT>) {
  checkArchiveEnd(before);
  const earlier = await readArchive(to, before);
  if (earlier !== undefined && !remove) refuse('path_taken', { path: to });
  const archived = earlier ?? (await writeArchive(database, to, before));
  const { transactions, journalEntries, sha256 } = archived;
  const what = `${to}: ${transactions} transactions, ${journalEntries} journal entries, before ${new Date(before).toISOString()}, sha256 ${sha256}`;
  if (earlier === undefined) await journal(database, { actor, action: 'archive.written', detail: what });
  const removed = remove ? await removeArchived(database, to) : 0;
  if (remove)
    await journal(database, {
      actor,
      action: 'archive.removed',
      detail: `${removed} transactions of ${what}`,
    });
  return { file: to, ...archived, removed, [WAS_THERE]: earlier !== undefined };
}

/** The file appears when it is whole. Its last line says what it holds. */
async function writeArchive(database: Database, path: string, beforeMs: number): Promise<Archive> {
  const hash = createHash('sha256');
  const { result } = await writeWhole(path, 'refuse', async (append) => {
    const appendLines = async (lines: readonly object[]) => {
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      hash.update(text);
      await append(text);
    };
    await appendLines([{ kind: 'archive', format: 1, before: new Date(beforeMs).toISOString() }]);
    let [transactions, journalEntries] = [0, 0];
    for await (const page of finishedTransactions(database, beforeMs)) {
      await appendLines(page.map((row) => ({ kind: 'transaction', ...row })));
      transactions += page.length;
    }
    for await (const page of journalBefore(database, beforeMs)) {
      await appendLines(page.map((row) => ({ kind: 'journal', ...row })));
      journalEntries += page.length;
    }
    const archive: Archive = { transactions, journalEntries, sha256: hash.digest('hex') };
    await append(`${JSON.stringify({ kind: 'end', ...archive })}\n`);
    return archive;
  });
  return result;
}

/** Undefined where there is none yet. One that was changed, is cut short, or is another is refused. */
async function readArchive(path: string, beforeMs: number): Promise<Archive | undefined> {
  const hash = createHash('sha256');
  let last: string | undefined;
  let first: string | undefined;
  try {
    for await (const line of linesOf(path)) {
      if (last !== undefined) hash.update(`${last}\n`);
      first ??= line;
      last = line;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return unreadable(path)(error as NodeJS.ErrnoException);
  }
  const [head, end] = [parsed(first), parsed(last)];
  // guard(archive: what is changed later is not removed): || end.sha256 !== hash.digest('hex') ⇒
  if (end?.kind !== 'end' || end.sha256 !== hash.digest('hex')) refuse('archive_damaged', { path });
  if (head?.kind !== 'archive' || Date.parse(String(head.before)) !== beforeMs)
    refuse('path_taken', { path });
  const { transactions, journalEntries, sha256 } = end as unknown as Archive;
  return { transactions, journalEntries, sha256 };
}

async function removeArchived(database: Database, path: string): Promise<number> {
  let removed = 0;
  let piece: ArchivedTransaction[] = [];
  for await (const line of linesOf(path)) {
    const row = parsed(line);
    if (row?.kind === 'transaction') piece.push(row as unknown as ArchivedTransaction);
    if (piece.length < PIECE) continue;
    removed += await stripArchived(database, piece);
    piece = [];
  }
  return removed + (await stripArchived(database, piece));
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const handle = await open(path, 'r');
  try {
    yield* handle.readLines();
  } finally {
    await handle.close();
  }
}

function parsed(line: string | undefined): Record<string, unknown> | undefined {
  try {
    return line === undefined ? undefined : JSON.parse(line);
  } catch {
    return undefined;
  }
}

export const ARCHIVE = {
  name: 'archive',
  tasks: [
    task({
      name: 'archive',
      help: 'write old, finished transactions and old journal entries to a file of JSON lines, while the gateway serves',
      role: 'administrator',
      scope: 'installation',
      fresh: true,
      byAccount: true,
      input: INPUT,
      run: archive,
      says: ({ file, transactions, journalEntries, removed, [WAS_THERE]: wasThere }, { remove }) => {
        const written = `${wasThere ? 'Read' : 'Written'}: ${transactions} transactions and ${journalEntries} journal entries, ${file}.`;
        return remove ? `${written} ${removed} transactions were taken out of the database.` : written;
      },
    }),
  ],
} as const;
