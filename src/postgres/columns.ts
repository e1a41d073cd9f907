// Rows as columns: a batch travels as one array per column, cheap to write here and cheap to read there.

/** Separates texts inside one parameter. No text that is stored may hold a control character. */
const SEPARATOR = '\u001f';

/** For `$n::integer[]`, `$n::bigint[]` and the like. */
export function numbers(values: readonly (number | null | undefined)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

/** For `string_to_array($n, E'\x1f')`. */
export function texts(values: readonly string[]): string {
  return values.join(SEPARATOR);
}

/** Like `texts`, for columns that may be empty: `string_to_array($n, E'\x1f', E'\x1e')`. */
export function optionalTexts(values: readonly (string | null | undefined)[]): string {
  return values.map((value) => value ?? '\u001e').join(SEPARATOR);
}
