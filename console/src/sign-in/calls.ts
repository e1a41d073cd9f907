// The calls by which operators sign in, say how they will sign in, and prove again who they are.
import { startAuthentication, startRegistration } from '@simplewebauthn/browser';
import type {
  LinkAnswer,
  NewCodes,
  PasskeyCreation,
  PasskeyRequest,
  SignInAnswer,
} from '../../../src/console/interface.js';
import type { Act } from '../acting.js';
import { get, post } from '../api/calls.js';

export const waysToSignIn = () => get<SignInAnswer>('/sign-in');

export const openLink = (name: string, token: string) => post<LinkAnswer>('/sign-in/link', { name, token });

export const byPassword = (name: string, password: string, code: string) =>
  post('/sign-in/password', { name, password, code: digitsOf(code) });

export async function byPasskey(): Promise<void> {
  const optionsJSON = await post<PasskeyRequest>('/sign-in/passkey/options');
  await post('/sign-in/passkey', { response: await startAuthentication({ optionsJSON }) });
}

export async function setPasskey(label: string): Promise<void> {
  const optionsJSON = await post<PasskeyCreation>('/enrol/passkey/options');
  await post('/enrol/passkey', { label, response: await startRegistration({ optionsJSON }) });
}

/** A further one, of somebody who is signed in. */
export async function addPasskey(act: Act, label: string): Promise<unknown> {
  const optionsJSON = await act<PasskeyCreation>('/passkeys/options');
  return act('/passkeys', { label, response: await startRegistration({ optionsJSON }) });
}

export const newCodes = () => post<NewCodes>('/enrol/codes');

export const setPassword = (password: string, sealed: string, code: string) =>
  post('/enrol/password', { password, sealed, code: digitsOf(code) });

export const proveByPassword = (password: string, code: string) =>
  post('/re-authenticate/password', { password, code: digitsOf(code) });

export async function proveByPasskey(): Promise<void> {
  const optionsJSON = await post<PasskeyRequest>('/re-authenticate/passkey/options');
  await post('/re-authenticate/passkey', { response: await startAuthentication({ optionsJSON }) });
}

/** Apps show them in two groups. */
function digitsOf(code: string): string {
  return code.replaceAll(/\s/g, '');
}
