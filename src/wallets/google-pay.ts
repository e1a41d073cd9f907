// Opens payment method tokens of Google Pay, protocol version ECv2: checks that Google has signed them for this recipient, and decrypts
// them with its key. Google describes them at developers.google.com/pay/api/web/guides/resources/payment-data-cryptography.
import {
  createDecipheriv,
  createHmac,
  diffieHellman,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import { parseJson } from '../values/json.js';
import {
  asObject,
  bytesOf,
  cardOf,
  type OpenedPayload,
  PayloadRefused,
  p256Of,
  readDecrypted,
  threeDSecureOf,
} from './opened.js';

/** As it came. What is signed are the texts as they stand. */
export interface GooglePayload {
  readonly signature: Buffer;
  readonly signedKey: string;
  readonly signatures: readonly Buffer[];
  readonly signedMessage: string;
}

export interface GooglePayRoot {
  readonly publicKey: KeyObject;
  readonly expiresMs: number;
}

export interface GooglePayKey {
  readonly privateKey: KeyObject;
  /** `merchant:ID` or `gateway:ID`. */
  readonly recipient: string;
  /** Of a gateway's merchant: what the gateway has told Google that it is called. */
  readonly gatewayMerchant: string | undefined;
  readonly roots: readonly GooglePayRoot[];
}

const SENDER = 'Google';
const VERSION = 'ECv2';
const POINT_BYTES = 65;
const KEY_BYTES = 32;
const IV = Buffer.alloc(16);
/** A point of P-256, uncompressed, becomes a public key behind this. */
const P256_POINT = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex');

export function openGooglePay(payload: GooglePayload, key: GooglePayKey, nowMs: number): OpenedPayload {
  const signer = intermediateKey(payload, key.roots, nowMs);
  const signed = words(SENDER, key.recipient, VERSION, payload.signedMessage);
  // guard(wallets: a message of Google Pay is signed for this recipient): !isSigned(signed, payload.signature, signer) ⇒ false
  if (!isSigned(signed, payload.signature, signer)) throw new PayloadRefused('forged');
  const content = readDecrypted(decrypted(payload.signedMessage, key));
  const { messageId, messageExpiration, gatewayMerchantId } = content;
  const expiresMs = millisecondsOf(messageExpiration);
  if (typeof messageId !== 'string' || messageId === '' || expiresMs === undefined)
    throw new PayloadRefused('unusable');
  // guard(wallets: an expired message is not taken): nowMs >= expiresMs ⇒ false
  if (nowMs >= expiresMs) throw new PayloadRefused('expired');
  // guard(wallets: a message for another merchant of the gateway is not taken): gatewayMerchantId !== key.gatewayMerchant ⇒ false
  if (gatewayMerchantId !== key.gatewayMerchant) throw new PayloadRefused('foreign');
  return { id: messageId, expiresMs, card: cardIn(content) };
}

/** Signed by a root that has not expired, and not expired itself. */
function intermediateKey(
  { signedKey, signatures }: GooglePayload,
  roots: readonly GooglePayRoot[],
  nowMs: number,
): KeyObject {
  const signed = words(SENDER, VERSION, signedKey);
  // guard(wallets: an expired root signs nothing): nowMs < expiresMs ⇒ expiresMs > 0
  const valid = roots.filter(({ expiresMs }) => nowMs < expiresMs);
  // guard(wallets: a key of Google Pay is signed by a root of the operator's): !valid.some(({ publicKey }) => signatures.some((one) => isSigned(signed, one, publicKey))) ⇒ valid.length === 0
  if (!valid.some(({ publicKey }) => signatures.some((one) => isSigned(signed, one, publicKey))))
    throw new PayloadRefused('forged');
  const { keyValue, keyExpiration } = asObject(parsed(signedKey));
  const expiresMs = millisecondsOf(keyExpiration);
  if (expiresMs === undefined) throw new PayloadRefused('forged');
  // guard(wallets: an expired key of Google Pay signs nothing): nowMs >= expiresMs ⇒ false
  if (nowMs >= expiresMs) throw new PayloadRefused('expired');
  return publicKeyOf(typeof keyValue === 'string' ? bytesOf(keyValue) : undefined);
}

/** Each behind its length, so that none of them can be passed off as part of the next. */
function words(...texts: readonly string[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text) => {
      const bytes = Buffer.from(text, 'utf8');
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes.length);
      return [length, bytes];
    }),
  );
}

function isSigned(signed: Buffer, signature: Buffer, key: KeyObject): boolean {
  try {
    return verify('sha256', signed, key, signature);
  } catch {
    return false;
  }
}

function decrypted(signedMessage: string, { privateKey }: GooglePayKey): Buffer {
  const { encryptedMessage, ephemeralPublicKey, tag } = asObject(parsed(signedMessage));
  const [message, point, expected] = [encryptedMessage, ephemeralPublicKey, tag].map((part) =>
    typeof part === 'string' ? bytesOf(part) : undefined,
  );
  if (message === undefined || point?.length !== POINT_BYTES || expected?.length !== KEY_BYTES)
    throw new PayloadRefused('forged');
  const publicKey = publicKeyOf(Buffer.concat([P256_POINT, point]));
  const shared = diffieHellman({ privateKey, publicKey });
  const secret = Buffer.concat([point, shared]);
  const derived = Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(KEY_BYTES), 'Google', 2 * KEY_BYTES));
  const actual = createHmac('sha256', derived.subarray(KEY_BYTES)).update(message).digest();
  // guard(wallets: what is encrypted for another key is not decrypted): timingSafeEqual(actual, expected) ⇒ true
  const isForKey = timingSafeEqual(actual, expected);
  const plain =
    isForKey && createDecipheriv('aes-256-ctr', derived.subarray(0, KEY_BYTES), IV).update(message);
  for (const used of [shared, secret, derived]) used.fill(0);
  if (plain === false) throw new PayloadRefused('foreign');
  return plain;
}

function cardIn({ paymentMethod, paymentMethodDetails }: Readonly<Record<string, unknown>>) {
  if (paymentMethod !== 'CARD') throw new PayloadRefused('unusable');
  const details = asObject(paymentMethodDetails);
  const { authMethod, pan, expirationMonth: month, expirationYear: year } = details;
  if (authMethod === 'PAN_ONLY') return cardOf(pan, { month, year });
  if (authMethod !== 'CRYPTOGRAM_3DS') throw new PayloadRefused('unusable');
  return cardOf(pan, { month, year }, threeDSecureOf(details.cryptogram, details.eciIndicator));
}

/** They come as texts. */
export function millisecondsOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : undefined;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new PayloadRefused('forged');
  }
}

function publicKeyOf(der: Buffer | undefined): KeyObject {
  const key = der && p256Of(der);
  if (key === undefined) throw new PayloadRefused('forged');
  return key;
}
