// Certificates of clients: which of them a user is bound to, by their fingerprints. Who has issued one does not matter, since it is
// known itself; that a client has its key is proved in the handshake.
import { X509Certificate } from 'node:crypto';

/** What a client has shown. */
export interface ShownCertificate {
  /** SHA-256. */
  readonly fingerprint: Buffer;
  readonly validFromMs: number;
  readonly expiresAtMs: number;
}

export function shownCertificate({ fingerprint256, validFrom, validTo }: X509Certificate): ShownCertificate {
  return {
    fingerprint: Buffer.from(fingerprint256.replaceAll(':', ''), 'hex'),
    validFromMs: Date.parse(validFrom),
    expiresAtMs: Date.parse(validTo),
  };
}

/** A user that is bound to none needs none. */
export function isAdmitted(
  shown: ShownCertificate | undefined,
  bound: readonly Buffer[],
  nowMs: number,
): boolean {
  if (bound.length === 0) return true;
  // guard(client certificates: it is in force): || nowMs < shown.validFromMs || nowMs >= shown.expiresAtMs ⇒
  if (shown === undefined || nowMs < shown.validFromMs || nowMs >= shown.expiresAtMs) return false;
  // guard(client certificates: it is the right one): some((fingerprint) => fingerprint.equals(shown.fingerprint)) ⇒ length > 0
  return bound.some((fingerprint) => fingerprint.equals(shown.fingerprint));
}

/** As `AA:BB:…`. */
export function shownFingerprint(fingerprint: Buffer): string {
  return (fingerprint.toString('hex').toUpperCase().match(/../g) ?? []).join(':');
}

/** 64 hexadecimal digits, with colons between each two or without. */
export function readFingerprint(text: string): Buffer | undefined {
  if (!/^([0-9a-f]{64}|([0-9a-f]{2}:){31}[0-9a-f]{2})$/i.test(text)) return undefined;
  return Buffer.from(text.replaceAll(':', ''), 'hex');
}

/** In PEM or DER; of several, the first. Undefined where it is none. */
export function readClientCertificate(content: Buffer): ShownCertificate | undefined {
  try {
    return shownCertificate(new X509Certificate(content));
  } catch {
    return undefined;
  }
}
