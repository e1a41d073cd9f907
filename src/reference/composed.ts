// Where the build leaves the documents about the interface.
import type { DocumentName, ServedDocument } from '../http/pages.js';

/** Beside the compiled modules, whether it is one of those that asks or the whole program in one. */
const FOLDER = new URL('../reference/', import.meta.url);

export const COMPOSED: Readonly<Record<DocumentName, URL>> = {
  openApi: new URL('openapi.json', FOLDER),
  reference: new URL('reference.html', FOLDER),
  style: new URL('reference.css', FOLDER),
  script: new URL('reference.js', FOLDER),
};

/** The page's script, as the build has bundled it: the sources are of no use to a browser. */
export const SCRIPT = new URL('../../dist/reference/script.js', import.meta.url);

const ENDINGS: Readonly<Record<keyof ServedDocument, string>> = { plain: '', br: '.br', gzip: '.gz' };

export function formOf({ href }: URL, form: keyof ServedDocument): URL {
  return new URL(href + ENDINGS[form]);
}
