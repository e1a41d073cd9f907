// The search for card numbers in every file of some folders.
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Secrets } from './hostile-secrets.js';
import { SecretBytes } from './secret-bytes.js';

/** `innocent`: virtual PANs in which the digits of a card stand by chance, as they do in one of some millions. */
export async function filesWith(
  folders: readonly string[],
  wanted: Secrets,
  innocent: ReadonlySet<string> = new Set(),
): Promise<string[]> {
  const search = new SecretBytes(wanted);
  const found: string[] = [];
  for (const root of folders) {
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      // A file that the server removed meanwhile holds nothing.
      const content = await readFile(path).catch(() => Buffer.alloc(0));
      for (const { what, form, at } of search.find(content))
        if (!isInside(innocent, content, at)) found.push(`${what} as ${form} in ${relative(root, path)}`);
    }
  }
  return found;
}

const DIGITS_OF_PAN = 16;

function isInside(pans: ReadonlySet<string>, bytes: Buffer, at: number): boolean {
  for (let start = Math.max(at - DIGITS_OF_PAN, 0); start <= at; start += 1)
    if (pans.has(bytes.toString('latin1', start, start + DIGITS_OF_PAN))) return true;
  return false;
}
