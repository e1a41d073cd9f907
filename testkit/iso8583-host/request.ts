// The money side of a request, read from its fields independently of the gateway.
import { createHash } from 'node:crypto';
import type { Message } from './codec.js';
import type { Operation } from './ledger.js';
import { firstSent } from './mac.js';

export interface Request {
  readonly mti: string;
  /** Its MTI without the digit that says that it is repeated. */
  readonly first: string;
  readonly isRepeat: boolean;
  readonly kind: 'payment' | 'completion' | 'reversal';
  readonly operation: Operation | undefined;
  readonly key: string;
  readonly terminal: string;
  readonly sentAt: string;
  readonly processingCode: string;
  readonly retrievalReference: string;
  readonly amountCents: number;
  readonly currency: string;
  readonly pan: string;
  readonly cardMask: string;
  readonly expiry: string | undefined;
  readonly authorisationCode: string | undefined;
  readonly original: OriginalData | undefined;
  /** Of everything that is the same when it is repeated. */
  readonly digest: string;
}

/** Field 90. */
export interface OriginalData {
  readonly mti: string;
  readonly sentAt: string;
  readonly key: string;
}

const KINDS: Readonly<Record<string, Request['kind']>> = {
  '0100': 'payment',
  '0200': 'payment',
  '0220': 'completion',
};
const OF_PAYMENT = [2, 3, 4, 7, 11, 22, 25, 37, 41, 42, 49];
const NEEDED: Readonly<Record<Request['kind'], readonly number[]>> = {
  payment: OF_PAYMENT,
  completion: [2, 3, 4, 7, 11, 37, 38, 41, 42, 49, 90],
  reversal: [2, 3, 4, 11, 37, 41, 42, 49, 90],
};

/**
 * What may differ between a message and its repetition: when it was sent, and its MAC. The card number and what
 * holds a CVV are left out of it too, since the digest is written down; the mask is in it.
 */
const NOT_DIGESTED = new Set([2, 7, 12, 13, 14, 47, 64, 128]);

/** Undefined for an MTI that is none of a request. */
export function kindOf(mti: string, reversal: string): Request['kind'] | undefined {
  const first = firstSent(mti);
  const kind = first === reversal ? 'reversal' : KINDS[first];
  // A payment is asked once: only advices and reversals are repeated.
  if (kind === 'payment' && mti !== first) return undefined;
  return mti.endsWith('0') || mti.endsWith('1') ? kind : undefined;
}

export function missingFields({ fields }: Message, kind: Request['kind']): number[] {
  return NEEDED[kind].filter((number) => !fields.has(number));
}

export function requestOf({ mti, fields }: Message, kind: Request['kind'], nowMs: number): Request {
  const field = (number: number) => fields.get(number) ?? '';
  const first = firstSent(mti);
  const terminal = field(41);
  const sentAt = field(7) || utcOf(nowMs);
  const cardMask = maskOf(field(2));
  const original = fields.has(90) ? originalOf(field(90), terminal) : undefined;
  return {
    mti,
    first,
    isRepeat: mti !== first,
    kind,
    operation: operationOf(first, field(3), original),
    key: keyMadeOf(terminal, sentAt, field(11)),
    terminal,
    sentAt,
    processingCode: field(3),
    retrievalReference: field(37),
    amountCents: Number(field(4)),
    currency: field(49),
    pan: field(2),
    cardMask,
    expiry: fields.get(14),
    authorisationCode: fields.get(38),
    original,
    digest: digestOf(first, cardMask, fields),
  };
}

function operationOf(
  first: string,
  processingCode: string,
  original: OriginalData | undefined,
): Operation | undefined {
  if (first === '0200' && processingCode === '200000') return original ? 'refund' : 'standalone_refund';
  if (processingCode !== '000000') return undefined;
  return ({ '0100': 'preauthorisation', '0200': 'purchase', '0220': 'completion' } as const)[first];
}

function originalOf(data: string, terminal: string): OriginalData {
  const sentAt = data.slice(10, 20);
  return { mti: data.slice(0, 4), sentAt, key: keyMadeOf(terminal, sentAt, data.slice(4, 10)) };
}

/** What a request, or its answer, is about, where field 7 is in it. */
export function keyOf(fields: ReadonlyMap<number, string>): string {
  return keyMadeOf(fields.get(41) ?? '', fields.get(7) ?? '', fields.get(11) ?? '');
}

/** STANs are unique for a terminal and a day, which is that of field 7. */
function keyMadeOf(terminal: string, sentAt: string, stan: string): string {
  return `${terminal}/${sentAt.slice(0, 4)}/${stan}`;
}

function digestOf(first: string, cardMask: string, fields: ReadonlyMap<number, string>): string {
  const parts = [first, cardMask];
  for (const [number, value] of fields) if (!NOT_DIGESTED.has(number)) parts.push(`${number}=${value}`);
  return createHash('sha1').update(parts.join('|')).digest('base64');
}

export function maskOf(pan: string): string {
  return pan.length < 12
    ? '*'.repeat(pan.length)
    : `${pan.slice(0, 6)}${'*'.repeat(pan.length - 10)}${pan.slice(-4)}`;
}

/** MMDDhhmmss. */
export function utcOf(atMs: number): string {
  const [month, day, ...time] = new Date(atMs).toISOString().slice(5, 19).split(/[-T:]/);
  return [month, day, ...time].join('');
}
