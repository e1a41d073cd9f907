// Certificates for tests, generated on demand: Node can sign, but not make certificates, and no other tool may be installed.
// X.509 version 3, keys on the curve P-256.
import { generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { isIPv4 } from 'node:net';

export interface TestCertificate {
  /** In PEM. Followed by that of its issuer, if another has issued it. */
  readonly certificate: string;
  readonly key: string;
  /** SHA-256, as `AA:BB:…`. */
  readonly fingerprint: string;
  readonly privateKey: KeyObject;
  readonly name: string;
}

export interface CertificateOptions {
  readonly name?: string;
  /** The names and IPv4 addresses it is valid for. */
  readonly of?: readonly string[];
  readonly from?: Date;
  readonly until?: Date;
  /** Self-signed if absent. */
  readonly issuer?: TestCertificate;
  /** Whether it may issue others. */
  readonly isAuthority?: boolean;
  /** Further extensions that say nothing but that they are there: object identifiers as they are encoded, in hexadecimal. */
  readonly marks?: readonly string[];
}

const DAY_MS = 86_400_000;

export function daysFromNow(days: number): Date {
  return new Date(Date.now() + days * DAY_MS);
}

export function makeCertificate({
  name = 'tollgate.example',
  of = ['127.0.0.1', 'localhost'],
  from = daysFromNow(-1),
  until = daysFromNow(90),
  issuer,
  isAuthority = true,
  marks = [],
}: CertificateOptions = {}): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signed = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    distinguishedName(issuer?.name ?? name),
    sequence(time(from), time(until)),
    distinguishedName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(
      3,
      sequence(
        extension(BASIC_CONSTRAINTS, isAuthority ? sequence(TRUE) : sequence()),
        extension(ALTERNATIVE_NAMES, names(of)),
        ...marks.map((mark) => extension(identifier(mark), NOTHING)),
      ),
    ),
  );
  const signature = sign('sha256', signed, issuer?.privateKey ?? privateKey);
  const whole = new X509Certificate(sequence(signed, ECDSA_WITH_SHA256, bits(signature)));
  return {
    certificate: `${whole.toString()}${issuer?.certificate ?? ''}`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    fingerprint: whole.fingerprint256,
    privateKey,
    name,
  };
}

/** Of DER: what it is, how long, and its content. */
export function encoded(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  const lengthBytes =
    length < 0x80
      ? [length]
      : length < 0x100
        ? [0x81, length]
        : [0x82, Math.floor(length / 0x100), length % 0x100];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content]);
}

export const sequence = (...parts: readonly Uint8Array[]) => encoded(0x30, Buffer.concat(parts));
export const tagged = (number: number, content: Uint8Array) => encoded(0xa0 + number, content);
export const integer = (bytes: Uint8Array) => encoded(0x02, bytes);
const bits = (bytes: Uint8Array) => encoded(0x03, Buffer.concat([Buffer.from([0]), bytes]));
export const octets = (bytes: Uint8Array) => encoded(0x04, bytes);

/** Object identifiers as they are encoded. */
export const identifier = (hex: string) => encoded(0x06, Buffer.from(hex, 'hex'));
export const ECDSA_WITH_SHA256 = sequence(identifier('2a8648ce3d040302'));
const COMMON_NAME = identifier('550403');
const BASIC_CONSTRAINTS = identifier('551d13');
const ALTERNATIVE_NAMES = identifier('551d11');
const TRUE = encoded(0x01, Buffer.from([0xff]));
export const NOTHING = encoded(0x05, Buffer.alloc(0));

function extension(kind: Uint8Array, content: Uint8Array): Buffer {
  return sequence(kind, octets(content));
}

export function distinguishedName(name: string): Buffer {
  return sequence(encoded(0x31, sequence(COMMON_NAME, encoded(0x0c, Buffer.from(name)))));
}

function names(of: readonly string[]): Buffer {
  return sequence(
    ...of.map((each) =>
      isIPv4(each)
        ? encoded(0x87, Buffer.from(each.split('.').map(Number)))
        : encoded(0x82, Buffer.from(each)),
    ),
  );
}

/** Two digits of the year, as has to be until 2049. */
export function time(date: Date): Buffer {
  return encoded(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`));
}
