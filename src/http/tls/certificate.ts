// The certificate that the gateway shows its clients, with its key: checked before it is used, and how long it lasts.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** In PEM. It can be sent to another process. */
export interface CertificatePair {
  /** The certificate, followed by those between it and one that clients trust. */
  readonly certificate: string;
  readonly key: string;
}

export interface Certificate {
  readonly pair: CertificatePair;
  /** SHA-256 of the certificate, as `AA:BB:…`. */
  readonly fingerprint: string;
  readonly validFromMs: number;
  readonly expiresAtMs: number;
}

/** A pair that cannot be used: it is cut short, its halves do not belong together, or it is something else. */
export class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate';
}

const BEGIN = /-----BEGIN CERTIFICATE-----/g;
const END = /-----END CERTIFICATE-----/g;

export function checkedCertificate(pair: CertificatePair): Certificate {
  const begun = pair.certificate.match(BEGIN)?.length ?? 0;
  if (begun === 0) throw new UnusableCertificate('the certificate is not in PEM');
  // A file that ends between two certificates of its chain cannot be told from a whole one; anywhere else it can.
  // guard(certificates: one that is cut short is said to be): !== pair.certificate.match(END)?.length ⇒ < 0
  if (begun !== pair.certificate.match(END)?.length) {
    throw new UnusableCertificate('the certificate is cut short');
  }
  const leaf = read(() => new X509Certificate(pair.certificate), 'the certificate cannot be read');
  // guard(certificates: the key belongs to the certificate): !leaf.checkPrivateKey(privateKey(pair.key)) ⇒ privateKey(pair.key) === undefined
  if (!leaf.checkPrivateKey(privateKey(pair.key))) {
    throw new UnusableCertificate('the key is not that of the certificate');
  }
  // What OpenSSL has against it, such as a key that is too short, it says only now.
  read(
    () => createSecureContext({ cert: pair.certificate, key: pair.key }),
    'the certificate cannot be used for TLS',
  );
  return {
    pair,
    fingerprint: leaf.fingerprint256,
    validFromMs: Date.parse(leaf.validFrom),
    expiresAtMs: Date.parse(leaf.validTo),
  };
}

function privateKey(pem: string): KeyObject {
  return read(
    () => createPrivateKey(pem),
    'the key cannot be read; it must be in PEM, whole, and without a passphrase',
  );
}

/** The reasons of OpenSSL are left out: they may repeat what stands in the file of the key. */
function read<Result>(work: () => Result, otherwise: string): Result {
  try {
    return work();
  } catch {
    throw new UnusableCertificate(otherwise);
  }
}

const DAY_MS = 86_400_000;
const WARN_AT_DAYS = [1, 7, 30] as const;

/** How near its end a certificate is: under so many days (30, 7 or 1), or 0 where it has expired. Undefined while there is time. */
export function daysToExpiry({ expiresAtMs }: Certificate, nowMs: number): 0 | 1 | 7 | 30 | undefined {
  if (expiresAtMs <= nowMs) return 0;
  return WARN_AT_DAYS.find((days) => expiresAtMs - nowMs <= days * DAY_MS);
}

export function isInForce({ validFromMs, expiresAtMs }: Certificate, nowMs: number): boolean {
  return validFromMs <= nowMs && nowMs < expiresAtMs;
}
