// The documents about the interface that the gateway serves: one for machines, one for people.
import { readFile } from 'node:fs/promises';
import { COMPOSED, type Documents } from './composed.js';

let documents: Promise<Documents> | undefined;

export function referenceDocuments(): Promise<Documents> {
  documents ??= readComposed();
  return documents;
}

async function readComposed(): Promise<Documents> {
  try {
    const [openApi, reference] = await Promise.all([
      readFile(COMPOSED.openApi),
      readFile(COMPOSED.reference),
    ]);
    return { openApi, reference };
  } catch {
    // These are the sources, which nobody has built.
    return (await import('./compose.js')).composeDocuments();
  }
}
