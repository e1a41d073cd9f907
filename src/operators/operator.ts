// What an operator is, as far as its seal goes: the console lets nobody in who is not as it was sealed.
import type { OperatorRole } from '../tasks/task.js';
import type { OrganisationId } from '../values/ids.js';

/** A passkey: the public half of a key pair that never leaves its device. */
export interface Passkey {
  /** As the device calls it, in base64url. */
  readonly id: string;
  readonly publicKey: string;
  /** What the operator calls it. */
  readonly label: string;
  readonly transports: readonly string[];
  readonly addedMs: number;
}

/** How an operator signs in. */
export interface SignInMeans {
  /** As `src/operators/sign-in/password.ts` writes it. */
  readonly password: string | null;
  /** The secret of their codes, sealed. */
  readonly totp: Buffer | null;
  readonly passkeys: readonly Passkey[];
  readonly providerSubject: string | null;
}

export const NO_MEANS: SignInMeans = { password: null, totp: null, passkeys: [], providerSubject: null };

/** Everything that the seal covers. */
export interface SealedOperator extends SignInMeans {
  readonly name: string;
  readonly role: OperatorRole;
  /** Empty: of the whole installation. */
  readonly organisationId: OrganisationId | null;
  /** Of the sign-in link, and until when it works. */
  readonly linkTag: Buffer | null;
  readonly linkUntilMs: number | null;
  readonly version: number;
  readonly removed: boolean;
  readonly isDemo: boolean;
}

/** What the seal of a session covers. */
export interface SealedSession {
  readonly tag: Buffer;
  readonly operator: string;
  readonly stage: SessionStage;
  readonly method: SignInMethod;
  readonly endsMs: number;
}

/** A link lets somebody in only as far as to say how they will sign in from then on. */
export type SessionStage = 'enrolling' | 'signed_in';

export type SignInMethod = 'link' | 'demo' | 'passkey' | 'password' | 'provider';
