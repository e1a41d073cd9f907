// The result of a 3-D Secure check that somebody else has made, or of a wallet.
import { Unprintable } from './unprintable.js';

/** Proves to the issuer that the cardholder was there, for one payment. */
export class AuthenticationValue extends Unprintable {
  readonly mask = '****';
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    super();
    this.#bytes = bytes;
  }

  /** As base64: a text, which nothing can erase, so that nobody may keep it. */
  reveal(): string {
    return this.#bytes.toString('base64');
  }

  erase(): void {
    this.#bytes.fill(0);
  }
}

export const THREE_D_SECURE_VERSION_PATTERN = '^2\\.[0-9]{1,2}(\\.[0-9]{1,2})?$';
/** Base64 of 20 bytes. */
export const AUTHENTICATION_VALUE_PATTERN = '^[A-Za-z0-9+/]{27}=$';
export const UUID_PATTERN = '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$';
export const NETWORK_PATTERN = '^[a-z_]{2,20}$';

export const AUTHENTICATION_STATUSES = ['Y', 'A', 'U', 'N', 'R', 'C', 'I'] as const;
export type AuthenticationStatus = (typeof AUTHENTICATION_STATUSES)[number];

export interface ThreeDSecure {
  /** Such as `2.2.0`. */
  readonly version?: string;
  /** Electronic commerce indicator: two digits. */
  readonly eci?: string;
  readonly authenticationValue?: AuthenticationValue;
  readonly dsTransactionId?: string;
  readonly status?: AuthenticationStatus;
  /** The scheme that it was made with, of a card that has two. */
  readonly network?: string;
}
