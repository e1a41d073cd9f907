// The last messages that came in, for tests that ask what a gateway puts on the wire. In memory only, and without secrets.
import type { Message } from './codec.js';
import { maskOf } from './request.js';

const REMEMBERED = 2_000;

export interface SeenMessage {
  /** Counts up from 1. */
  readonly number: number;
  readonly atMs: number;
  readonly connection: number;
  readonly mti: string;
  /** The card number as its mask, the expiry date and the digits of a CVV as stars. */
  readonly fields: Readonly<Record<string, string>>;
}

export class SeenMessages {
  #messages: SeenMessage[] = [];
  #count = 0;

  add({ mti, fields }: Message, connection: number): void {
    this.#count += 1;
    if (this.#messages.length === 2 * REMEMBERED) this.#messages = this.#messages.slice(REMEMBERED);
    this.#messages.push({
      number: this.#count,
      atMs: Date.now(),
      connection,
      mti,
      fields: Object.fromEntries(
        [...fields].map(([number, value]) => [number, withoutSecret(number, value)]),
      ),
    });
  }

  after(number: number): readonly SeenMessage[] {
    return this.#messages.filter((message) => message.number > number);
  }
}

function withoutSecret(number: number, value: string): string {
  switch (number) {
    case 2:
      return maskOf(value);
    case 14:
      return '****';
    case 47:
    case 48:
      return value.replaceAll(/[0-9]/g, '*');
    default:
      return value;
  }
}
