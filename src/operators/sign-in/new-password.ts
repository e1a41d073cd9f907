// Which passwords operators may set: long enough, not easily guessed, and none of their last ones.
import { LIST_ORGANISATIONS } from '../../organisations/organisations.sql.js';
import type { Queryable } from '../../postgres/database.js';
import { refuse } from '../../values/refusal.js';
import type { SealedOperator } from '../operator.js';
import type { Passwords } from './password.js';

export const SHORTEST_PASSWORD = 12;
export const LONGEST_PASSWORD = 200;
/** PCI DSS 8.3.7. */
const LAST_PASSWORDS = 4;

/** `host`: the console's, which often holds the name of the company. */
export async function checkNewPassword(
  database: Queryable,
  passwords: Passwords,
  operator: SealedOperator,
  password: string,
  host: string,
): Promise<void> {
  if (password.length < SHORTEST_PASSWORD) refuse('password_too_short', { least: SHORTEST_PASSWORD });
  const { rows } = await database.query<{ name: string }>(LIST_ORGANISATIONS);
  const names = ['tollgate', operator.name, host, ...rows.map(({ name }) => name)];
  // Loaded only here: its list of common passwords is large.
  const { weaknessOf } = await import('./password-strength.js');
  const because = weaknessOf(password, names);
  // guard(passwords: none that is easily guessed): if (because !== undefined) refuse('password_too_easy', { because }); ⇒
  if (because !== undefined) refuse('password_too_easy', { because });
  for (const former of lastPasswordsOf(operator)) {
    const isThatOne = await passwords.isRight(password, former);
    // guard(passwords: none of the last four): isThatOne ⇒ false
    if (isThatOne) refuse('password_used_before', { count: LAST_PASSWORDS });
  }
}

/** As they were stored, with the present one. */
export function lastPasswordsOf({ password, formerPasswords }: SealedOperator): string[] {
  return [...(password === null ? [] : [password]), ...formerPasswords].slice(0, LAST_PASSWORDS);
}
