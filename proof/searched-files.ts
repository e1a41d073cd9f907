// The search for card numbers in every file of some folders.
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Secrets } from './hostile-secrets.js';
import { SecretBytes } from './secret-bytes.js';

export async function filesWith(folders: readonly string[], wanted: Secrets): Promise<string[]> {
  const search = new SecretBytes(wanted);
  const found: string[] = [];
  for (const root of folders) {
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      // A file that the server removed meanwhile holds nothing.
      const content = await readFile(path).catch(() => Buffer.alloc(0));
      for (const { what, form } of search.find(content))
        found.push(`${what} as ${form} in ${relative(root, path)}`);
    }
  }
  return found;
}
