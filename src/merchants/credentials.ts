// Secrets of users: made here, shown once, kept only as digests.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 192 random bits: nobody guesses it, so a fast digest is enough. */
export function makeSecret(): string {
  return randomBytes(24).toString('base64url');
}

export function digestSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

export function secretMatches(secret: string, digest: Buffer): boolean {
  return timingSafeEqual(digestSecret(secret), digest);
}
