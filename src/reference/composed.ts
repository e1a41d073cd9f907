// Where the build stores the documents about the API.
import type { DocumentName, ServedDocument } from '../http/pages.js';

/** Next to the compiled modules, or to the bundled program. */
const FOLDER = new URL('../reference/', import.meta.url);

export const COMPOSED: Readonly<Record<DocumentName, URL>> = {
  openApi: new URL('openapi.json', FOLDER),
  reference: new URL('reference.html', FOLDER),
  style: new URL('reference.css', FOLDER),
  script: new URL('reference.js', FOLDER),
};

/** The page's script as bundled by the build; browsers cannot use the sources. */
export const SCRIPT = new URL('../../dist/reference/script.js', import.meta.url);

const ENDINGS: Readonly<Record<keyof ServedDocument, string>> = { plain: '', br: '.br', gzip: '.gz' };

export function formOf({ href }: URL, form: keyof ServedDocument): URL {
  return new URL(href + ENDINGS[form]);
}
