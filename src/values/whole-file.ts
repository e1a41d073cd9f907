// Files that appear whole or not at all: written beside their name, on the disk itself before they get it, and removed where they come
// to nothing. Nobody but their owner reads them. And how a path reads that cannot be used.
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, createReadStream, openSync, rmSync } from 'node:fs';
import { type FileHandle, link, lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Refusal, refuse } from './refusal.js';

/**
 * What becomes of a file that has the name already. `refuse`: it stays, and the command is refused, at once if it can be seen at once.
 * `same`: the same if it has other content; otherwise all is well. `keep`: it stays, and all is well. `replace`: it is replaced.
 */
export type Existing = 'refuse' | 'same' | 'keep' | 'replace';

export type Append = (piece: string | Uint8Array) => Promise<void>;

/** What a process that was killed has left is removed by whoever writes the file again. Small files of the gateway's own are not searched for. */
const SEARCHED: readonly Existing[] = ['refuse', 'same'];

export interface Written<Result> {
  readonly result: Result;
  /** What processes that were killed had left of the file, and what is removed now. */
  readonly removed: readonly string[];
}

/** Without a result there is nothing to write, and no file appears. */
export async function writeWhole<Result>(
  path: string,
  existing: Existing,
  write: (append: Append) => Promise<Result>,
): Promise<Written<Result>> {
  // Nobody should wait for the end to hear it.
  if (existing === 'refuse' && (await exists(path))) refuse('path_taken', { path });
  const removed = SEARCHED.includes(existing) ? await removeLeftParts(path) : [];
  // Two may write the same file at once, also in one process.
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

/** A small file of one text. */
export async function writeText(path: string, existing: Existing, text: string): Promise<void> {
  await writeWhole(path, existing, async (append) => {
    await append(text);
    return path;
  });
}

/** Made and watched in one go: a signal finds both or neither. */
async function made(part: string): Promise<FileHandle> {
  closeSync(openSync(part, 'wx', 0o600));
  begin(part);
  return open(part, 'r+').catch((error: unknown) => {
    rmSync(part, { force: true });
    end(part);
    throw error;
  });
}

async function appear(handle: FileHandle, part: string, path: string, existing: Existing): Promise<void> {
  await handle.sync();
  if (existing === 'replace') await rename(part, path);
  else if (!(await linked(part, path))) {
    if (existing === 'refuse' || (existing === 'same' && !(await sameContent(part, path))))
      refuse('path_taken', { path });
  }
  // Whoever is told that the file is there does not come back to remove the part.
  await rm(part, { force: true });
  await syncFolder(dirname(path));
}

/** Gives the finished file its name; false where the name is taken, by a file that may have come this instant. */
async function linked(part: string, path: string): Promise<boolean> {
  try {
    await link(part, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || (await exists(path))) return false;
    // A file system without hard links.
    await rename(part, path);
  }
  return true;
}

/** What the disk refuses is for the operator to put right. */
export async function onDisk<Result>(path: string, work: Promise<Result>): Promise<Result> {
  return work.catch((error: NodeJS.ErrnoException) => {
    if (error instanceof Refusal || error.syscall === undefined) throw error;
    if (error.code === 'EEXIST') refuse('path_taken', { path });
    return refuse('path_not_writable', { path, reason: error.code ?? error.message });
  });
}

/** A part whose process is alive is being written, and stays. */
async function removeLeftParts(path: string): Promise<string[]> {
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

/** In a container processes have the same number one after the other. */
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

/** The process ends by the signal all the same. A gateway, which listens to it too, stops in its own way. */
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

/** What was made, renamed or removed in a folder stays so. */
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

/** For a file that an operator has named and that cannot be read: `open(path).catch(unreadable(path))`. */
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
