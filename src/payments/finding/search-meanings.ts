// What a text in the search box may mean. One text can mean several things: each is looked for, and the answer says which it was.
import { containsCardNumber, isVirtualPan } from '../../values/card.js';
import { centsByDecimals, centsIn, isCurrency } from '../../values/money.js';
import { isCorrelationId, isRestricted } from '../../values/text.js';

export type Meaning =
  | { readonly as: 'audit'; readonly audit: number }
  | { readonly as: 'last_four'; readonly lastFour: string }
  | { readonly as: 'amount'; readonly amount: string; readonly currency?: string }
  | { readonly as: 'virtual_pan'; readonly virtualPan: string }
  | { readonly as: 'correlation_id'; readonly correlationId: string }
  | { readonly as: 'reference'; readonly reference: string }
  | { readonly as: 'customer'; readonly text: string; readonly id?: number }
  /** Is looked for nowhere: nothing is stored by which it could be found. */
  | { readonly as: 'card_number' };

/** Longer ones mean nothing. */
export const MOST_CHARACTERS = 128;
const MAX_NUMBER = 2_147_483_647;
/** Of a customer's name or reference; fewer would be in too many. */
const LEAST_CHARACTERS_OF_CUSTOMER = 3;

/** The most likely first. */
export function meaningsOf(given: string): Meaning[] {
  const text = given.trim();
  if (text === '' || text.length > MOST_CHARACTERS) return [];
  // guard(console: a card number is looked for nowhere): if (containsCardNumber(text)) return [{ as: 'card_number' }]; ⇒
  if (containsCardNumber(text)) return [{ as: 'card_number' }];
  const joined = text.replaceAll(/[ -]/g, '');
  if (isVirtualPan(joined)) return [{ as: 'virtual_pan', virtualPan: joined }];
  return [...numbers(text), ...texts(text)];
}

function numbers(text: string): Meaning[] {
  const meanings: Meaning[] = [];
  const number = /^[0-9]{1,10}$/.test(text) ? Number(text) : 0;
  const isId = number > 0 && number <= MAX_NUMBER;
  if (isId) meanings.push({ as: 'audit', audit: number });
  if (/^[0-9]{4}$/.test(text)) meanings.push({ as: 'last_four', lastFour: text });
  const amount = amountIn(text);
  if (amount !== undefined) meanings.push({ as: 'amount', ...amount });
  if (isId) meanings.push({ as: 'customer', text, id: number });
  return meanings;
}

/** As people write it: `20`, `19.95`, `$1,200.00`, `AUD 19.95`. */
function amountIn(text: string): { amount: string; currency?: string } | undefined {
  const found = /^(?:([A-Za-z]{3}) ?)?\$? ?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,12})(\.[0-9]{2,3})?$/.exec(text);
  if (found === null) return undefined;
  const [, code, whole = '', part = ''] = found;
  const amount = whole.replaceAll(',', '') + part;
  if (code === undefined) return centsByDecimals(amount).some((cents) => cents) ? { amount } : undefined;
  const currency = code.toUpperCase();
  return isCurrency(currency) && centsIn(amount, currency) ? { amount, currency } : undefined;
}

function texts(text: string): Meaning[] {
  const meanings: Meaning[] = [];
  if (isCorrelationId(text)) meanings.push({ as: 'correlation_id', correlationId: text });
  if (isRestricted(text)) meanings.push({ as: 'reference', reference: text });
  if (!/^[0-9]+$/.test(text) && text.length >= LEAST_CHARACTERS_OF_CUSTOMER)
    meanings.push({ as: 'customer', text });
  return meanings;
}
