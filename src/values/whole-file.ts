// Files that appear whole or not at all. A file is written under a temporary name, synced to disk and then renamed; a failed write leaves
// nothing. Only the owner can read it. Also turns disk errors into refusals.
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, createReadStream, openSync, rmSync } from 'node:fs';
import { type FileHandle, link, lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Refusal, refuse } from './refusal.js';

/**
 * What to do if the file exists. `refuse`: leave it and refuse the command, before any work if possible. `same`: accept equal content,
 * refuse other content. `keep`: leave it, and succeed. `replace`: replace it.
 */
export type Existing = 'refuse' | 'same' | 'keep' | 'replace';

export type Append = (piece: string | Uint8Array) => Promise<void>;

/** For these, the next writer removes temporary files that a killed process left. The gateway's own small files are not searched for. */
const SEARCHED: readonly Existing[] = ['refuse', 'same'];

export interface Written<Result> {
  readonly result: Result;
  /** Temporary files of killed processes that were removed. */
  readonly removed: readonly string[];
}

/** If `write` returns undefined, no file appears. */
export async function writeWhole<Result>(
  path: string,
  existing: Existing,
  write: (append: Append) => Promise<Result>,
): Promise<Written<Result>> {
  // Refuses now rather than after all the work.
  if (existing === 'refuse' && (await exists(path))) refuse('path_taken', { path });
  const removed = SEARCHED.includes(existing) ? await removeAbandonedParts(path) : [];
  // Two writers may write the same file at once, even in one process.
  // guard(whole files: a file appears when it is whole): ` ⇒ existing === 'refuse' ? path : `
  const part = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.part`;
  const handle = await onDisk(path, made(part));
  try {
    const result = await write((piece) => onDisk(path, handle.appendFile(piece)));
    if (result !== undefined) await onDisk(path, appear(handle, part, path, existing));
    return { result, removed };
  } finally {
    await handle.close();
    await rm(part, { force: true });
    end(part);
  }
}

/** Writes a small text file. */
export async function writeText(path: string, existing: Existing, text: string): Promise<void> {
  await writeWhole(path, existing, async (append) => {
    await append(text);
    return path;
  });
}

/** Creates the file and registers it in one step: a signal finds both or neither. */
async function made(part: string): Promise<FileHandle> {
  // First: a signal that comes as soon as the file is there must find it.
  begin(part);
  try {
    closeSync(openSync(part, 'wx', 0o600));
    return await open(part, 'r+');
  } catch (error) {
    rmSync(part, { force: true });
    end(part);
    throw error;
  }
}

async function appear(handle: FileHandle, part: string, path: string, existing: Existing): Promise<void> {
  await handle.sync();
  if (existing === 'replace') await rename(part, path);
  else if (!(await linked(part, path))) {
    if (existing === 'refuse' || (existing === 'same' && !(await sameContent(part, path))))
      refuse('path_taken', { path });
  }
  // Removed before success is reported: the caller does not come back for it.
  await rm(part, { force: true });
  await syncFolder(dirname(path));
}

/** Gives the finished file its name. False if the name is taken, perhaps since this instant. */
async function linked(part: string, path: string): Promise<boolean> {
  try {
    await link(part, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || (await exists(path))) return false;
    // The file system has no hard links.
    await rename(part, path);
  }
  return true;
}

/** Turns disk errors into refusals, which the operator can act on. */
export async function onDisk<Result>(path: string, work: Promise<Result>): Promise<Result> {
  return work.catch((error: NodeJS.ErrnoException) => {
    if (error instanceof Refusal || error.syscall === undefined) throw error;
    if (error.code === 'EEXIST') refuse('path_taken', { path });
    return refuse('path_not_writable', { path, reason: error.code ?? error.message });
  });
}

/** A temporary file whose process is alive is still being written, and stays. */
async function removeAbandonedParts(path: string): Promise<string[]> {
  const folder = dirname(path);
  const beginning = `${basename(path)}.`;
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => {
    const [, pid] = (name.startsWith(beginning) && PART.exec(name.slice(beginning.length))) || [];
    return pid !== undefined && !isAlive(Number(pid), join(folder, name));
  });
  const paths = left.map((name) => join(folder, name));
  for (const each of paths) await rm(each, { force: true });
  return paths;
}

const PART = /^(\d+)(?:-[0-9a-f]+)?\.part$/;

/** In a container, one process after another gets the same process ID. */
function isAlive(pid: number, part: string): boolean {
  if (pid === process.pid) return UNDER_WAY.has(part);
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const UNDER_WAY = new Set<string>();
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function begin(part: string): void {
  if (UNDER_WAY.size === 0) {
    for (const signal of ENDING_SIGNALS) process.on(signal, onSignal);
    process.on('exit', removeParts);
  }
  UNDER_WAY.add(part);
}

function end(part: string): void {
  UNDER_WAY.delete(part);
  if (UNDER_WAY.size === 0) stopWatching();
}

function stopWatching(): void {
  for (const signal of ENDING_SIGNALS) process.off(signal, onSignal);
  process.off('exit', removeParts);
}

/** The signal still ends the process. A gateway listens to signals too, and stops in its own way. */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  removeParts();
  stopWatching();
  process.kill(process.pid, signal);
}

function removeParts(): void {
  // guard(whole files: what is interrupted leaves nothing): for (const part of UNDER_WAY) rmSync(part, { force: true }); ⇒
  for (const part of UNDER_WAY) rmSync(part, { force: true });
}

/** Makes creations, renames and removals in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

export function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** For a file that the operator named and that cannot be read: `open(path).catch(unreadable(path))`. */
export function unreadable(path: string): (error: NodeJS.ErrnoException) => never {
  return ({ code, message }) => refuse('path_not_readable', { path, reason: code ?? message });
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
