// The manifest of a backup: its files with checksums. It is written last, so a folder without a manifest is not a backup.
import { createHash } from 'node:crypto';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError } from '../error.js';
import { type Copied, writeDurably } from './durable-files.js';

export const MANIFEST = 'manifest.json';
export const FORMAT = 1;

export interface BackedUpFile extends Copied {
  /** Relative to the backup's folder, with slashes: `postgres/base/1/112`. */
  readonly path: string;
}

export interface Manifest {
  readonly format: number;
  /** The release of the gateway that made it. */
  readonly release: string;
  readonly postgres: number;
  readonly systemIdentifier: string;
  /** By the database's clock. The backup has everything committed before `began`, and nothing committed after `taken`. */
  readonly began: string;
  readonly taken: string;
  /** The range of the WAL to replay. */
  readonly fromLsn: string;
  readonly toLsn: string;
  /** The newest migration. */
  readonly schema: string;
  /** The name of the key-encryption key that the card data needs; null if nothing was encrypted yet. */
  readonly keyEncryptionKey: string | null;
  readonly withKey: boolean;
  readonly bytes: number;
  /** Including empty ones. */
  readonly folders: readonly string[];
  readonly files: readonly BackedUpFile[];
}

/** Returns the fingerprint, which identifies this backup. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<string> {
  const part = join(folder, `${MANIFEST}.part`);
  const { sha256 } = await writeDurably(part, Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`));
  await rename(part, join(folder, MANIFEST));
  return sha256;
}

export async function readManifest(folder: string): Promise<{ manifest: Manifest; fingerprint: string }> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new BackupError(
      error.code === 'ENOENT' || error.code === 'ENOTDIR'
        ? `${folder} holds no complete backup: it has no ${MANIFEST}, which is written last`
        : `the backup ${folder} cannot be read (${error.code ?? error.message})`,
    );
  });
  const fingerprint = createHash('sha256').update(text).digest('hex');
  return { manifest: parseManifest(text, folder), fingerprint };
}

function parseManifest(text: string, folder: string): Manifest {
  const damaged = new BackupError(`${join(folder, MANIFEST)} is damaged: this backup cannot be used`);
  let manifest: Manifest;
  try {
    manifest = JSON.parse(text) as Manifest;
  } catch {
    throw damaged;
  }
  if (manifest?.format !== FORMAT) {
    if (Number.isInteger(manifest?.format)) {
      throw new BackupError(`the backup ${folder} was made by a newer release: use that one`);
    }
    throw damaged;
  }
  const paths = [...(manifest.files ?? []).map(({ path }) => path), ...(manifest.folders ?? [])];
  // guard(restore: a manifest leads nowhere else): || !paths.every(isInside) ⇒
  if (paths.length === 0 || Number.isNaN(Date.parse(manifest.taken)) || !paths.every(isInside)) throw damaged;
  return manifest;
}

/** A changed manifest must not make the restore write files elsewhere. */
function isInside(path: unknown): boolean {
  return (
    typeof path === 'string' &&
    !path.includes('\\') &&
    !path.includes('\0') &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  );
}
