// The files of the reference page: templates, texts and style sheet.
import { readFileSync } from 'node:fs';
import { Html } from '../values/html.js';

const FOLDER = new URL('../reference/template/', import.meta.url);

export interface Templates {
  readonly page: Html;
  readonly introduction: Html;
  readonly operation: Html;
  readonly style: Html;
}

export function readTemplates(): Templates {
  return {
    page: read('page.html'),
    introduction: read('introduction.html'),
    operation: read('operation.html'),
    style: read('style.css'),
  };
}

/** Without the final line end, so that it can be inserted anywhere. */
function read(name: string): Html {
  return new Html(readFileSync(new URL(name, FOLDER), 'utf8').trimEnd());
}
