// The MAC keys of a link: stored wrapped by the key-encryption key, and unwrapped only for use.
import type { KeyProvider, WrappedKey } from '../../vault/keys/key-provider.js';
import { MAC_KEY_BYTES, RetailMac } from './wire/mac.js';

/** For messages that are sent, and for those that are received. */
export interface Macs {
  readonly sending: RetailMac;
  readonly receiving: RetailMac;
}

/** Binds the wrapped keys to their link: under another name they do not open. */
export function macKeysContext(acquirer: string): string {
  return `acquirer/${acquirer}/mac`;
}

/** One hexadecimal key for both directions, or two in a row, for sending and for receiving. Undefined for anything else. */
export function readMacKeys(text: string): Buffer | undefined {
  const keys = text
    .trim()
    .split(/[\s,:]+/)
    .map((key) => Buffer.from(/^[0-9a-fA-F]{32}$/.test(key) ? key : '', 'hex'));
  const [sending, receiving = sending, ...more] = keys;
  if (sending === undefined || receiving === undefined || more.length > 0) return undefined;
  if (sending.length !== MAC_KEY_BYTES || receiving.length !== MAC_KEY_BYTES) return undefined;
  return Buffer.concat([sending, receiving]);
}

export function wrapMacKeys(provider: KeyProvider, acquirer: string, keys: Buffer): Promise<WrappedKey> {
  return provider.wrap(keys, macKeysContext(acquirer));
}

export async function openMacs(provider: KeyProvider, acquirer: string, wrapped: WrappedKey): Promise<Macs> {
  return macsOf(await provider.unwrap(wrapped, macKeysContext(acquirer)));
}

export function macsOf(keys: Buffer): Macs {
  return {
    sending: new RetailMac(keys.subarray(0, MAC_KEY_BYTES)),
    receiving: new RetailMac(keys.subarray(MAC_KEY_BYTES)),
  };
}
