// Files that grow while a command works. None replaces another, and nobody but the operator reads them.
import { type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { csvField } from '../values/csv.js';
import { refuse } from '../values/refusal.js';

/** Lines of comma-separated values that are there as soon as they are written. */
export class LineFile {
  private constructor(private readonly handle: FileHandle) {}

  /** Undefined where none is wanted. */
  static async open(path: string | undefined, names: readonly string[]): Promise<LineFile | undefined> {
    if (path === undefined) return undefined;
    const file = new LineFile(await openNew(path, path));
    await file.append([names]);
    return file;
  }

  async append(lines: readonly (readonly unknown[])[]): Promise<void> {
    await this.handle.appendFile(lines.map((line) => `${line.map(csvField).join(',')}\r\n`).join(''));
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

/** The file appears when it is whole. */
export async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  // Nobody should wait for the end to hear it.
  if (await exists(path)) refuse('path_taken', { path });
  const part = `${path}.${process.pid}.part`;
  const handle = await openNew(part, path);
  try {
    for await (const piece of bytes) await handle.writeFile(piece);
    await handle.sync();
    await link(part, path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') refuse('path_taken', { path });
      // A file system without hard links.
      await rename(part, path);
    });
  } finally {
    await handle.close();
    await rm(part, { force: true });
  }
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function openNew(path: string, shown: string): Promise<FileHandle> {
  return open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) =>
    error.code === 'EEXIST'
      ? refuse('path_taken', { path: shown })
      : refuse('path_not_writable', { path: shown, reason: error.code ?? error.message }),
  );
}
