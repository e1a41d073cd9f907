// The documents about the interface that the gateway serves: one for machines, one for people.
import { openApiDocument } from '../api/openapi.js';
import { OPERATIONS } from '../api/operations.js';
import { referencePage } from './page.js';

export function referenceDocuments(): { openApi: Buffer; reference: Buffer } {
  const document = openApiDocument(OPERATIONS);
  return {
    openApi: Buffer.from(JSON.stringify(document)),
    reference: Buffer.from(referencePage(document)),
  };
}
