// Files that grow while a command works. None replaces another, and nobody but the operator reads them.
import { rmSync } from 'node:fs';
import { type FileHandle, link, lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
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

/** The file appears when it is whole. Returns what processes that were killed had left of it, and what is removed now. */
export async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>): Promise<string[]> {
  // Nobody should wait for the end to hear it.
  if (await exists(path)) refuse('path_taken', { path });
  const removed = await removeLeftParts(path);
  const part = `${path}.${process.pid}.part`;
  const handle = await openNew(part, path);
  const stopWatching = removeOnSignal(part);
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
    stopWatching();
  }
  return removed;
}

/** A part whose process is alive is being written, and stays. */
async function removeLeftParts(path: string): Promise<string[]> {
  const folder = dirname(path);
  const beginning = `${basename(path)}.`;
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => {
    const [, pid] = (name.startsWith(beginning) && PART.exec(name.slice(beginning.length))) || [];
    return pid !== undefined && !isAlive(Number(pid));
  });
  const paths = left.map((name) => join(folder, name));
  for (const each of paths) await rm(each, { force: true });
  return paths;
}

const PART = /^(\d+)\.part$/;

/** Another process: in a container they have the same number one after the other. */
function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The process ends by the signal all the same. */
function removeOnSignal(part: string): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    rmSync(part, { force: true });
    stop();
    process.kill(process.pid, signal);
  };
  const stop = () => {
    for (const signal of ENDING_SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of ENDING_SIGNALS) process.on(signal, onSignal);
  return stop;
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
