// The reference page at /docs: one document without scripts that asks no other host for anything.
import { STATUS_CODES } from 'node:http';
import { FAULTS } from '../values/faults.js';
import { AMOUNT_PATTERN } from '../values/money.js';
import { CORRELATION_ID_PATTERN, RESTRICTED_PATTERN } from '../values/text.js';
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter, OpenApiResponse } from './openapi.js';
import { REFERENCE_PAGE_STYLE } from './reference-page-style.js';

/** Text that is HTML already. Whatever is not one of these is escaped. */
class Html {
  constructor(readonly text: string) {}
}
type Part = string | number | Html | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(escaped).join('');
  return String(part).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.reduce((whole, text, index) => whole + escaped(parts[index - 1] ?? '') + text));
}

function joined(parts: readonly Part[], separator: string): Html {
  return new Html(parts.map(escaped).join(escaped(separator)));
}

/** Backticks are the only mark-up that descriptions use. */
function prose(text = ''): Part {
  return text.split('`').map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : piece));
}

/** As much of JSON Schema as the interface uses. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly [limit: `${'min' | 'max'}${'Length' | 'Items' | 'Properties' | 'imum'}`]: number | undefined;
}

interface Field {
  /** Everything up to the name: `transaction.amount_details.` for example. */
  readonly prefix: string;
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

/** The shared schemas: by name, and by what they say, for one that stands inside another is written out there. */
type Objects = readonly { readonly name: string; readonly schema: Schema; readonly json: string }[];

export function referencePage(document: OpenApiDocument): string {
  const base = document.servers[0]?.url ?? '';
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = Map.groupBy(entries, ({ operation }) => operation.tags[0] ?? 'Other');
  return '';
}
