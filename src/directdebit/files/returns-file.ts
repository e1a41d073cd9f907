// Importing a bank's returns file: all of it or nothing, line by line in bounded memory, safe to break off and to repeat.
import { type FileHandle, open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { journal } from '../../journal/journal.js';
import type { Database } from '../../postgres/database.js';
import { type DifferingLine, Refusal, refuse } from '../../values/refusal.js';
import { sydneyDate } from '../../values/time.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import {
  type Declined,
  type Matched,
  matchReturns,
  type NoMatch,
  type Return,
  takeReturns,
} from '../returns.js';
import {
  type FileTotals,
  LINE_LENGTH,
  NO_ITEMS,
  parseReturnedItem,
  parseTrailer,
  type ReturnedItem,
  withItem,
} from './aba-line.js';
import { parseLodgementReference } from './lodgement-reference.js';

export interface ImportOptions {
  /** Check and seal outcomes. */
  readonly keys: DataKeys;
  readonly nowMs: number;
  readonly actor: string;
  /** Where the bank's file is. */
  readonly path: string;
  readonly progress: (lines: number) => void;
}

/** A line that changed nothing, and why. */
export interface Unmatched {
  readonly line: number;
  readonly lodgementReference: string;
  readonly reason: NoMatch;
}

export interface ImportResult {
  /** Returned items in the file. */
  readonly items: number;
  /** Transactions that are declined now. */
  readonly returned: number;
  /** Of these, how many were approved before. */
  readonly late: number;
  /** Items that had been returned before: by an earlier import, one at the same time, or an earlier line. */
  readonly returnedAlready: number;
  readonly unmatched: readonly Unmatched[];
  /** Late returns of purchases that had been refunded, wholly or in part: the merchant has paid twice. */
  readonly refunded: readonly number[];
}

interface Line extends Matched {
  readonly line: number;
}

const BATCH = 500;
/** How many wrong lines a refusal names. */
const NAMED = 10;
/** What of a line makes the whole file one that is not to be trusted. */
const DISAGREEING: readonly NoMatch[] = ['details differ', 'returned with another code'];

/** Reads the file twice: only if everything in it is right, anything is imported. */
export async function importReturns(database: Database, options: ImportOptions): Promise<ImportResult> {
  const { path } = options;
  try {
    const file = await open(path);
    return await importFrom(database, file, options).finally(() => file.close());
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException;
    throw syscall === undefined ? error : new Refusal('path_not_readable', { path, reason: String(code) });
  }
}

async function importFrom(
  database: Database,
  file: FileHandle,
  options: ImportOptions,
): Promise<ImportResult> {
  const { path } = options;
  const before = await file.stat();
  if (!before.isFile() && !before.isDirectory()) refuse('returns_not_readable_twice', { path });
  await check(database, file, options);
  const after = await file.stat();
  if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
    refuse('returns_changed_meanwhile', { path });
  }
  return take(database, file, options);
}

/** Changes nothing. */
async function check(database: Database, file: FileHandle, options: ImportOptions): Promise<void> {
  const today = sydneyDate(options.nowMs);
  const named: DifferingLine[] = [];
  let count = 0;
  for await (const lines of batches(file, options)) {
    for (const [index, match] of (await matchReturns(database, options.keys, lines, today)).entries()) {
      if (typeof match === 'object' || !DISAGREEING.includes(match)) continue;
      const { line, item } = lines[index] as Line;
      count += 1;
      const { lodgementReference } = item;
      if (count <= NAMED) named.push({ line, lodgementReference, reason: match });
    }
  }
  if (count > 0) refuse('returns_differ', { path: options.path, lines: named, more: count - named.length });
}

async function take(database: Database, file: FileHandle, options: ImportOptions): Promise<ImportResult> {
  const unmatched: Unmatched[] = [];
  const declined: Pick<Declined, 'audit' | 'late' | 'refundedCents'>[] = [];
  let items = 0;
  let returnedAlready = 0;
  for await (const lines of batches(file, options)) {
    items += lines.length;
    const matches = await matchReturns(database, options.keys, lines, sydneyDate(options.nowMs));
    const returns: Return[] = [];
    for (const [index, match] of matches.entries()) {
      const { line, item } = lines[index] as Line;
      if (typeof match === 'object') returns.push(match);
      else if (match === 'returned already') returnedAlready += 1;
      else unmatched.push({ line, lodgementReference: item.lodgementReference, reason: match });
    }
    const taken = await takeReturns(database, options.keys, returns, options);
    for (const { audit, late, refundedCents } of taken) declined.push({ audit, late, refundedCents });
    // Listed twice, or returned by another import since they were looked up.
    returnedAlready += returns.length - taken.length;
    options.progress(lines.at(-1)?.line ?? 0);
  }

  const late = declined.filter((one) => one.late).length;
  await journal(database, {
    actor: options.actor,
    action: 'directdebit.returns_imported',
    detail: `${declined.length} returned, ${late} of them late, ${returnedAlready} before, ${unmatched.length} unmatched`,
  });
  return {
    items,
    returned: declined.length,
    late,
    returnedAlready,
    unmatched,
    refunded: declined.filter(({ refundedCents }) => refundedCents > 0).map(({ audit }) => audit),
  };
}

async function* batches(file: FileHandle, options: ImportOptions): AsyncGenerator<Line[]> {
  let batch: Line[] = [];
  for await (const { line, item } of returnedItems(file, options)) {
    batch.push({ line, item, lodged: parseLodgementReference(item.lodgementReference) });
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** The returned items of a file that is one, and whole: every line is read, and trailers speak of what stands before them. */
async function* returnedItems(
  file: FileHandle,
  { path }: ImportOptions,
): AsyncGenerator<{ readonly line: number; readonly item: ReturnedItem }> {
  const input = file.createReadStream({ encoding: 'latin1', start: 0, autoClose: false });
  let counted: FileTotals = NO_ITEMS;
  let closed = false;
  let line = 0;
  for await (const read of createInterface({ input })) {
    line += 1;
    const text = read.padEnd(LINE_LENGTH);
    if (/^ *$/.test(text)) continue;
    const item = parseReturnedItem(text);
    const trailer = parseTrailer(text);
    if (item !== undefined) {
      counted = withItem(counted, item);
      closed = false;
      yield { line, item };
    } else if (trailer !== undefined) {
      if (!isDeepStrictEqual(trailer, counted)) refuse('returns_cut_short', { path });
      counted = NO_ITEMS;
      closed = true;
    } else if (!/^0/.test(text) || counted !== NO_ITEMS) {
      refuse('returns_line_unreadable', { path, line });
    }
  }
  if (!closed) refuse('returns_cut_short', { path });
}
