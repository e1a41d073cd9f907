// Framing: writes a length before each message, and splits incoming bytes into messages.
import type { Dialect } from '../dialects/dialect.js';
import { Unreadable } from './codec.js';
import { asciiNumber, isAsciiDigits, writeAsciiDigits } from './digits.js';

const NOTHING = Buffer.alloc(0);

export interface FrameBounds {
  readonly leastBytes: number;
  readonly mostBytes: number;
}

/** The size of the length before a message. */
export function headerBytes({ frame }: Pick<Dialect, 'frame'>): number {
  return frame === 'two bytes' ? 2 : 4;
}

export function writeHeader({ frame }: Pick<Dialect, 'frame'>, length: number, into: Buffer): void {
  if (frame === 'two bytes') into.writeUInt16BE(length, 0);
  else writeAsciiDigits(String(length), 4, into, 0);
}

export class Frames {
  readonly #header: number;
  /** The start of a message whose end has not arrived yet. */
  #rest: Buffer = NOTHING;

  constructor(
    private readonly dialect: Pick<Dialect, 'frame'>,
    private readonly bounds: FrameBounds,
    /** The message lies in these bytes from `at` to `end`, only until this returns. */
    private readonly onMessage: (bytes: Buffer, at: number, end: number) => void,
  ) {
    this.#header = headerBytes(dialect);
  }

  /** Throws if the length is impossible. Wipes the piece, which may contain a card number. */
  push(piece: Buffer): void {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    this.#rest.fill(0);
    this.#rest = NOTHING;
    try {
      let at = 0;
      while (bytes.length - at >= this.#header) {
        const end = at + this.#header + this.#lengthAt(bytes, at);
        if (end > bytes.length) break;
        this.onMessage(bytes, at + this.#header, end);
        at = end;
      }
      if (at < bytes.length) this.#rest = Buffer.from(bytes.subarray(at));
    } finally {
      bytes.fill(0);
      piece.fill(0);
    }
  }

  #lengthAt(bytes: Buffer, at: number): number {
    let length: number;
    if (this.dialect.frame === 'two bytes') {
      length = bytes.readUInt16BE(at);
    } else {
      if (!isAsciiDigits(bytes, at, 4)) throw new Unreadable('a length that is not a number');
      length = asciiNumber(bytes, at, 4);
    }
    const { leastBytes, mostBytes } = this.bounds;
    if (length < leastBytes || length > mostBytes) throw new Unreadable('an impossible length');
    return length;
  }
}
