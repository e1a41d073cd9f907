// IDs that nobody can guess, each kind with a prefix of its own.
import { randomInt } from 'node:crypto';

/** Without digits and vowels: no ID looks like a card number, or spells a word. */
const LETTERS = 'bcdfghjkmnpqrstvwxyz';
const LENGTH = 28;

export function unguessableIdPattern(prefix: string): string {
  return `^${prefix}[${LETTERS}]{${LENGTH}}$`;
}

/** 121 bits that nobody can guess. */
export function makeUnguessableId(prefix: string): string {
  const letters = Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]);
  return prefix + letters.join('');
}
