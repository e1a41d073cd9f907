// `tollgate archive`: old transactions and journal entries into a file, and what only the file needs to keep out of the database.
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Command } from 'commander';
import {
  type ArchivedTransaction,
  checkArchiveEnd,
  finishedTransactions,
  journalArchive,
  journalBefore,
  stripArchived,
} from '../../payments/archive.js';
import type { Database } from '../../postgres/database.js';
import { refuse } from '../../values/refusal.js';
import { unreadable, writeWhole } from '../../values/whole-file.js';
import { from } from '../arguments.js';
import { operate } from '../operator.js';
import { printing } from '../output.js';

interface Archive {
  readonly transactions: number;
  readonly journalEntries: number;
  /** Of everything before the last line. */
  readonly sha256: string;
}

const PIECE = 200;

export function addArchiveCommand(program: Command): void {
  printing(
    program
      .command('archive')
      .description(
        'write old, finished transactions and old journal entries to a file of JSON lines, while the gateway serves',
      )
      .requiredOption('--before <day>', 'what was made before this day, or instant', from)
      .requiredOption(
        '--to <file>',
        'the file; one that is there must be this very archive, and is only read',
      )
      .option(
        '--remove',
        'then take out of the database what look-ups can do without; can be interrupted and run again',
      ),
    ({ before, to, remove = false }: { before: number; to: string; remove?: boolean }) =>
      operate(async (database, operator) => {
        checkArchiveEnd(before);
        const earlier = await readArchive(to, before);
        if (earlier !== undefined && !remove) refuse('path_taken', { path: to });
        const archive = earlier ?? (await writeArchive(database, to, before));
        const { transactions, journalEntries, sha256 } = archive;
        const what = `${to}: ${transactions} transactions, ${journalEntries} journal entries, before ${new Date(before).toISOString()}, sha256 ${sha256}`;
        if (earlier === undefined) await journalArchive(database, operator, 'archive.written', what);
        const removed = remove ? await removeArchived(database, to) : 0;
        if (remove)
          await journalArchive(database, operator, 'archive.removed', `${removed} transactions of ${what}`);
        const written = `${earlier === undefined ? 'Written' : 'Read'}: ${transactions} transactions and ${journalEntries} journal entries, ${to}.`;
        return {
          value: { file: to, ...archive, removed },
          sentence: remove ? `${written} ${removed} transactions were taken out of the database.` : written,
        };
      }),
  );
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
