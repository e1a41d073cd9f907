// Where a message begins and ends on a connection: a length before each, which does not count itself.
import { Unreadable } from './codec.js';
import type { Dialect } from './dialects.js';

/** MTI and bitmap: nothing shorter is a message. */
const SHORTEST = { 'two bytes': 10, 'four digits': 20 } as const;
const PREFIX_BYTES = { 'two bytes': 2, 'four digits': 4 } as const;

export function framed({ frame }: Dialect, body: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES[frame]);
  if (frame === 'two bytes') prefix.writeUInt16BE(body.length);
  else prefix.write(String(body.length).padStart(PREFIX_BYTES[frame], '0'), 'latin1');
  return Buffer.concat([prefix, body]);
}

/** Puts messages together again, however the network has cut them. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  constructor(private readonly dialect: Dialect) {}

  /** The messages that are whole now. Throws `Unreadable` at an impossible length. */
  *take(chunk: Buffer): Generator<Buffer> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const prefixBytes = PREFIX_BYTES[this.dialect.frame];
    while (this.#rest.length >= prefixBytes) {
      const end = prefixBytes + this.#lengthOf(this.#rest.subarray(0, prefixBytes));
      if (this.#rest.length < end) return;
      const body = this.#rest.subarray(prefixBytes, end);
      this.#rest = this.#rest.subarray(end);
      yield body;
    }
  }

  #lengthOf(prefix: Buffer): number {
    const { frame } = this.dialect;
    if (frame === 'four digits' && !/^[0-9]{4}$/.test(prefix.toString('latin1'))) {
      throw new Unreadable('the length of a message is no number');
    }
    const length = frame === 'two bytes' ? prefix.readUInt16BE() : Number(prefix.toString('latin1'));
    if (length < SHORTEST[frame]) throw new Unreadable(`no message has ${length} bytes`);
    return length;
  }
}
