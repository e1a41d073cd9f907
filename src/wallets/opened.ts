// What comes of a wallet's payload: a card with what proves that its holder was there, or why it is refused.
import { createPublicKey, type KeyObject } from 'node:crypto';
import { type CardDetails, CardNumber, luhnValid } from '../values/card.js';
import { parseJson } from '../values/json.js';
import type { Cents } from '../values/money.js';
import { AuthenticationValue, type ThreeDSecure } from '../values/three-d-secure.js';
import { secretsWereUsed } from '../values/traces-of-secrets.js';

export interface OpenedPayload {
  /** What its maker calls it: it is taken once. */
  readonly id: string;
  /** When it is refused in any case. */
  readonly expiresMs: number;
  readonly card: CardDetails;
  /** What the payer has agreed to, where the wallet says it. */
  readonly agreed?: { readonly amountCents: Cents; readonly currency: string };
}

/**
 * `forged`: it is not from the wallet as it stands; `expired`: too old, or of a time to come; `foreign`: for somebody else; `unusable`:
 * something that cannot be paid with here.
 */
export type WhyRefused = 'forged' | 'expired' | 'foreign' | 'unusable';

export class PayloadRefused extends Error {
  override readonly name = 'PayloadRefused';
  constructor(readonly why: WhyRefused) {
    super(`the payload of a wallet was refused: ${why}`);
  }
}

/** The JSON that was encrypted; the bytes are overwritten. */
export function readDecrypted(bytes: Buffer): Readonly<Record<string, unknown>> {
  secretsWereUsed();
  try {
    return asObject(parseJson(bytes.toString('utf8')));
  } catch {
    // Not with what JSON.parse says, which quotes the text.
    throw new PayloadRefused('unusable');
  } finally {
    bytes.fill(0);
  }
}

export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new PayloadRefused('unusable');
  return value as Readonly<Record<string, unknown>>;
}

const CARD_NUMBER = /^[0-9]{12,19}$/;
const LAST_YEAR = 2099;

export function cardOf(
  number: unknown,
  { month, year }: { readonly month: unknown; readonly year: unknown },
  threeDSecure?: ThreeDSecure,
): CardDetails {
  if (typeof number !== 'string' || !CARD_NUMBER.test(number) || !luhnValid(number))
    throw new PayloadRefused('unusable');
  if (!isWithin(month, 1, 12) || !isWithin(year, 2000, LAST_YEAR)) throw new PayloadRefused('unusable');
  return {
    number: new CardNumber(number),
    expiry: { month, year },
    ...(threeDSecure !== undefined && { threeDSecure }),
  };
}

function isWithin(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

const MOST_CRYPTOGRAM_BYTES = 64;

/** The cryptogram of one payment, and an indicator that not every network adds. */
export function threeDSecureOf(cryptogram: unknown, indicator: unknown): ThreeDSecure {
  const bytes = typeof cryptogram === 'string' ? bytesOf(cryptogram) : undefined;
  if (bytes === undefined || bytes.length === 0 || bytes.length > MOST_CRYPTOGRAM_BYTES)
    throw new PayloadRefused('unusable');
  const authenticationValue = new AuthenticationValue(bytes);
  if (indicator === undefined || indicator === '') return { authenticationValue };
  if (typeof indicator !== 'string' || !/^[0-9]{1,2}$/.test(indicator)) throw new PayloadRefused('unusable');
  return { authenticationValue, eci: indicator.padStart(2, '0') };
}

/** Undefined unless it is base64 as one writes it: two texts never stand for the same bytes. */
export function bytesOf(base64: string): Buffer | undefined {
  const bytes = Buffer.from(base64, 'base64');
  // guard(wallets: one text only for the same bytes): bytes.toString('base64') === base64 ⇒ bytes.length > 0
  return bytes.toString('base64') === base64 ? bytes : undefined;
}

/** Undefined unless it is a point of P-256. */
export function p256Of(spki: Buffer): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
  } catch {
    return undefined;
  }
}
