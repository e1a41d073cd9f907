// Composes the documents about the interface. The build does it once (`npm run build`), since it takes a tenth of the time in
// which a gateway starts.
import { writeFile } from 'node:fs/promises';
import { openApiDocument } from '../api/openapi.js';
import { OPERATIONS } from '../api/operations.js';
import { COMPOSED, type Documents } from './composed.js';
import { referencePage } from './page.js';

export function composeDocuments(): Documents {
  const document = openApiDocument(OPERATIONS);
  return {
    openApi: Buffer.from(JSON.stringify(document)),
    reference: Buffer.from(referencePage(document)),
  };
}

export async function writeDocuments(): Promise<void> {
  const { openApi, reference } = composeDocuments();
  await Promise.all([writeFile(COMPOSED.openApi, openApi), writeFile(COMPOSED.reference, reference)]);
}
