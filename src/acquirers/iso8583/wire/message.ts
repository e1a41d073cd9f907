// A message that is to be sent: its type and the texts of its fields. One is used again and again, so that a payment leaves no
// copy of its card behind.

export const LAST_FIELD = 128;

export class Message {
  type = '';
  /** Of the highest field that is set. */
  highest = 0;
  readonly #texts: (string | undefined)[] = new Array(LAST_FIELD + 1).fill(undefined);
  #secretField = 0;
  #secret: Uint8Array | undefined;

  /** Digits, characters, or bytes in hexadecimal. */
  set(field: number, text: string): this {
    this.#texts[field] = text;
    if (field > this.highest) this.highest = field;
    return this;
  }

  /** Characters that are wiped with the message. There is one such field at most. */
  setCharacters(field: number, characters: Uint8Array): this {
    this.#secretField = field;
    this.#secret = characters;
    return this.set(field, '');
  }

  text(field: number): string | undefined {
    return this.#texts[field];
  }

  /** Of a field whose characters are wiped. */
  characters(field: number): Uint8Array | undefined {
    return field === this.#secretField ? this.#secret : undefined;
  }

  clear(): this {
    this.#secret?.fill(0);
    this.#secret = undefined;
    this.#secretField = 0;
    this.#texts.fill(undefined, 0, this.highest + 1);
    this.type = '';
    this.highest = 0;
    return this;
  }
}
