// Files of comma-separated values, for spreadsheets and for programs. None replaces another, and nobody but the operator reads them.
import { type FileHandle, open } from 'node:fs/promises';
import { csvLine, csvLines } from '../values/csv.js';
import { outward } from '../values/snake-case.js';
import { onDisk, writeWhole } from '../values/whole-file.js';

/** Writes rows as they come, with a line of names first. The file appears when it is whole. */
export async function writeCsv(
  path: string,
  names: readonly string[],
  pages: AsyncIterable<readonly object[]>,
): Promise<number> {
  const { result } = await writeWhole(path, 'refuse', async (append) => {
    let written = 0;
    await append(csvLine(names));
    for await (const page of pages) {
      await append(
        csvLines(
          names,
          page.map((row) => outward(row) as Record<string, unknown>),
        ),
      );
      written += page.length;
    }
    return written;
  });
  return result;
}

/** Lines that are there as soon as they are written: what a command that is killed has done stands in them. */
export class LineFile {
  private constructor(private readonly handle: FileHandle) {}

  /** Undefined where none is wanted. */
  static async open(path: string | undefined, names: readonly string[]): Promise<LineFile | undefined> {
    if (path === undefined) return undefined;
    const file = new LineFile(await onDisk(path, open(path, 'wx', 0o600)));
    await file.append([names]);
    return file;
  }

  async append(lines: readonly (readonly unknown[])[]): Promise<void> {
    await this.handle.appendFile(lines.map((values) => csvLine(values)).join(''));
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
