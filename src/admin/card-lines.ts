// The lines of a file of cards: JSON lines, or CSV with a line of names. One line spoils only itself, and no more than a line is kept.
import { csvFields } from '../values/csv.js';
import { parseJson } from '../values/json.js';
import { refuse } from '../values/refusal.js';

/** A line by the names of its fields, or why there are none. */
export interface CardLine {
  /** Counted from 1. */
  readonly number: number;
  readonly fields: Readonly<Record<string, unknown>> | 'too long' | 'unreadable';
}

/** With room for a hundred former IDs of full length. */
const LONGEST_BYTES = 64 * 1024;
const LINE_END = 10;
const BYTE_ORDER_MARK = '\ufeff';
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
  let number = 0;
  for await (const line of textLines(bytes)) {
    number += 1;
    if (line === undefined) {
      yield { number, fields: 'too long' };
      continue;
    }
    const text = number === 1 && line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line;
    if (text.trim() === '') continue;
    if (read === undefined) {
      const isJson = text.trimStart().startsWith('{');
      read = isJson ? jsonReader(here) : csvReader(text, here);
      if (!isJson) continue;
    }
    yield { number, fields: read(text) };
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

/** Undefined for a line that is too long. */
async function* textLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string | undefined> {
  let rest: Buffer = Buffer.alloc(0);
  let cut = false;
  for await (const piece of bytes) {
    let from = 0;
    const whole = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece]);
    for (let end = whole.indexOf(LINE_END); end !== -1; end = whole.indexOf(LINE_END, from)) {
      yield cut || end - from > LONGEST_BYTES ? undefined : lineOf(whole.subarray(from, end));
      cut = false;
      from = end + 1;
    }
    rest = whole.subarray(from);
    if (rest.length > LONGEST_BYTES) {
      cut = true;
      rest = Buffer.alloc(0);
    }
  }
  if (cut) yield undefined;
  else if (rest.length > 0) yield lineOf(rest);
}

function lineOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}
