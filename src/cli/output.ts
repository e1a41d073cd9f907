// What the commands print: a sentence or a table for a person, JSON for a program.

interface OutputOptions {
  readonly json?: boolean;
}

export function print(options: OutputOptions, value: object, sentence: string): void {
  process.stdout.write(`${options.json ? JSON.stringify(outward(value)) : sentence}\n`);
}

export function printTable(options: OutputOptions, rows: readonly object[]): void {
  const shown = rows.map(outward);
  process.stdout.write(`${options.json ? JSON.stringify(shown) : table(shown)}\n`);
}

/** Members are named as in the API: `preauthorisation_days`. */
function outward(value: object): Record<string, unknown> {
  const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      snakeCase(name),
      isListOfObjects(member) ? member.map(outward) : member,
    ]),
  );
}

function isListOfObjects(member: unknown): member is object[] {
  return Array.isArray(member) && typeof member[0] === 'object';
}

function table(rows: readonly Record<string, unknown>[]): string {
  const [first] = rows;
  if (first === undefined) return 'None.';
  const names = Object.keys(first);
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

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value);
}
