// A secret that prints as its mask, however it is turned into text.

const inspect = Symbol.for('nodejs.util.inspect.custom');

export abstract class Unprintable {
  abstract readonly mask: string;

  toString(): string {
    return this.mask;
  }

  toJSON(): string {
    return this.mask;
  }

  [inspect](): string {
    return this.mask;
  }
}
