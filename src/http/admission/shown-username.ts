// How a user name that somebody tried is shown in the log. It can be anything: a card number, a secret in the wrong place.
import { containsCardNumber } from '../../values/card.js';

/** What a user can be called. */
const USERNAME = /^[A-Za-z0-9._@-]{1,64}$/;
/** What secrets look like that the gateway has made. */
const SECRET = /^[A-Za-z0-9_-]{32}$/;

export function shownUsername(tried: string): string {
  if (tried === '') return '(empty)';
  if (!USERNAME.test(tried)) return '(no possible user name)';
  if (SECRET.test(tried)) return '(perhaps a secret)';
  return containsCardNumber(tried) ? tried.replaceAll(/[0-9]/g, '*') : tried;
}
