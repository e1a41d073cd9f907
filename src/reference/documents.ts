// The documents about the API that the gateway serves: one for machines, one for people.
import { readFile } from 'node:fs/promises';
import type { DocumentName, Documents, ServedDocument } from '../http/pages.js';
import { COMPOSED, formOf } from './composed.js';

let documents: Promise<Documents> | undefined;

export function referenceDocuments(): Promise<Documents> {
  documents ??= readComposed();
  return documents;
}

async function readComposed(): Promise<Documents> {
  try {
    const names = Object.keys(COMPOSED) as DocumentName[];
    const read = await Promise.all(
      names.map(async (name) => [name, await readForms(COMPOSED[name])] as const),
    );
    return Object.fromEntries(read) as Record<DocumentName, ServedDocument>;
  } catch {
    // Running from the sources, without a build.
    return (await import('./compose.js')).composeDocuments();
  }
}

async function readForms(url: URL): Promise<ServedDocument> {
  const [plain, br, gzip] = await Promise.all([
    readFile(formOf(url, 'plain')),
    readFile(formOf(url, 'br')),
    readFile(formOf(url, 'gzip')),
  ]);
  return { plain, br, gzip };
}
