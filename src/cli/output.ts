// What the commands print: a sentence or a table for a person, JSON for a program.

interface OutputOptions {
  readonly json?: boolean;
}

export function print(options: OutputOptions, value: unknown, sentence: string): void {
  process.stdout.write(`${options.json ? JSON.stringify(value) : sentence}\n`);
}

export function printTable(options: OutputOptions, rows: readonly object[]): void {
  process.stdout.write(`${options.json ? JSON.stringify(rows) : table(rows)}\n`);
}

function table(rows: readonly object[]): string {
  const [first] = rows;
  if (first === undefined) return 'None.';
  const names = Object.keys(first);
  const lines = [
    names,
    ...rows.map((row) => names.map((name) => cell((row as Record<string, unknown>)[name]))),
  ];
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
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value);
}
