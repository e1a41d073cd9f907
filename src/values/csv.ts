// Writes and reads lines of CSV files, for spreadsheets and for programs. Hand-written: in csv-parse an open quote spoils all later lines
// too, and csv-stringify does not quote single line ends.

export function csvLine(values: readonly unknown[], end = '\r\n'): string {
  return values.map(csvField).join(',') + end;
}

export function csvLines(
  names: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string {
  return rows.map((row) => csvLine(names.map((name) => row[name]))).join('');
}

function csvField(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? withoutFormula(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A spreadsheet would run a text that begins like this as a formula. */
function withoutFormula(text: string): string {
  return /^[=+\-@\t]/.test(text) ? `'${text}` : text;
}

/** The fields of a line, or undefined if its quotes do not match. A quoted field ends with its line at the latest. */
export function csvFields(line: string): readonly string[] | undefined {
  if (!line.includes('"')) return line.split(',');
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  for (;;) {
    const [matched, quoted, plain, end] = field.exec(line) ?? [];
    if (matched === undefined) return undefined;
    fields.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end === '') return fields;
  }
}
