// Texts made by chance from the patterns of a schema.
import type { Chance } from '../../testkit/chance.js';

interface Bounds {
  readonly least: number;
  readonly most: number;
}

/** What is repeated, and how often; without `most` as often as one likes. */
interface Part {
  readonly characters?: readonly string[];
  readonly group?: readonly Part[];
  readonly least: number;
  readonly most?: number | undefined;
}

/** A text that the pattern lets through. Where it sets no bound to a repetition, `least` and `most` do. */
export function matching(
  chance: Chance,
  pattern: string,
  { least = 0, most = 2 }: Partial<Bounds> = {},
): string {
  const parts = partsOf(pattern);
  const bounds = parts.length === 1 ? { least, most } : { least: 0, most: 2 };
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const text = written(chance, parts, bounds);
    if (new RegExp(pattern, 'u').test(text)) return text;
  }
  throw new Error(`no text was found for the pattern ${pattern}`);
}

function written(chance: Chance, parts: readonly Part[], bounds: Bounds): string {
  return parts
    .map(({ characters = [], group, least, most }) => {
      const count =
        most === undefined
          ? chance.between(Math.max(least, bounds.least), Math.max(least, bounds.most))
          : chance.between(least, most);
      return Array.from({ length: count }, () =>
        group ? written(chance, group, bounds) : chance.pick(characters),
      ).join('');
    })
    .join('');
}

/** A pattern as a list of characters or groups to repeat. It knows what the document's patterns are made of. */
function partsOf(pattern: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  while (at < pattern.length) {
    const start = pattern.charAt(at);
    if (start === '^' || start === '$') {
      at += 1;
      continue;
    }
    let part: Pick<Part, 'characters' | 'group'>;
    if (start === '[') {
      const end = endOfClass(pattern, at);
      part = { characters: charactersOf(pattern.slice(at + 1, end)) };
      at = end + 1;
    } else if (start === '(') {
      const end = endOfGroup(pattern, at);
      // What must not follow is left to the test of the whole text.
      if (pattern.startsWith('(?', at)) {
        at = end + 1;
        continue;
      }
      part = { group: partsOf(pattern.slice(at + 1, end)) };
      at = end + 1;
    } else {
      if (start === '\\') at += 1;
      part = { characters: [pattern.charAt(at)] };
      at += 1;
    }
    const [times = ''] = /^(?:[*+?]|\{[0-9,]+\})/.exec(pattern.slice(at)) ?? [];
    at += times.length;
    parts.push({ ...part, ...quantity(times) });
  }
  return parts;
}

function quantity(written: string): Pick<Part, 'least' | 'most'> {
  if (written === '') return { least: 1, most: 1 };
  if (written === '*') return { least: 0 };
  if (written === '+') return { least: 1 };
  if (written === '?') return { least: 0, most: 1 };
  const [least = 0, most = least] = written.slice(1, -1).split(',').map(Number);
  return { least, most };
}

function endOfClass(pattern: string, from: number): number {
  let at = from + 1;
  while (pattern[at] !== ']') at += pattern[at] === '\\' ? 2 : 1;
  return at;
}

function endOfGroup(pattern: string, from: number): number {
  let depth = 0;
  for (let at = from; ; at += 1) {
    if (pattern[at] === '\\') at += 1;
    else if (pattern[at] === '[') at = endOfClass(pattern, at);
    else if (pattern[at] === '(') depth += 1;
    else if (pattern[at] === ')') {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
}

function charactersOf(inside: string): string[] {
  const read = [...inside.matchAll(/\\(.)|(.)/g)].map(([whole, escaped, plain]) => ({
    character: escaped ?? plain ?? '',
    range: whole === '-',
  }));
  const characters: string[] = [];
  for (let at = 0; at < read.length; at += 1) {
    const [first, dash, last] = read.slice(at, at + 3);
    if (first === undefined) break;
    if (dash?.range && last) {
      const from = first.character.charCodeAt(0);
      const to = last.character.charCodeAt(0);
      for (let code = from; code <= to; code += 1) characters.push(String.fromCharCode(code));
      at += 2;
    } else characters.push(first.character);
  }
  return characters;
}
