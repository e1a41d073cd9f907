// The key-encryption key, which wraps and unwraps data keys. The key itself may live where the gateway never sees it.
import type { Doing } from '../../tasks/task.js';

export interface WrappedKey {
  /** Which key-encryption key wrapped it, in the provider's own terms. */
  readonly keyId: string;
  readonly wrapped: Buffer;
}

/**
 * Fits a key file, AWS KMS (Encrypt and Decrypt with an encryption context) and HashiCorp Vault Transit (encrypt and decrypt
 * with associated data). `context` names the key's purpose: unwrapping for another purpose fails.
 */
export interface KeyProvider {
  readonly name: string;
  /** Wraps under the provider's current key. */
  wrap(key: Buffer, context: string): Promise<WrappedKey>;
  unwrap(wrapped: WrappedKey, context: string): Promise<Buffer>;
  /** Creates the first key, if the provider is in charge of that. */
  prepare?(): Promise<void>;
  /** Creates a new current key, if the provider is in charge of that; the old one must still unwrap. */
  renew?(): Promise<void>;
  /** Deletes keys that wrap nothing any more. */
  forgetOthers?(): Promise<void>;
  /** Whether it has the key of this name. Asked while one provider replaces another. */
  knows?(keyId: string): Promise<boolean>;
  /** Renews the provider's own credentials. Called repeatedly. */
  renewToken?(): Promise<void>;
}

/** With what a task is done that seals or opens something. */
export type DoingWithKey = Doing<{ provider(): Promise<KeyProvider> }>;

/** The key-encryption key is missing, wrong or out of reach; the message is one clear line. */
export class KeyUnavailable extends Error {
  override readonly name = 'KeyUnavailable';
}
