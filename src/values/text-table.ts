// Objects as text for a person at a terminal. Members are named as in the API: `preauthorisation_days`.
import { outward } from './snake-case.js';

/** A line for each row, under the names of the members of all of them. */
export function table(values: readonly object[]): string {
  if (values.length === 0) return 'None.';
  const rows = values.map((value) => outward(value) as Record<string, unknown>);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A line for each member that has something to say. */
export function lines(value: object): string {
  const members = Object.entries(outward(value)).filter(([, member]) => cell(member) !== '');
  const width = Math.max(...members.map(([name]) => name.length));
  return members.map(([name, member]) => `${name.padEnd(width)}  ${cell(member)}`).join('\n');
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value);
}
