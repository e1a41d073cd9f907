// Certificates of clients: which of them a user is bound to, by their fingerprints. Who has issued one does not matter, since it is
// known itself; that a client has its key is proved in the handshake.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { refuse } from '../../values/refusal.js';
import { unreadable } from '../../values/whole-file.js';

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

/** Of 64 hexadecimal digits, with colons between each two or without; or of the certificate in a file, in PEM or DER. */
export function fingerprintIn(text: string): Buffer {
  if (/^([0-9a-f]{64}|([0-9a-f]{2}:){31}[0-9a-f]{2})$/i.test(text))
    return Buffer.from(text.replaceAll(':', ''), 'hex');
  const { fingerprint, expiresAtMs } = certificateIn(text);
  if (expiresAtMs <= Date.now()) {
    const expired = new Date(expiresAtMs).toISOString();
    refuse('client_certificate_expired', { path: text, expired });
  }
  return fingerprint;
}

/** Of several, the first. */
function certificateIn(path: string): ShownCertificate {
  const content = contentOf(path);
  try {
    return shownCertificate(new X509Certificate(content));
  } catch {
    return refuse('client_certificate_unreadable', { path });
  }
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    return unreadable(path)(error as Error);
  }
}
