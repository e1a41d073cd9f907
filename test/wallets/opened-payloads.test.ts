// What wallets sign and encrypt, as their own makers make it: opened when it is whole, refused when anything about it is altered.
import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type ApplePayKey, openApplePay } from '../../src/wallets/apple-pay.js';
import { type GooglePayKey, openGooglePay } from '../../src/wallets/google-pay.js';
import { type OpenedPayload, PayloadRefused, type WhyRefused } from '../../src/wallets/opened.js';
import { isWrong, readPayload, type WalletType } from '../../src/wallets/payloads.js';
import {
  type AppleChain,
  type ApplePayment,
  makeAppleChain,
  makeAppleToken,
} from '../../testkit/apple-pay.js';
import { makeCertificate } from '../../testkit/certificates.js';
import { type GooglePayment, makeGooglePair, makeGoogleToken } from '../../testkit/google-pay.js';

const MINUTE_MS = 60_000;
const MERCHANT = 'merchant.com.example.shop';
const chain = makeAppleChain();
const pair = makeGooglePair();
const publicKey = Buffer.from(pair.keyValue, 'base64');

function appleKey(roots = [chain.root], identifier = MERCHANT): ApplePayKey {
  return {
    privateKey: pair.privateKey,
    publicKeyHash: createHash('sha256').update(publicKey).digest(),
    merchantHash: createHash('sha256').update(identifier).digest(),
    roots: roots.map(({ certificate }) => new X509Certificate(certificate)),
  };
}

function apple(payment: Partial<ApplePayment> = {}, by: AppleChain = chain) {
  return makeAppleToken(by, { merchantKey: publicKey, merchantIdentifier: MERCHANT, ...payment });
}

const root = makeGooglePair();
const RECIPIENT = 'merchant:12345';

function googleKey(more: Partial<GooglePayKey> = {}): GooglePayKey {
  const roots = [{ publicKey: keyOf(root.keyValue), expiresMs: Date.now() + MINUTE_MS }];
  return { privateKey: pair.privateKey, recipient: RECIPIENT, gatewayMerchant: undefined, roots, ...more };
}

function keyOf(keyValue: string) {
  return createPublicKey({ key: Buffer.from(keyValue, 'base64'), format: 'der', type: 'spki' });
}

function google(payment: Partial<GooglePayment> = {}) {
  return makeGoogleToken({ recipientKey: publicKey, recipient: RECIPIENT, root, ...payment });
}

function open(
  type: WalletType,
  token: unknown,
  key?: ApplePayKey | GooglePayKey,
  nowMs = Date.now(),
): OpenedPayload {
  const read = readPayload(type, token);
  if (isWrong(read)) throw new Error(`wrong shape: ${JSON.stringify(read)}`);
  return read.type === 'apple_pay'
    ? openApplePay(read.payload, (key as ApplePayKey | undefined) ?? appleKey(), nowMs)
    : openGooglePay(read.payload, (key as GooglePayKey | undefined) ?? googleKey(), nowMs);
}

/** Why it is refused; `shape` where that is wrong already, undefined if it is opened. */
function refusal(...[type, token, key, nowMs]: Parameters<typeof open>): WhyRefused | 'shape' | undefined {
  if (isWrong(readPayload(type, token))) return 'shape';
  try {
    open(type, token, key, nowMs);
    return undefined;
  } catch (error) {
    if (error instanceof PayloadRefused) return error.why;
    throw error;
  }
}

/** Each text in it with each of these alterations, one at a time. */
function* altered(
  token: object,
  alterations: readonly ((text: string) => readonly string[])[],
): Generator<object> {
  const texts = pathsOfTexts(token);
  for (const path of texts) {
    for (const alteration of alterations) {
      for (const text of alteration(textAt(token, path))) yield withText(token, path, text);
    }
  }
}

function pathsOfTexts(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value === 'string') return [path];
  return Object.entries(value as object).flatMap(([name, inner]) => pathsOfTexts(inner, [...path, name]));
}

function textAt(value: unknown, path: readonly string[]): string {
  return path.reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], value) as string;
}

function withText(token: object, path: readonly string[], text: string): object {
  const copy = structuredClone(token);
  const holder = path
    .slice(0, -1)
    .reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], copy);
  (holder as Record<string, string>)[path.at(-1) as string] = text;
  return copy;
}

/** One bit of every byte that the text stands for; of the long ones every few bytes. */
function bitsOf(encoding: 'base64' | 'hex') {
  return (text: string): string[] => {
    const bytes = Buffer.from(text, encoding);
    if (bytes.toString(encoding) !== text) return [];
    return Array.from(bytes, (byte, at) => {
      const flipped = Buffer.from(bytes);
      flipped[at] = byte ^ (1 << (at % 8));
      return flipped.toString(encoding);
    });
  };
}

const charactersOf = (text: string) =>
  Array.from(text, (character, at) => {
    const other = character === 'A' ? 'B' : 'A';
    return text.slice(0, at) + other + text.slice(at + 1);
  });
const shortened = (text: string) => [
  '',
  text.slice(1),
  text.slice(0, -1),
  `${text}A`,
  `${text}\n`,
  ` ${text}`,
];

describe('Apple Pay', () => {
  test('payment data: opened → the device’s card, its cryptogram and what was agreed to', () => {
    const opened = open(
      'apple_pay',
      apple({ pan: '4012888888881881', eci: '5', applicationData: 'ab'.repeat(32) }),
    );
    expect(opened.card.number.reveal()).toBe('4012888888881881');
    expect(opened.card.expiry).toEqual({ month: 12, year: 2030 });
    expect(opened.card.threeDSecure?.eci).toBe('05');
    expect(opened.card.threeDSecure?.authenticationValue?.reveal()).toBe(
      Buffer.alloc(20, 7).toString('base64'),
    );
    expect(opened.agreed).toEqual({ amountCents: 1995, currency: 'AUD' });
  });

  test('signed with definite lengths, and without an indicator → opened just so', () => {
    const opened = open('apple_pay', apple({ indefinite: false, eci: '' }));
    expect(opened.card.threeDSecure?.eci).toBeUndefined();
    expect(opened.card.threeDSecure?.authenticationValue).toBeDefined();
  });

  // catches(wallets: one text only for the same bytes)
  // catches(wallets: what is signed is this token)
  // catches(wallets: the signature is the signer's)
  test('any bit of any byte altered, or a text shortened or lengthened → refused', () => {
    const token = apple({ applicationData: 'cd'.repeat(32) });
    let count = 0;
    for (const one of altered(token, [bitsOf('base64'), bitsOf('hex'), shortened])) {
      count += 1;
      expect(refusal('apple_pay', one), JSON.stringify(one)).toBeDefined();
    }
    expect(count).toBeGreaterThan(1_000);
  });

  // catches(wallets: what is signed has fixed lengths)
  test('the end of one signed value passed off as the beginning of the next → refused', () => {
    const token = apple({ applicationData: 'cd'.repeat(32) });
    const { transactionId = '', applicationData = '' } = token.header;
    const all = transactionId + applicationData;
    const { applicationData: _, ...without } = token.header;
    for (const length of [0, 2, 32, 62, 66, 96, 128]) {
      const header = {
        ...token.header,
        transactionId: all.slice(0, length),
        applicationData: all.slice(length),
      };
      expect(refusal('apple_pay', { ...token, header }), String(length)).toBeDefined();
    }
    expect(refusal('apple_pay', { ...token, header: { ...without, transactionId: all } })).toBeDefined();
    const data = Buffer.concat([Buffer.from(token.data, 'base64'), Buffer.from(transactionId, 'hex')]);
    const header = { ...without, transactionId: applicationData };
    expect(refusal('apple_pay', { ...token, data: data.toString('base64'), header })).toBeDefined();
  });

  test('its transaction ID in capital letters → the same ID', () => {
    const token = apple();
    const header = { ...token.header, transactionId: token.header.transactionId.toUpperCase() };
    expect(open('apple_pay', { ...token, header }).id).toBe(open('apple_pay', token).id);
  });

  // catches(wallets: what was signed long ago is not taken)
  test.each([
    ['six minutes ago', -6 * MINUTE_MS],
    ['in six minutes', 6 * MINUTE_MS],
  ])('signed %s → refused', (_, sinceMs) => {
    const token = apple({ signedAt: new Date(Date.now() + sinceMs) });
    expect(refusal('apple_pay', token)).toBe('expired');
  });

  // catches(wallets: the chain ends at a root of the operator's)
  test.each<readonly [string, AppleChain]>([
    ['another root of the same name', makeAppleChain()],
    // catches(wallets: a certificate signs tokens only with its mark)
    ['a signer without Apple’s mark', makeAppleChain({ root: chain.root, leafMarks: [] })],
    // catches(wallets: a certificate signs signers only with its mark)
    ['an intermediate without Apple’s mark', makeAppleChain({ root: chain.root, intermediateMarks: [] })],
    // catches(wallets: an expired certificate signs nothing)
    [
      'a signer that has expired',
      makeAppleChain({ root: chain.root, leafUntil: new Date(Date.now() - MINUTE_MS) }),
    ],
    [
      'an intermediate of another root under the right signer',
      { ...chain, intermediate: makeAppleChain().intermediate },
    ],
    [
      'another signer’s certificate',
      { ...chain, leaf: { ...makeAppleChain().leaf, privateKey: chain.leaf.privateKey } },
    ],
    ['a signer that signs by the root itself', directChain()],
    ['a signer that is the root', { ...chain, leaf: chain.root, intermediate: chain.intermediate }],
  ])('signed by %s → refused', (_, other) => {
    expect(refusal('apple_pay', apple({}, other))).toBe('forged');
  });

  test('for another merchant’s identifier, or another merchant’s key → refused', () => {
    expect(refusal('apple_pay', apple({ merchantIdentifier: 'merchant.com.example.other' }))).toBe('foreign');
    const other = Buffer.from(makeGooglePair().keyValue, 'base64');
    expect(refusal('apple_pay', apple({ merchantKey: other }))).toBe('foreign');
  });

  test.each<readonly [string, Partial<ApplePayment>]>([
    ['a number that fails Luhn', { pan: '4111111111111112' }],
    ['no number', { content: { applicationPrimaryAccountNumber: undefined } }],
    ['a number as a number', { content: { applicationPrimaryAccountNumber: 4111111111111111 } }],
    ['a thirteenth month', { expires: '301331' }],
    ['an EMV payload', { content: { paymentDataType: 'EMV', paymentData: { emvData: 'AAAA' } } }],
    ['no cryptogram', { cryptogram: '' }],
    ['a cryptogram that is not base64', { cryptogram: '****' }],
    ['an endless cryptogram', { cryptogram: Buffer.alloc(65, 1).toString('base64') }],
    ['an indicator of letters', { eci: 'AB' }],
    ['an unknown currency', { currencyCode: '000' }],
    ['half a cent', { amountCents: 19.5 }],
    ['a negative amount', { amountCents: -1 }],
    ['an amount beyond all', { amountCents: 1e15 }],
  ])('signed and encrypted, with %s → refused', (_, payment) => {
    expect(refusal('apple_pay', apple(payment))).toBe('unusable');
  });

  test('a thousand byte strings that are no signature → refused, each at once', () => {
    const token = apple();
    const bytes = Buffer.from(token.signature, 'base64');
    for (let round = 0; round < 1_000; round += 1) {
      const one = Buffer.from(bytes.subarray(0, 1 + ((round * 37) % bytes.length)));
      for (let at = 0; at < 4; at += 1)
        one[(round * 7919 + at * 104729) % one.length] = (round * 31 + at * 97) % 256;
      if (one.equals(bytes)) continue;
      expect(refusal('apple_pay', { ...token, signature: one.toString('base64') })).toBe('forged');
    }
    const nested = Buffer.concat([Buffer.alloc(6_000, Buffer.from([0x30, 0x80])), Buffer.alloc(6_000)]);
    expect(refusal('apple_pay', { ...token, signature: nested.toString('base64') })).toBe('forged');
  });
});

function directChain(): AppleChain {
  const leaf = makeCertificate({
    name: 'Wallet Signer',
    issuer: chain.root,
    isAuthority: false,
    marks: ['2a864886f76364061d'],
  });
  return { ...chain, leaf };
}

describe('Google Pay', () => {
  test('a token with a cryptogram: opened → the device’s card and its cryptogram', () => {
    const opened = open('google_pay', google({ pan: '5555555555554444', messageId: 'm-1' }));
    expect(opened.card.number.reveal()).toBe('5555555555554444');
    expect(opened.card.expiry).toEqual({ month: 12, year: 2030 });
    expect(opened.card.threeDSecure?.eci).toBe('05');
    expect(opened.id).toBe('m-1');
  });

  test('a token with a card number alone → opened without a cryptogram', () => {
    expect(open('google_pay', google({ authMethod: 'PAN_ONLY' })).card.threeDSecure).toBeUndefined();
  });

  test('as the text that Google hands out → opened just so', () => {
    expect(open('google_pay', JSON.stringify(google({ messageId: 'm-2' }))).id).toBe('m-2');
  });

  test('any bit of a signature, or any character of what is signed altered → refused', () => {
    let count = 0;
    for (const one of altered(google(), [bitsOf('base64'), charactersOf, shortened])) {
      count += 1;
      expect(refusal('google_pay', one), JSON.stringify(one)).toBeDefined();
    }
    expect(count).toBeGreaterThan(1_000);
  });

  // catches(wallets: a key of Google Pay is signed by a root of the operator's)
  test.each<readonly [string, Partial<GooglePayment>]>([
    ['another root', { root: makeGooglePair() }],
    // catches(wallets: a message of Google Pay is signed for this recipient)
    ['for another recipient', { recipient: 'merchant:12346' }],
    ['for a gateway of that name', { recipient: 'gateway:12345' }],
    ['in another version of the protocol', { protocolVersion: 'ECv1' }],
  ])('signed by or %s → refused', (_, payment) => {
    const token = { ...google(payment), protocolVersion: 'ECv2' };
    expect(refusal('google_pay', token)).toBe('forged');
  });

  // catches(wallets: what is encrypted for another key is not decrypted)
  test('for another key → refused', () => {
    const other = makeGooglePair();
    expect(refusal('google_pay', google({ recipientKey: Buffer.from(other.keyValue, 'base64') }))).toBe(
      'foreign',
    );
  });

  // catches(wallets: an expired message is not taken)
  // catches(wallets: an expired root signs nothing)
  // catches(wallets: an expired key of Google Pay signs nothing)
  test('an expired message, key or root → refused', () => {
    const past = new Date(Date.now() - 1);
    expect(refusal('google_pay', google({ expires: past }))).toBe('expired');
    expect(refusal('google_pay', google({ intermediateExpires: past }))).toBe('expired');
    const roots = [{ publicKey: keyOf(root.keyValue), expiresMs: past.getTime() }];
    expect(refusal('google_pay', google(), googleKey({ roots }))).toBe('forged');
  });

  // catches(wallets: a message for another merchant of the gateway is not taken)
  test('through a gateway: only for the merchant that it names', () => {
    const key = googleKey({ recipient: 'gateway:example', gatewayMerchant: 'shop-1' });
    const token = (gatewayMerchantId?: string) =>
      google({ recipient: 'gateway:example', ...(gatewayMerchantId !== undefined && { gatewayMerchantId }) });
    expect(refusal('google_pay', token('shop-1'), key)).toBeUndefined();
    expect(refusal('google_pay', token('shop-2'), key)).toBe('foreign');
    expect(refusal('google_pay', token(), key)).toBe('foreign');
    expect(refusal('google_pay', google({ gatewayMerchantId: 'shop-1' }))).toBe('foreign');
  });

  test.each<readonly [string, Partial<GooglePayment>]>([
    ['a number that fails Luhn', { pan: '4111111111111112' }],
    ['no message ID', { content: { messageId: undefined } }],
    ['no expiration', { content: { messageExpiration: undefined } }],
    ['an expiration that is a number', { content: { messageExpiration: Date.now() + MINUTE_MS } }],
    ['another method than a card', { content: { paymentMethod: 'TOKENIZED_CARD' } }],
    ['no cryptogram', { cryptogram: '' }],
    ['another way to authenticate', { content: { paymentMethodDetails: { authMethod: 'PIN' } } }],
  ])('signed and encrypted, with %s → refused', (_, payment) => {
    expect(refusal('google_pay', google(payment))).toBe('unusable');
  });
});
