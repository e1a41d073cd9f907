// Passkeys (WebAuthn): what a browser is asked, and whether it has answered. User verification is required, so that a passkey is two
// factors: the device, and whoever holds it.

import { isIP } from 'node:net';
import {
  type AuthenticationResponseJSON,
  type AuthenticatorTransport,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import type { Passkey } from '../operator.js';
import { CHALLENGE_MS } from './challenges.js';

export type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
};

const SERVICE = 'Tollgate';
const LONGEST_LABEL = 60;

/** Passkeys belong to a name, and never to an address. */
export function takesPasskeys(origin: string): boolean {
  const { hostname } = new URL(origin);
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
}

export function registrationOptions(
  origin: string,
  challenge: string,
  operator: { readonly name: string; readonly handle: Buffer; readonly passkeys: readonly Passkey[] },
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  return generateRegistrationOptions({
    rpName: SERVICE,
    rpID: hostIn(origin),
    userName: operator.name,
    userID: new Uint8Array(operator.handle),
    challenge: bytesOf(challenge),
    timeout: CHALLENGE_MS,
    attestationType: 'none',
    excludeCredentials: operator.passkeys.map(asked),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/** Undefined where it is none that this console can use. */
export async function registered(
  response: RegistrationResponseJSON,
  origin: string,
  challenge: string,
  { label, addedMs }: Pick<Passkey, 'label' | 'addedMs'>,
): Promise<Passkey | undefined> {
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: hostIn(origin),
    requireUserVerification: true,
  }).catch(() => ({ verified: false, registrationInfo: undefined }));
  if (!verified || registrationInfo === undefined) return undefined;
  const { id, publicKey, transports = [] } = registrationInfo.credential;
  return {
    id,
    publicKey: Buffer.from(publicKey).toString('base64url'),
    label: label.slice(0, LONGEST_LABEL),
    transports: transports.map(String),
    addedMs,
  };
}

/** Without passkeys: whichever the device has for this name. */
export function authenticationOptions(
  origin: string,
  challenge: string,
  passkeys: readonly Passkey[] = [],
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  return generateAuthenticationOptions({
    rpID: hostIn(origin),
    challenge: bytesOf(challenge),
    timeout: CHALLENGE_MS,
    userVerification: 'required',
    allowCredentials: passkeys.map(asked),
  });
}

/** How often the passkey has signed by now, as it counts itself; undefined where it has not signed this. */
export async function signedBy(
  response: AuthenticationResponseJSON,
  origin: string,
  challenge: string,
  { id, publicKey }: Passkey,
  counter: number,
): Promise<number | undefined> {
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: hostIn(origin),
    requireUserVerification: true,
    credential: { id, publicKey: bytesOf(publicKey), counter },
  }).catch(() => ({ verified: false, authenticationInfo: undefined }));
  return verified ? authenticationInfo?.newCounter : undefined;
}

/** The challenge that a browser says it has answered. */
export function challengeIn(clientDataJSON: string): string {
  try {
    const { challenge } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'));
    return typeof challenge === 'string' ? challenge : '';
  } catch {
    return '';
  }
}

function hostIn(origin: string): string {
  return new URL(origin).hostname;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, 'base64url'));
}

function asked({ id, transports }: Passkey): { id: string; transports: AuthenticatorTransport[] } {
  return { id, transports: transports as AuthenticatorTransport[] };
}
