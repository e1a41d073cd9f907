// A field of a file of comma-separated values, fit for spreadsheets and for programs.
export function csvField(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? harmless(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A spreadsheet would take a text that begins like this for a formula, and run it. */
function harmless(text: string): string {
  return /^[=+\-@\t]/.test(text) ? `'${text}` : text;
}
