// Chance that a seed repeats, and texts made by chance from the patterns of a schema.

export class Chance {
  #state;

  constructor(seed) {
    this.#state = (seed ^ 0x5bf03635) >>> 0 || 1;
    for (let turn = 0; turn < 8; turn += 1) this.below(2);
  }

  /** A whole number from 0 on, below the limit. */
  below(limit) {
    // Xorshift: short, and good enough to choose with.
    this.#state ^= this.#state << 13;
    this.#state >>>= 0;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    this.#state >>>= 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  between(least, most) {
    return least + this.below(most - least + 1);
  }

  one(choices) {
    return choices[this.below(choices.length)];
  }

  digits(count) {
    return Array.from({ length: count }, () => this.below(10)).join('');
  }

  /** Bytes, one a character. */
  bytes(count) {
    return Array.from({ length: count }, () => String.fromCharCode(this.below(256))).join('');
  }

  shuffled(list) {
    const mixed = [...list];
    for (let last = mixed.length - 1; last > 0; last -= 1) {
      const other = this.below(last + 1);
      [mixed[last], mixed[other]] = [mixed[other], mixed[last]];
    }
    return mixed;
  }

  id() {
    return `h-${this.below(2 ** 32).toString(36)}-${this.below(2 ** 32).toString(36)}`;
  }

  /** A text that the pattern lets through. Where it sets no bound to a repetition, `least` and `most` do. */
  matching(pattern, { least = 0, most = 2 } = {}) {
    const parts = partsOf(pattern);
    const bounds = parts.length === 1 ? { least, most } : { least: 0, most: 2 };
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const text = this.#write(parts, bounds);
      if (new RegExp(pattern, 'u').test(text)) return text;
    }
    throw new Error(`no text was found for the pattern ${pattern}`);
  }

  #write(parts, bounds) {
    return parts
      .map(({ characters, group, least, most }) => {
        const count =
          most === undefined
            ? this.between(Math.max(least, bounds.least), Math.max(least, bounds.most))
            : this.between(least, most);
        return Array.from({ length: count }, () =>
          group ? this.#write(group, bounds) : this.one(characters),
        ).join('');
      })
      .join('');
  }
}

/** A pattern as a list of characters or groups to repeat. It knows what the document's patterns are made of. */
function partsOf(pattern) {
  const parts = [];
  let at = 0;
  while (at < pattern.length) {
    const start = pattern[at];
    if (start === '^' || start === '$') {
      at += 1;
      continue;
    }
    let part;
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
      part = { characters: [pattern[at]] };
      at += 1;
    }
    const [written] = /^(?:[*+?]|\{[0-9,]+\})/.exec(pattern.slice(at)) ?? [''];
    at += written.length;
    parts.push({ ...part, ...quantity(written) });
  }
  return parts;
}

function quantity(written) {
  if (written === '') return { least: 1, most: 1 };
  if (written === '*') return { least: 0 };
  if (written === '+') return { least: 1 };
  if (written === '?') return { least: 0, most: 1 };
  const [least, most = least] = written.slice(1, -1).split(',').map(Number);
  return { least, most };
}

function endOfClass(pattern, from) {
  let at = from + 1;
  while (pattern[at] !== ']') at += pattern[at] === '\\' ? 2 : 1;
  return at;
}

function endOfGroup(pattern, from) {
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

function charactersOf(inside) {
  const read = [...inside.matchAll(/\\(.)|(.)/g)].map(([whole, escaped, plain]) => ({
    character: escaped ?? plain,
    range: whole === '-',
  }));
  const characters = [];
  for (let at = 0; at < read.length; at += 1) {
    const [first, dash, last] = read.slice(at, at + 3);
    if (dash?.range && last) {
      const from = first.character.charCodeAt(0);
      const to = last.character.charCodeAt(0);
      for (let code = from; code <= to; code += 1) characters.push(String.fromCharCode(code));
      at += 2;
    } else characters.push(first.character);
  }
  return characters;
}
