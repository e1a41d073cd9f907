// The key-encryption key: who wraps and unwraps data keys. The key itself may live where the gateway never sees it.
import type { Doing } from '../../tasks/task.js';

export interface WrappedKey {
  /** Which key-encryption key wrapped it, in the provider's own terms. */
  readonly keyId: string;
  readonly wrapped: Buffer;
}

/**
 * Made to fit a key in a file as well as AWS KMS (Encrypt and Decrypt with an encryption context) and HashiCorp Vault
 * Transit (encrypt and decrypt with associated data). `context` says what the key is for; a key that is unwrapped for
 * another purpose does not open.
 */
export interface KeyProvider {
  readonly name: string;
  /** Wraps under the provider's current key. */
  wrap(key: Buffer, context: string): Promise<WrappedKey>;
  unwrap(wrapped: WrappedKey, context: string): Promise<Buffer>;
  /** Makes a first key where that is the provider's to do and there is none. */
  prepare?(): Promise<void>;
  /** Makes a new current key where that is the provider's to do; the old one must go on unwrapping. */
  renew?(): Promise<void>;
  /** Forgets keys that nothing is wrapped under any more. */
  forgetOthers?(): Promise<void>;
  /** Whether it has the key of this name. Asked while one provider takes another's place. */
  knows?(keyId: string): Promise<boolean>;
  /** Keeps what it authenticates itself with from ending. Called again and again. */
  renewToken?(): Promise<void>;
}

/** With what a task is done that seals or opens something. */
export type DoingWithKey = Doing<{ provider(): Promise<KeyProvider> }>;

/** The key-encryption key is missing, wrong or out of reach; the message is one clear line. */
export class KeyUnavailable extends Error {
  override readonly name = 'KeyUnavailable';
}
