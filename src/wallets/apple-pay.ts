// Opens payment data of Apple Pay, version EC_v1: checks that Apple has signed it, and decrypts it with the merchant's key.
// https://developer.apple.com/documentation/passkit/payment-token-format-reference
import {
  createDecipheriv,
  createHash,
  diffieHellman,
  type KeyObject,
  type X509Certificate,
} from 'node:crypto';
import { cents, currencyOfNumber, MAX_AMOUNT_CENTS } from '../values/money.js';
import {
  asObject,
  cardOf,
  type OpenedPayload,
  PayloadRefused,
  p256Of,
  readDecrypted,
  threeDSecureOf,
} from './opened.js';
import { signedAtMs } from './signed-data.js';

/**
 * As it came, decoded. What is signed is these values one after the other, without their lengths: were the lengths of the two last ones not
 * fixed, the end of one could be passed off as the beginning of the next, and a payload would come back under another transaction ID.
 */
export interface ApplePayload {
  readonly data: Buffer;
  readonly signature: Buffer;
  readonly ephemeralPublicKey: Buffer;
  readonly publicKeyHash: Buffer;
  /** 32 bytes. */
  readonly transactionId: Buffer;
  /** 32 bytes. */
  readonly applicationData?: Buffer | undefined;
}

export interface ApplePayKey {
  readonly privateKey: KeyObject;
  /** SHA-256 of its public key, as Apple names it. */
  readonly publicKeyHash: Buffer;
  /** SHA-256 of the merchant identifier. */
  readonly merchantHash: Buffer;
  /** Apple Root CA - G3, or whatever the operator trusts. */
  readonly roots: readonly X509Certificate[];
}

/** Apple says five minutes. */
const SIGNED_WITHIN_MS = 5 * 60_000;
const TAG_BYTES = 16;
const IV = Buffer.alloc(16);

export function openApplePay(payload: ApplePayload, key: ApplePayKey, nowMs: number): OpenedPayload {
  if (!key.publicKeyHash.equals(payload.publicKeyHash)) throw new PayloadRefused('foreign');
  const { data, ephemeralPublicKey, transactionId, applicationData } = payload;
  const signed = Buffer.concat([
    ephemeralPublicKey,
    data,
    transactionId,
    ...(applicationData === undefined ? [] : [applicationData]),
  ]);
  const signedMs = signedAtMs(payload.signature, signed, key.roots);
  if (signedMs === undefined) throw new PayloadRefused('forged');
  // guard(wallets: what was signed long ago is not taken): Math.abs(nowMs - signedMs) > SIGNED_WITHIN_MS ⇒ false
  if (Math.abs(nowMs - signedMs) > SIGNED_WITHIN_MS) throw new PayloadRefused('expired');
  const content = readDecrypted(decrypted(data, symmetricKey(ephemeralPublicKey, key)));
  return {
    id: transactionId.toString('hex'),
    expiresMs: signedMs + SIGNED_WITHIN_MS,
    card: cardIn(content),
    agreed: agreedIn(content),
  };
}

/** The single-step key derivation of NIST SP 800-56A with SHA-256, of which one round is enough. */
function symmetricKey(ephemeralPublicKey: Buffer, { privateKey, merchantHash }: ApplePayKey): Buffer {
  const publicKey = p256Of(ephemeralPublicKey);
  if (publicKey === undefined) throw new PayloadRefused('forged');
  const shared = diffieHellman({ privateKey, publicKey });
  const derived = createHash('sha256')
    .update(Buffer.from([0, 0, 0, 1]))
    .update(shared)
    .update('\x0did-aes256-GCM', 'latin1')
    .update('Apple', 'latin1')
    .update(merchantHash)
    .digest();
  shared.fill(0);
  return derived;
}

function decrypted(data: Buffer, key: Buffer): Buffer {
  if (data.length <= TAG_BYTES) throw new PayloadRefused('forged');
  const decipher = createDecipheriv('aes-256-gcm', key, IV, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(data.subarray(-TAG_BYTES));
  const plain = decipher.update(data.subarray(0, -TAG_BYTES));
  key.fill(0);
  try {
    decipher.final();
    return plain;
  } catch {
    plain.fill(0);
    // Signed by Apple, and not encrypted for this merchant.
    throw new PayloadRefused('foreign');
  }
}

/** Payments to several merchants at once (`authenticationResponses`) and Chinese cards (`EMV`) are not understood. */
function cardIn(content: Readonly<Record<string, unknown>>) {
  const { applicationPrimaryAccountNumber, applicationExpirationDate, paymentDataType, paymentData } =
    content;
  const expires = /^(\d\d)(\d\d)\d\d$/.exec(String(applicationExpirationDate));
  if (paymentDataType !== '3DSecure' || expires === null) throw new PayloadRefused('unusable');
  const { onlinePaymentCryptogram, eciIndicator } = asObject(paymentData);
  const expiry = { month: Number(expires[2]), year: 2000 + Number(expires[1]) };
  return cardOf(
    applicationPrimaryAccountNumber,
    expiry,
    threeDSecureOf(onlinePaymentCryptogram, eciIndicator),
  );
}

function agreedIn({ transactionAmount, currencyCode }: Readonly<Record<string, unknown>>) {
  const currency = typeof currencyCode === 'string' ? currencyOfNumber(currencyCode) : undefined;
  if (currency === undefined || typeof transactionAmount !== 'number') throw new PayloadRefused('unusable');
  if (!Number.isInteger(transactionAmount) || transactionAmount < 0 || transactionAmount > MAX_AMOUNT_CENTS)
    throw new PayloadRefused('unusable');
  return { amountCents: cents(transactionAmount), currency };
}
