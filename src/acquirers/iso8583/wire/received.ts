// A message that was received and can be read: its type and where its fields stand. Texts are made of those that are asked for.
import type { Form } from './form.js';
import { LAST_FIELD } from './message.js';

const NOTHING = Buffer.alloc(0);

export class Received {
  type = '';
  #from: Buffer = NOTHING;
  readonly #starts = new Int32Array(LAST_FIELD + 1);
  /** In digits, characters or bytes; -1 where there is no such field. */
  readonly #lengths = new Int32Array(LAST_FIELD + 1).fill(-1);

  constructor(
    private readonly forms: readonly (Form | undefined)[],
    private readonly encodings: { readonly dense: boolean; readonly binary: boolean },
  ) {}

  has(field: number): boolean {
    return (this.#lengths[field] as number) >= 0;
  }

  /** Digits, characters, or bytes in hexadecimal. Without the spaces that fill up a field. */
  text(field: number): string | undefined {
    const length = this.#lengths[field] as number;
    const form = this.forms[field];
    if (length < 0 || form === undefined) return undefined;
    const start = this.#starts[field] as number;
    switch (form.kind) {
      case 'n': {
        if (!this.encodings.dense) return this.#from.toString('latin1', start, start + length);
        const digits = this.#from.toString('hex', start, start + ((length + 1) >> 1));
        return length % 2 === 0 ? digits : digits.slice(1);
      }
      case 'an': {
        const characters = this.#from.toString('latin1', start, start + length);
        return form.lengthDigits === 0 ? withoutFilling(characters) : characters;
      }
      case 'b':
        return this.encodings.binary
          ? this.#from.toString('hex', start, start + length).toUpperCase()
          : this.#from.toString('latin1', start, start + 2 * length);
    }
  }

  /** Every field that it has. */
  get fields(): number[] {
    return [...this.#lengths.keys()].filter((field) => this.has(field));
  }

  begin(from: Buffer, type: string): void {
    this.#from = from;
    this.type = type;
    this.#lengths.fill(-1);
  }

  found(field: number, start: number, length: number): void {
    this.#starts[field] = start;
    this.#lengths[field] = length;
  }

  /** Lets go of the bytes, in which a card number may stand. */
  clear(): void {
    this.begin(NOTHING, '');
  }
}

function withoutFilling(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 32) end -= 1;
  return end === text.length ? text : text.slice(0, end);
}
