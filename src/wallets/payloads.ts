// The payloads of wallets as requests bring them: their shape is checked, and each wrong part named.
import { parseJson } from '../values/json.js';
import type { ApplePayload } from './apple-pay.js';
import type { GooglePayload } from './google-pay.js';
import { bytesOf } from './opened.js';

export const WALLETS = ['apple_pay', 'google_pay'] as const;
export type WalletType = (typeof WALLETS)[number];
/** No payload is for it: Apple lets a merchant's pages ask for a payment by it. */
export const APPLE_IDENTITY = 'apple_pay_identity';

export type Payload =
  | { readonly type: 'apple_pay'; readonly payload: ApplePayload }
  | { readonly type: 'google_pay'; readonly payload: GooglePayload };

export interface WrongPart {
  /** From the token on. */
  readonly path: readonly string[];
  readonly wrong: 'missing' | 'type' | 'too long' | 'format';
}

const MOST_BASE64 = 16_384;
const MOST_TEXT = 16_384;
const MOST_SIGNATURES = 4;
/** Of a public key on P-256. */
const KEY_BYTES = 91;
const SHA256_BYTES = 32;

/** The payload, or everything that is wrong with it. A text is read as the JSON that it holds, as Google hands it out. */
export function readPayload(type: WalletType, token: unknown): Payload | readonly WrongPart[] {
  const wrong: WrongPart[] = [];
  const payload = type === 'apple_pay' ? readApple(token, wrong) : readGoogle(token, wrong);
  return wrong.length > 0 ? wrong : payload;
}

export function isWrong(read: Payload | readonly WrongPart[]): read is readonly WrongPart[] {
  return Array.isArray(read);
}

const NONE = Buffer.alloc(0);
const HEADER = 'header';

function readApple(token: unknown, wrong: WrongPart[]): Payload {
  const outer = objectAt([], token, wrong);
  const header = objectAt([HEADER], outer?.header, wrong, outer !== undefined);
  constantAt(['version'], outer, 'EC_v1', wrong);
  const base64 = (path: readonly string[], holder: Holder, length?: number) =>
    bytesAt(path, holder, wrong, length) ?? NONE;
  const hex = (path: readonly string[], holder: Holder) => hexAt(path, holder, wrong);
  const applicationData =
    header?.applicationData === undefined ? undefined : hex([HEADER, 'applicationData'], header);
  return {
    type: 'apple_pay',
    payload: {
      data: base64(['data'], outer),
      signature: base64(['signature'], outer),
      ephemeralPublicKey: base64([HEADER, 'ephemeralPublicKey'], header, KEY_BYTES),
      publicKeyHash: base64([HEADER, 'publicKeyHash'], header, SHA256_BYTES),
      transactionId: hex([HEADER, 'transactionId'], header) ?? NONE,
      ...(applicationData !== undefined && { applicationData }),
    },
  };
}

function readGoogle(token: unknown, wrong: WrongPart[]): Payload {
  const outer = objectAt([], typeof token === 'string' ? parsed(token, wrong) : token, wrong);
  constantAt(['protocolVersion'], outer, 'ECv2', wrong);
  const key = objectAt(['intermediateSigningKey'], outer?.intermediateSigningKey, wrong, outer !== undefined);
  const path = ['intermediateSigningKey', 'signatures'];
  const signatures = listAt(path, key, wrong);
  return {
    type: 'google_pay',
    payload: {
      signature: bytesAt(['signature'], outer, wrong) ?? NONE,
      signedKey: textAt(['intermediateSigningKey', 'signedKey'], key, wrong) ?? '',
      signatures: signatures.map((signature, at) => {
        const place = [...path, String(at)];
        return bytesAt(place, { [at]: signature }, wrong) ?? NONE;
      }),
      signedMessage: textAt(['signedMessage'], outer, wrong) ?? '',
    },
  };
}

/** Undefined where it is missing or wrong itself, which is said already. */
type Holder = Readonly<Record<string, unknown>> | undefined;

function parsed(token: string, wrong: WrongPart[]): unknown {
  if (token.length > 4 * MOST_TEXT) {
    wrong.push({ path: [], wrong: 'too long' });
    return undefined;
  }
  try {
    return parseJson(token);
  } catch {
    wrong.push({ path: [], wrong: 'format' });
    return undefined;
  }
}

function objectAt(path: readonly string[], value: unknown, wrong: WrongPart[], isExpected = true): Holder {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Holder;
  // What could not be parsed is said already.
  if (isExpected && !wrong.some((one) => one.path.length === 0))
    wrong.push({ path, wrong: value === undefined && path.length > 0 ? 'missing' : 'type' });
  return undefined;
}

function textAt(
  path: readonly string[],
  holder: Holder,
  wrong: WrongPart[],
  most = MOST_TEXT,
): string | undefined {
  if (holder === undefined) return undefined;
  const value = holder[path.at(-1) as string];
  const problem =
    value === undefined
      ? 'missing'
      : typeof value !== 'string'
        ? 'type'
        : value.length > most
          ? 'too long'
          : undefined;
  if (problem === undefined) return value as string;
  wrong.push({ path, wrong: problem });
  return undefined;
}

function constantAt(path: readonly string[], holder: Holder, only: string, wrong: WrongPart[]): void {
  const text = textAt(path, holder, wrong);
  if (text !== undefined && text !== only) wrong.push({ path, wrong: 'format' });
}

function bytesAt(
  path: readonly string[],
  holder: Holder,
  wrong: WrongPart[],
  length?: number,
): Buffer | undefined {
  const text = textAt(path, holder, wrong, MOST_BASE64);
  if (text === undefined) return undefined;
  const bytes = bytesOf(text);
  if (bytes !== undefined && bytes.length > 0 && (length === undefined || bytes.length === length))
    return bytes;
  wrong.push({ path, wrong: 'format' });
  return undefined;
}

/** Of 32 bytes. Whatever case its letters have, its bytes are the same. */
function hexAt(path: readonly string[], holder: Holder, wrong: WrongPart[]): Buffer | undefined {
  const text = textAt(path, holder, wrong);
  if (text === undefined) return undefined;
  // guard(wallets: what is signed has fixed lengths): /^[0-9a-fA-F]{64}$/ ⇒ /^(?:[0-9a-fA-F]{2})+$/
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  wrong.push({ path, wrong: 'format' });
  return undefined;
}

function listAt(path: readonly string[], holder: Holder, wrong: WrongPart[]): readonly unknown[] {
  if (holder === undefined) return [];
  const value = holder[path.at(-1) as string];
  if (Array.isArray(value) && value.length > 0 && value.length <= MOST_SIGNATURES) return value;
  wrong.push({
    path,
    wrong:
      value === undefined
        ? 'missing'
        : !Array.isArray(value)
          ? 'type'
          : value.length === 0
            ? 'format'
            : 'too long',
  });
  return [];
}
