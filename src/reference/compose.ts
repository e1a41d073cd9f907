// Composes the documents about the API. The build does this once (`npm run build`): it takes a tenth of the gateway's start time, and
// compressing them takes longer.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { openApiDocument } from '../api/openapi/openapi.js';
import { OPERATIONS } from '../api/operations/operations.js';
import type { DocumentName, Documents, ServedDocument } from '../http/pages.js';
import { COMPOSED, formOf, SCRIPT } from './composed.js';
import { referencePage } from './page.js';
import { readTemplates } from './templates.js';

export function composeDocuments(): Documents {
  const document = openApiDocument(OPERATIONS);
  return {
    openApi: inEachForm(JSON.stringify(document)),
    reference: inEachForm(referencePage(document)),
    style: inEachForm(`${readTemplates().style.text}\n`),
    script: inEachForm(readFileSync(SCRIPT, 'utf8')),
  };
}

function inEachForm(text: string): ServedDocument {
  const plain = Buffer.from(text);
  return {
    plain,
    br: brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
    gzip: gzipSync(plain, { level: 9 }),
  };
}

export async function writeDocuments(): Promise<void> {
  const documents = Object.entries(composeDocuments()) as [DocumentName, ServedDocument][];
  await Promise.all(
    documents.flatMap(([name, forms]) =>
      (Object.keys(forms) as (keyof ServedDocument)[]).map((form) =>
        writeFile(formOf(COMPOSED[name], form), forms[form]),
      ),
    ),
  );
}
