// The request for a certificate (PKCS #10) that a merchant uploads to Apple: Apple certifies its key for payment processing.
import { type KeyObject, sign } from 'node:crypto';
import { element, oid, TAG } from './der.js';

const COMMON_NAME = oid('2.5.4.3');
const ECDSA_WITH_SHA256 = oid('1.2.840.10045.4.3.2');
const UTF8 = 0x0c;
const BITS = 0x03;
const ALL_BITS_USED = Buffer.from([0]);

/** In PEM. */
export function signingRequest(privateKey: KeyObject, publicKey: Buffer, name: string): string {
  const sequence = (...parts: readonly Buffer[]) => element(TAG.sequence, ...parts);
  const named = sequence(element(TAG.oid, COMMON_NAME), element(UTF8, Buffer.from(name)));
  const request = sequence(
    element(TAG.integer, Buffer.from([0])),
    sequence(element(TAG.set, named)),
    publicKey,
    element(TAG.zeroth),
  );
  const signature = sign('sha256', request, privateKey);
  const whole = sequence(
    request,
    sequence(element(TAG.oid, ECDSA_WITH_SHA256)),
    element(BITS, ALL_BITS_USED, signature),
  );
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines.join('\n')}\n-----END CERTIFICATE REQUEST-----\n`;
}
