// What operators sign in by, as they set it themselves: by a link everything anew, when they are signed in a further passkey.
import type { CredentialKey } from '../../organisations/users/credentials.js';
import type { Queryable } from '../../postgres/database.js';
import { refuse } from '../../values/refusal.js';
import {
  changeOperator,
  NO_MEANS,
  type Passkey,
  type SealedOperator,
  type SignInMeans,
} from '../operator.js';
import { endSessionsOf, type Session } from '../sessions.js';
import { lastPasswordsOf } from './new-password.js';
import { refuseDisabled, signedIn, type Visitor } from './sign-in.js';

const MOST_PASSKEYS = 10;

export interface PasskeyView {
  readonly id: string;
  readonly label: string;
  readonly added_at: Date;
}

/** In place of whatever there was: who needs a link has lost it, or somebody else has it. Every session ends, and a new one begins. */
export async function enrol(
  database: Queryable,
  key: CredentialKey,
  { operator: enrolling }: Session,
  means: Partial<SignInMeans>,
  method: 'passkey' | 'password',
  visitor: Visitor,
): Promise<string> {
  const { name } = enrolling;
  await refuseDisabled(database, key, enrolling, method);
  return database.transaction(async (connection) => {
    const change = { actor: `operator:${name}`, action: 'operator.enrolled', detail: method } as const;
    const operator = await changeOperator(connection, key, name, change, (before) => {
      if (before.removed) refuse('operator_removed', { name });
      return { ...NO_MEANS, ...means, formerPasswords: lastPasswordsOf(before) };
    });
    await endSessionsOf(connection, name);
    return signedIn(connection, key, operator, method, visitor);
  });
}

/** A further passkey of somebody who is signed in. */
export async function addPasskey(
  database: Queryable,
  key: CredentialKey,
  name: string,
  passkey: Passkey,
): Promise<PasskeyView[]> {
  const change = {
    actor: `operator:${name}`,
    action: 'operator.enrolled',
    detail: 'a further passkey',
  } as const;
  const operator = await changeOperator(database, key, name, change, ({ passkeys }) => {
    if (passkeys.length >= MOST_PASSKEYS) refuse('too_many_passkeys', { most: MOST_PASSKEYS });
    return { passkeys: [...passkeys, passkey] };
  });
  return listPasskeys(operator);
}

/** Not the last way in. */
export async function removePasskey(
  database: Queryable,
  key: CredentialKey,
  name: string,
  id: string,
): Promise<PasskeyView[]> {
  const change = {
    actor: `operator:${name}`,
    action: 'operator.enrolled',
    detail: 'without a passkey',
  } as const;
  const operator = await changeOperator(database, key, name, change, (before) => {
    const left = before.passkeys.filter((passkey) => passkey.id !== id);
    if (left.length === before.passkeys.length) refuse('passkey_not_found');
    if (left.length === 0 && before.password === null && before.providerSubject === null)
      refuse('last_passkey');
    return { passkeys: left };
  });
  return listPasskeys(operator);
}

export function listPasskeys({ passkeys }: Pick<SealedOperator, 'passkeys'>): PasskeyView[] {
  return passkeys.map(({ id, label, addedMs }) => ({ id, label, added_at: new Date(addedMs) }));
}
