// Private data in field 48: entries of a tag of two characters, a length of three digits, and a text.
import { Unwritable } from './digits.js';

const HEAD = 5;
const LONGEST = 999;

export function privateData(entries: Readonly<Record<string, string | undefined>>): string | undefined {
  let text = '';
  for (const [tag, value] of Object.entries(entries)) {
    if (value !== undefined) text += tag + String(value.length).padStart(3, '0') + value;
  }
  if (text.length > LONGEST) throw new Unwritable('too much private data');
  return text === '' ? undefined : text;
}

/** Hosts write other things there, too: what cannot be read says nothing. */
export function readPrivateData(text: string | undefined): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  for (let at = 0; text !== undefined && at < text.length; ) {
    const [, tag = '', digits = ''] = /^([A-Z0-9]{2})([0-9]{3})/.exec(text.slice(at, at + HEAD)) ?? [];
    const end = at + HEAD + Number(digits);
    if (tag === '' || end > text.length) return new Map();
    entries.set(tag, text.slice(at + HEAD, end));
    at = end;
  }
  return entries;
}
