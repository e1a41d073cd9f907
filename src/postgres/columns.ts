// The columns of a batch: one record says what each column is called, what type it has and where an entry holds its value.
// A batch travels as one array for each column, cheap to write here and cheap to read there.

/** How one column travels: the SQL of its array, given its parameter, and the parameter's text. */
interface Column<Entry> {
  readonly array: (parameter: string) => string;
  readonly encode: (entries: readonly Entry[]) => string;
}

type Read<Entry, Value> = (entry: Entry) => Value;
type Optional<Value> = Value | null | undefined;

export interface Columns<Entry> {
  /** The arrays alone, for a function that takes them. */
  readonly arrays: string;
  /** For FROM and JOIN: the entries as rows, under the alias. */
  readonly rows: string;
  /** The same, with a column `place` that counts the entries from 1. */
  readonly places: string;
  /** The number of the last parameter. */
  readonly last: number;
  /** The parameters, in the order of the columns. */
  readonly encode: (entries: readonly Entry[]) => string[];
}

/** What the columns are read from. */
export type EntryOf<Batch> = Batch extends Columns<infer Entry> ? Entry : never;

/** `after` is the number of the last parameter that stands before them. */
export function columns<Entry>(
  alias: string,
  record: Readonly<Record<string, Column<Entry>>>,
  { after = 0 }: { readonly after?: number } = {},
): Columns<Entry> {
  const names = Object.keys(record);
  const all = Object.values(record);
  const arrays = all.map(({ array }, index) => array(`$${after + index + 1}`)).join(', ');
  return {
    arrays,
    // In the list of a SELECT, where they are read in step: in FROM each array would be put aside first, in a store of its own, which
    // costs a short batch more than all the rest of its statement.
    rows: `(SELECT ${all.map(({ array }, index) => `unnest(${array(`$${after + index + 1}`)}) AS ${names[index]}`).join(', ')}) AS ${alias}`,
    places: `unnest(${arrays}) WITH ORDINALITY AS ${alias}(${names.join(', ')}, place)`,
    last: after + all.length,
    encode: (entries) => all.map((column) => column.encode(entries)),
  };
}

/** Separates texts inside one parameter. */
const SEPARATOR = '\u001f';
/** Stands for NULL among them. */
const NONE = '\u001e';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const RESERVED = /[\u001e\u001f]/;

/** A text that holds a separator would become two entries. Whoever let it in must be mended: it is refused, not cleaned. */
export class SeparatorInText extends Error {
  constructor() {
    // Without the text: it may be anything.
    super('a text of a batch holds a control character that separates entries');
  }
}

function checked(value: string): string {
  if (RESERVED.test(value)) throw new SeparatorInText();
  return value;
}

function numeric(type: string) {
  return <Entry>(read: Read<Entry, Optional<number>>): Column<Entry> => ({
    array: (parameter) => `${parameter}::${type}[]`,
    encode: (entries) => `{${entries.map((entry) => read(entry) ?? 'NULL').join(',')}}`,
  });
}

export const smallint = numeric('smallint');
export const integer = numeric('integer');
export const bigint = numeric('bigint');
export const float = numeric('float8');

export function boolean<Entry>(read: Read<Entry, boolean>): Column<Entry> {
  return {
    array: (parameter) => `${parameter}::boolean[]`,
    encode: (entries) => `{${entries.map(read).join(',')}}`,
  };
}

const textArray = (parameter: string) => `string_to_array(${parameter}, E'\\x1f')`;
const optionalTextArray = (parameter: string) => `string_to_array(${parameter}, E'\\x1f', E'\\x1e')`;

/** Never empty: an empty text that is alone in its batch arrives as NULL. */
export function text<Entry>(read: Read<Entry, string>): Column<Entry> {
  return {
    array: textArray,
    encode: (entries) => entries.map((entry) => checked(read(entry))).join(SEPARATOR),
  };
}

/** An empty text is none, whether it is alone in its batch or not. */
export function optionalText<Entry>(read: Read<Entry, Optional<string>>): Column<Entry> {
  return {
    array: optionalTextArray,
    encode: (entries) => entries.map((entry) => checked(read(entry) ?? '') || NONE).join(SEPARATOR),
  };
}

export function date<Entry>(read: Read<Entry, Optional<string>>): Column<Entry> {
  return { ...optionalText(read), array: (parameter) => `${optionalTextArray(parameter)}::date[]` };
}

/** Arrives as text: `column::json`. JSON writes control characters as escapes, so that no separator can be in it. */
export function json<Entry>(read: Read<Entry, unknown>): Column<Entry> {
  return {
    array: optionalTextArray,
    encode: (entries) => entries.map((entry) => jsonOrNone(read(entry))).join(SEPARATOR),
  };
}

function jsonOrNone(value: unknown): string {
  return value === undefined || value === null ? NONE : JSON.stringify(value);
}

/** Arrives as base64: `decode(column, 'base64')`. */
export function bytes<Entry>(read: Read<Entry, Buffer>): Column<Entry> {
  return {
    array: textArray,
    encode: (entries) => entries.map((entry) => read(entry).toString('base64')).join(SEPARATOR),
  };
}

/** The same, where there may be none. */
export function optionalBytes<Entry>(read: Read<Entry, Optional<Buffer>>): Column<Entry> {
  return optionalText((entry) => read(entry)?.toString('base64'));
}

/** Arrives as the text of an array: `column::integer[]`. */
export function integers<Entry>(read: Read<Entry, readonly number[]>): Column<Entry> {
  return {
    array: textArray,
    encode: (entries) => entries.map((entry) => `{${read(entry).join(',')}}`).join(SEPARATOR),
  };
}
