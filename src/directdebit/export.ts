// Writing a direct-entry file to the operator's disk. It appears there whole or not at all, and once it is there it is
// never replaced by another.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Refusal, refuse } from '../values/refusal.js';
import { settlementDay } from '../values/settlement.js';
import { headerLine, itemLine, NO_ITEMS, trailerLine, withItem } from './aba-line.js';
import type { DirectEntry } from './direct-entry.js';
import type { DirectDebitFile, DirectDebitFiles } from './files.js';

export interface ExportOptions {
  readonly out: string;
  /** A file that was made before; absent, a new one of what waits. */
  readonly number?: number | undefined;
  readonly nowMs: number;
  readonly actor: string;
  readonly progress: (done: number, total: number) => void;
}

export interface ExportResult {
  readonly file: DirectDebitFile;
  /** Items that did not fit into it, and wait for the next. */
  readonly left: number;
}

const LINE_END = '\r\n';

/** Undefined where nothing waits. */
export async function exportFile(
  files: DirectDebitFiles,
  entry: DirectEntry,
  options: ExportOptions,
): Promise<ExportResult | undefined> {
  try {
    // A file that another process is just writing looks like one that was never written: the bank would get it twice.
    return await files.exclusively(entry, () => exportAlone(files, entry, options));
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException;
    throw syscall === undefined
      ? error
      : new Refusal('path_not_writable', { path: options.out, reason: String(code) });
  }
}

async function exportAlone(
  files: DirectDebitFiles,
  entry: DirectEntry,
  options: ExportOptions,
): Promise<ExportResult | undefined> {
  const { out, nowMs, progress } = options;
  const part = `${out}.${entry.merchant}.part`;
  // What a killed process left behind.
  await rm(part, { force: true });
  // Opened before anything is decided: what is put into a file now can no longer be voided. Account numbers stand in it
  // in clear, for the bank to read: nobody else needs to.
  const handle = await open(part, 'wx', 0o600);
  try {
    const made = await decide(files, entry, options);
    if (made === undefined) return undefined;
    await writeLines(files, made.file, handle, progress);
    await handle.sync();
    // A file of the name that is not the same file may still have to go to the bank.
    if (!(await appears(part, out)) && !(await sameContent(part, out))) refuse('path_taken', { path: out });
    // Before the database is told: once it knows that the file is written, nobody comes back to remove what a killed process has left.
    await rm(part, { force: true });
    await syncFolder(dirname(out));
    await files.written(entry, made.file, nowMs);
    return made;
  } finally {
    await handle.close();
    await rm(part, { force: true });
  }
}

/** Which file to write: one that was asked for, one that was left behind, or a new one. */
async function decide(
  files: DirectDebitFiles,
  entry: DirectEntry,
  { out, number, nowMs, actor }: ExportOptions,
): Promise<ExportResult | undefined> {
  const again = number === undefined ? await files.unwritten(entry) : await files.find(entry, number);
  if (again !== undefined) {
    await files.writtenAgain(entry, again, actor);
    return { file: again, left: 0 };
  }
  if (number !== undefined) refuse('file_not_found', { merchant: entry.merchant, number });
  if (await exists(out)) refuse('path_taken', { path: out });
  const making = { processingDay: settlementDay(nowMs), atMs: nowMs, toBeWritten: true, actor };
  // First what the merchant's own bank has taken in, also if the simulated one took its place since.
  const real = await files.make(entry, { ...making, simulated: false });
  if (real !== undefined || !entry.simulated) return real;
  return files.make(entry, { ...making, simulated: true });
}

/** Gives the finished file its name; false where the name is taken, by a file that may have come this instant. */
async function appears(part: string, out: string): Promise<boolean> {
  try {
    await link(part, out);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || (await exists(out))) return false;
    // A file system without hard links.
    await rename(part, out);
    return true;
  }
}

async function writeLines(
  files: DirectDebitFiles,
  file: DirectDebitFile,
  handle: FileHandle,
  progress: ExportOptions['progress'],
): Promise<void> {
  const { settings, processingDay, items: total } = file;
  await handle.write(headerLine(settings, processingDay) + LINE_END);
  let counted = NO_ITEMS;
  for await (const page of files.items(file)) {
    await handle.write(page.map((item) => itemLine(item, settings) + LINE_END).join(''));
    for (const item of page) counted = withItem(counted, item);
    progress(counted.items, total);
  }
  const { items, debitCents, creditCents } = file;
  if (counted.items !== items || counted.debitCents !== debitCents || counted.creditCents !== creditCents) {
    throw new Error(`file ${file.number} does not have the items that it was made with`);
  }
  await handle.write(trailerLine(counted) + LINE_END);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function sameContent(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([digestOf(one), digestOf(other)]);
  return first === second;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}
