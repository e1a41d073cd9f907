// HTML that its contents cannot break: every text is escaped.

/** Text that is already HTML. Everything else is escaped. */
export class Html {
  constructor(readonly text: string) {}
}
export type Part = string | number | Html | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escaped(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(escaped).join('');
  return String(part).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.reduce((whole, text, index) => whole + escaped(parts[index - 1] ?? '') + text));
}

export function joined(parts: readonly Part[], separator: string): Html {
  return new Html(parts.map(escaped).join(escaped(separator)));
}
