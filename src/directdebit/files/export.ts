// Writing a direct-entry file to the operator's disk. It appears there whole or not at all, and once it is there it is
// never replaced by another.
import { refuse } from '../../values/refusal.js';
import { settlementDay } from '../../values/time.js';
import { type Append, exists, writeWhole } from '../../values/whole-file.js';
import type { DirectEntry } from '../direct-entry.js';
import { headerLine, itemLine, NO_ITEMS, trailerLine, withItem } from './aba-line.js';
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
  // A file that another process is just writing looks like one that was never written: the bank would get it twice.
  return files.exclusively(entry, () => exportAlone(files, entry, options));
}

async function exportAlone(
  files: DirectDebitFiles,
  entry: DirectEntry,
  options: ExportOptions,
): Promise<ExportResult | undefined> {
  const { out, nowMs, progress } = options;
  // It can be written before anything is decided: what is put into a file now can no longer be voided. A file of the name that is not
  // the same file may still have to go to the bank.
  const { result } = await writeWhole(out, 'same', async (append) => {
    const made = await decide(files, entry, options);
    if (made !== undefined) await writeLines(files, made.file, append, progress);
    return made;
  });
  if (result !== undefined) await files.written(entry, result.file, nowMs);
  return result;
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

async function writeLines(
  files: DirectDebitFiles,
  file: DirectDebitFile,
  append: Append,
  progress: ExportOptions['progress'],
): Promise<void> {
  const { settings, processingDay, items: total } = file;
  await append(headerLine(settings, processingDay) + LINE_END);
  let counted = NO_ITEMS;
  for await (const page of files.items(file)) {
    await append(page.map((item) => itemLine(item, settings) + LINE_END).join(''));
    for (const item of page) counted = withItem(counted, item);
    progress(counted.items, total);
  }
  const { items, debitCents, creditCents } = file;
  if (counted.items !== items || counted.debitCents !== debitCents || counted.creditCents !== creditCents) {
    throw new Error(`file ${file.number} does not have the items that it was made with`);
  }
  await append(trailerLine(counted) + LINE_END);
}
