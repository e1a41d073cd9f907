// Describes the requirements of a JSON schema in words and tables.

import { patternInWords, rangeInWords } from '../api/forms.js';
import { Html, html, joined, type Part } from '../values/html.js';
import { prose, table } from './html.js';

type Limit = `${'min' | 'max'}${'Length' | 'Items' | 'Properties' | 'imum'}`;

/** The part of JSON Schema that the API uses. */
export interface Schema extends Readonly<Partial<Record<Limit, number>>> {
  readonly $ref?: string;
  readonly title?: string;
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
  readonly 'x-extensible-enum'?: readonly unknown[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
}

export interface Field {
  /** Everything before the name, such as `transaction.amount_details.`. */
  readonly prefix: string;
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

/** The schemas with a section of their own. */
export type Objects = readonly { readonly name: string; readonly schema: Schema }[];

const FORMATS: Readonly<Record<string, string>> = {
  'luhn-checked': 'must pass the Luhn check of card numbers',
  'card-expiry': 'must be a month and a year',
  'iso-4217': 'must be a currency of ISO 4217',
  'ip-address': 'must be an IP address',
  'no-card-number': 'must not contain a card number',
  'network-transaction-id': 'must not contain a card number, but for 15 digits',
  'instant-or-day': 'must be in the calendar',
  date: 'a date, such as `2026-11-15`',
  'date-time': 'a date and time with offset, such as `2026-11-15T11:07:18.123+11:00`',
};

/** The object that this schema refers to. */
export function sharedObject({ $ref }: Schema, objects: Objects): Objects[number] | undefined {
  return objects.find(({ name }) => $ref === `#/components/schemas/${name}`);
}

export function bodyTable(schema: Schema, objects: Objects): Html {
  if (sharedObject(schema, objects) !== undefined) return html`<p>${typeOf(schema, objects)}</p>`;
  return fieldTable(fieldsOf(schema, '', objects), objects);
}

export function fieldTable(fields: readonly Field[], objects: Objects): Html {
  const rows = fields.map(({ prefix, name, required, schema }) => [
    html`<code class="field"><span>${breakable(prefix)}</span>${breakable(name)}</code>
<span class="type">${typeOf(schema, objects)} · ${required ? html`<b>required</b>` : 'optional'}</span>`,
    [html`${prose(schema.description)} `, limits(schema)],
  ]);
  return table(['Field', 'Description'], rows, 'fields');
}

/** Lets a long path wrap after a dot or slash. */
export function breakable(path: string): Part {
  return path.split(/(?<=[./])/).map((step) => html`${step}<wbr>`);
}

/** The fields of a schema, each followed by its own fields. */
export function fieldsOf(schema: Schema, prefix: string, objects: Objects): Field[] {
  const { properties = {}, required = [], patternProperties = {}, additionalProperties } = schema;
  const named = Object.entries(properties).map(([name, value]) => ({
    name,
    value,
    required: required.includes(name),
  }));
  const keyed = [...Object.values(patternProperties), additionalProperties]
    .filter((value) => typeof value === 'object')
    .map((value) => ({ name: '{key}', value, required: false }));
  return [
    ...[...named, ...keyed].flatMap(({ value, ...field }) =>
      branch({ ...field, prefix, schema: value }, objects),
    ),
    // Whether a field of an alternative is required depends on the choice.
    ...alternatives(schema)
      .filter((alternative) => sharedObject(alternative, objects) === undefined)
      .flatMap((alternative) => fieldsOf({ ...alternative, required: [] }, prefix, objects)),
  ];
}

function branch(field: Field, objects: Objects): Field[] {
  const { prefix, name, schema } = field;
  if (sharedObject(schema, objects) !== undefined) return [field];
  const { items } = schema;
  if (items !== undefined) {
    return sharedObject(items, objects)
      ? [field]
      : [field, ...fieldsOf(items, `${prefix}${name}[].`, objects)];
  }
  const fields = fieldsOf(schema, `${prefix}${name}.`, objects);
  const [first, ...rest] = fields;
  // An object around a single field needs no row of its own.
  if (first !== undefined && isWrapper(schema))
    return [{ ...first, required: field.required && first.required }, ...rest];
  return [field, ...fields];
}

function isWrapper(schema: Schema): boolean {
  const { title, type, required, properties = {}, additionalProperties, ...others } = schema;
  const closed = typeof additionalProperties !== 'object' && Object.keys(others).length === 0;
  return closed && Object.keys(properties).length === 1;
}

function alternatives({ anyOf = [], oneOf = [] }: Schema): readonly Schema[] {
  return [...anyOf, ...oneOf];
}

export function typeOf(schema: Schema, objects: Objects): Html {
  const shared = sharedObject(schema, objects);
  if (shared !== undefined) return html`<a href="#object-${shared.name}">${shared.name}</a>`;
  const { items, type, enum: values = [schema.const] } = schema;
  if (items !== undefined) return html`array of ${typeOf(items, objects)}`;
  const choices = alternatives(schema).map((alternative) => typeOf(alternative, objects).text);
  if (choices.length > 0)
    return joined(
      [...new Set(choices)].map((text) => new Html(text)),
      ' or ',
    );
  if (schema.title !== undefined) return html`${schema.title}`;
  return joined([type ?? (values[0] === undefined ? 'any' : typeof values[0])].flat(), ' or ');
}

/** The rules for a value beyond its type. */
function limits(schema: Schema): Html {
  const words = [...limitsOf(schema), ...keyLimits(schema), ...choiceOfFields(schema)];
  return words.length === 0
    ? html``
    : html`<ul class="limits">${words.map((each) => html`<li>${prose(each)}</li>`)}</ul>`;
}

function limitsOf(schema: Schema): string[] {
  const { pattern, format, default: fallback, examples = [] } = schema;
  const said = [
    ...rangeInWords(schema.minLength, schema.maxLength, 'character'),
    ...rangeInWords(schema.minimum, schema.maximum, ''),
    ...rangeInWords(schema.minItems, schema.maxItems, 'item'),
    ...rangeInWords(schema.minProperties, schema.maxProperties, 'entry'),
    ...choices(schema),
    ...(pattern === undefined ? [] : [patternInWords(pattern) ?? `matches \`${pattern}\``]),
    ...(format === undefined ? [] : [FORMATS[format] ?? `format \`${format}\``]),
    ...(fallback === undefined ? [] : [`default ${literal(fallback)}`]),
    ...(examples[0] === undefined ? [] : [`for example ${literal(examples[0])}`]),
  ];
  // A date's pattern and format say the same.
  return [...new Set(said)];
}

function choices(schema: Schema): string[] {
  const constants = [schema, ...alternatives(schema)].map((each) => each.const);
  const values = [...(schema.enum ?? []), ...constants.filter((value) => value !== undefined)];
  const known = schema['x-extensible-enum'];
  if (known !== undefined) return [`one of ${known.map(literal).join(', ')}; new values may come`];
  if (values.length === 0) return [];
  return [`${values.length === 1 ? 'always' : 'one of'} ${values.map(literal).join(', ')}`];
}

function literal(value: unknown): string {
  return `\`${typeof value === 'string' && value !== '' ? value : JSON.stringify(value)}\``;
}

function keyLimits({ propertyNames }: Schema): string[] {
  return propertyNames === undefined ? [] : limitsOf(propertyNames).map((words) => `keys: ${words}`);
}

/** Alternatives are distinguished by their required fields. */
function choiceOfFields(schema: Schema): string[] {
  const sets = alternatives(schema).flatMap(({ required = [] }) => (required.length > 0 ? [required] : []));
  return sets.length < 2
    ? []
    : [`either ${sets.map((names) => names.map(literal).join(' and ')).join(', or ')}`];
}
