// The lines of a file of cards: JSON lines, or CSV with a line of names. One line spoils only itself, and no more than a line is kept.
import { csvFields } from '../../values/csv.js';
import { parseJson } from '../../values/json.js';
import { refuse } from '../../values/refusal.js';
import { textLines } from '../../values/text-lines.js';

/** A line by the names of its fields, or why there are none. */
export interface CardLine {
  /** Counted from 1. */
  readonly number: number;
  readonly fields: Readonly<Record<string, unknown>> | 'too long' | 'unreadable';
}

/** With room for a hundred former IDs of full length. */
const LONGEST_BYTES = 64 * 1024;
/** Without it a line of names is none. */
const NEEDED = ['customer_reference'];

type Reader = (text: string) => CardLine['fields'];

/** `names`: what the file calls a field, by what it is called here. */
export async function* cardLines(
  bytes: AsyncIterable<Uint8Array>,
  names: Readonly<Record<string, string>> = {},
): AsyncGenerator<CardLine> {
  const here = new Map(Object.entries(names).map(([name, theirs]) => [theirs, name]));
  let read: Reader | undefined;
  for await (const lines of textLines(bytes, LONGEST_BYTES)) {
    for (const { number, text } of lines) {
      if (text?.trim() === '') continue;
      if (text !== undefined && read === undefined) {
        const isJson = text.trimStart().startsWith('{');
        read = isJson ? jsonReader(here) : csvReader(text, here);
        if (!isJson) continue;
      }
      yield { number, fields: text === undefined || read === undefined ? 'too long' : read(text) };
    }
  }
}

function jsonReader(here: ReadonlyMap<string, string>): Reader {
  return (text) => {
    try {
      const value = parseJson(text);
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'unreadable';
      return Object.fromEntries(
        Object.entries(value).map(([name, field]) => [here.get(name) ?? name, field]),
      );
    } catch {
      // Without the error: it quotes the line.
      return 'unreadable';
    }
  };
}

function csvReader(header: string, here: ReadonlyMap<string, string>): Reader {
  const names = (csvFields(header) ?? []).map((name) => name.trim()).map((name) => here.get(name) ?? name);
  for (const missing of NEEDED) if (!names.includes(missing)) refuse('card_file_without_names', { missing });
  return (text) => {
    const fields = csvFields(text);
    if (fields === undefined || fields.length !== names.length) return 'unreadable';
    // What is empty was not given.
    const given = fields.flatMap((field, place) => (field === '' ? [] : [[names[place] as string, field]]));
    return Object.fromEntries(given);
  };
}
