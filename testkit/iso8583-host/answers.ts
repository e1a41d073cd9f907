// The host's answers as messages: the fields that echo a request, their MAC, and deliberate faults.
import { type Message, message, pack } from './codec.js';
import type { Dialect } from './dialects.js';
import { type MacKeys, withMac } from './mac.js';

/** What an answer says again of its request, where it was there. Never the card. */
const ECHOED = [3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49, 70];

/** 0200 is answered with 0210, 0221 with 0230. */
export function answerTo(
  { mti, fields }: Message,
  own: Readonly<Record<number, string | undefined>>,
): Message {
  const echoed = Object.fromEntries(ECHOED.map((number) => [number, fields.get(number)]));
  return message(`${mti.slice(0, 2)}${Number(mti[2]) + 1}0`, { ...echoed, ...own });
}

export interface Spelling {
  readonly dialect: Dialect;
  readonly macKeys?: MacKeys | undefined;
}

export function spell({ dialect, macKeys }: Spelling, answer: Message): Buffer {
  return pack(dialect, macKeys === undefined ? answer : withMac(dialect, answer, macKeys.send));
}

/** The same answer with an unknown field in its bitmap: number 5. */
export function withUnknownField(spelling: Spelling, answer: Message): Buffer {
  const bytes = spell(spelling, answer);
  const { digits, bytes: spelt } = spelling.dialect;
  const mtiBytes = digits === 'bcd' ? 2 : 4;
  if (spelt === 'binary') {
    bytes[mtiBytes] = (bytes[mtiBytes] ?? 0) | 0x08;
  } else {
    const digit = Number.parseInt(bytes.toString('latin1', mtiBytes + 1, mtiBytes + 2), 16) | 0x8;
    bytes.write(digit.toString(16).toUpperCase(), mtiBytes + 1, 'latin1');
  }
  return bytes;
}

const WRONG_KEY = Buffer.alloc(16, 0x5a);

export function withWrongMac({ dialect }: Spelling, answer: Message): Buffer {
  return pack(dialect, withMac(dialect, answer, WRONG_KEY));
}

/** An answer without a request. */
export function stray(spelling: Spelling, { mti, fields }: Message): Buffer {
  const stan = fields.get(11) === '999999' ? '999998' : '999999';
  return spell(spelling, { mti, fields: new Map(fields).set(11, stan) });
}

/** Nobody sends these. */
const STRANGE_STAN = '999998';
const STRANGE_TERMINAL = 'NOBODY01';

/**
 * Approvals that the host has not booked: of payments that nobody sent, at this terminal, at none and at those of others; or of others'
 * payments, with the reference, the amount and the time of this one.
 */
export function approvalsOfStrangers(
  { mti, fields }: Message,
  others: readonly Message[],
  fault: 'stray approvals' | 'answers for others',
): Message[] {
  const approvalOf = (terminal: string | undefined, stan: string | undefined) =>
    message(mti, { ...Object.fromEntries(fields), 11: stan, 38: '000000', 39: '00', 41: terminal });
  if (fault === 'answers for others') {
    return others.map((other) => approvalOf(other.fields.get(41), other.fields.get(11)));
  }
  const terminals = new Set([fields.get(41), ...others.map((other) => other.fields.get(41))]);
  return [
    approvalOf(STRANGE_TERMINAL, fields.get(11)),
    ...[...terminals].map((terminal) => approvalOf(terminal, STRANGE_STAN)),
  ];
}
