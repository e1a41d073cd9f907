// The query of a request, read and checked by a schema, as the API reads its own: numbers are numbers, and every problem is named.
import { refusedFor } from '../api/problems.js';
import { type Static, type TObject, Type } from '../api/typebox.js';
import { checker, reader } from '../api/validation.js';
import type { PageEnd } from '../values/page.js';
import { ConsoleProblem } from './problems.js';

/** A name that the schema does not have, or has once and stands there twice, is refused: a filter that is misspelt must not list more. */
export function queryReader<Schema extends TObject>(
  schema: Schema,
): (query: URLSearchParams) => Static<Schema> {
  const read = reader(schema);
  const check = checker('query', schema);
  const known = new Set(Object.keys(schema.properties));
  return (query) => {
    for (const name of query.keys())
      if (!known.has(name) || query.getAll(name).length > 1)
        throw new ConsoleProblem('field_format', ['query', name.slice(0, 64)]);
    const values = read(Object.fromEntries(query));
    const problems = check(values);
    if (problems.length > 0) throw refusedFor(problems);
    return values as Static<Schema>;
  };
}

export const After = Type.Optional(Type.String({ maxLength: 1_000, pattern: '^[A-Za-z0-9_-]*$' }));

/** Where a page ended, as a text for an address. */
export function encodedEnd(end: object | null): string | null {
  return end === null ? null : Buffer.from(JSON.stringify(end)).toString('base64url');
}

/** One that was not made here is as good as wrong. Further members are numbers. */
export function decodedEnd<End extends PageEnd>(
  text: string | undefined,
  ...numbers: readonly string[]
): End | undefined {
  if (text === undefined) return undefined;
  try {
    const end = JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;
    const whole = ['id', ...numbers].every(
      (name) => Number.isInteger(end[name]) && (end[name] as number) >= 0,
    );
    const { place } = end;
    if (whole && typeof place === 'string' && !place.includes('\0')) return end as unknown as End;
  } catch {
    // Refused below.
  }
  throw new ConsoleProblem('field_format', ['query', 'after']);
}
