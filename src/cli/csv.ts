// Files of comma-separated values, for spreadsheets and for programs.
import { link, open, rm } from 'node:fs/promises';
import { csvField } from '../values/csv.js';
import { refuse } from '../values/refusal.js';
import { outward } from './output.js';

/** Writes rows as they come, with a line of names first. The file appears when it is whole, and replaces no other. */
export async function writeCsv(
  path: string,
  names: readonly string[],
  pages: AsyncIterable<readonly object[]>,
): Promise<number> {
  const part = `${path}.${process.pid}.part`;
  const handle = await open(part, 'wx', 0o600).catch((error: NodeJS.ErrnoException) =>
    refuse('path_not_writable', { path, reason: error.code ?? error.message }),
  );
  let written = 0;
  try {
    await handle.appendFile(line(names));
    for await (const page of pages) {
      const rows = page.map(outward);
      await handle.appendFile(rows.map((row) => line(names.map((name) => row[name]))).join(''));
      written += rows.length;
    }
    await handle.sync();
    await link(part, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') refuse('path_taken', { path });
      throw error;
    });
    return written;
  } finally {
    await handle.close();
    await rm(part, { force: true });
  }
}

function line(values: readonly unknown[]): string {
  return `${values.map(csvField).join(',')}\r\n`;
}
