// Finds card numbers in texts that must not hold one: references, names, KVPs, correlation IDs.
import { cardTypeOf, isDigit, LONGEST_CARD, luhnRemainder, luhnValid, SHORTEST_CARD } from './card.js';

function holdsDigits(text: string, atLeast: number): boolean {
  if (text.length < atLeast) return false;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    if (isDigit(text.charCodeAt(at)) && ++count === atLeast) return true;
  }
  return false;
}

/** What may stand between the groups of a card number, the same all through. */
export const CARD_SEPARATORS = ' -._:,+';
const isSeparator = (code: number) => code === 32 || (code >= 43 && code <= 46) || code === 58 || code === 95;

/** The groups in which card numbers are printed and typed, as lengths. Any other grouping is some other number. */
export const CARD_GROUPS: readonly (readonly number[])[] = [
  ...[1, 2, 3, 4].map((last) => [4, 4, 4, last]),
  ...[1, 2, 3].map((last) => [4, 4, 4, 4, last]),
  [4, 6, 5],
  [4, 6, 4],
  [4, 3, 3, 3],
  [6, 13],
];

// The lengths of the last groups are kept in one number, five bits for each: this runs on every text of a payment.
const GROUP_BITS = 5;
const GROUP_MASK = (1 << GROUP_BITS) - 1;
const FIVE_GROUPS_MASK = (1 << (5 * GROUP_BITS)) - 1;
const withGroup = (groups: number, length: number) =>
  ((groups << GROUP_BITS) | Math.min(length, GROUP_MASK)) & FIVE_GROUPS_MASK;

/** By the length of the last group: the groups, which bits they take, and how much text with its separators. */
const GROUPS_BY_LAST = Array.from({ length: GROUP_MASK + 1 }, (_, last) =>
  CARD_GROUPS.filter((groups) => groups.at(-1) === last).map((groups) => ({
    groups: groups.reduce(withGroup, 0),
    mask: (1 << (groups.length * GROUP_BITS)) - 1,
    span: groups.reduce((sum, length) => sum + length, groups.length - 1),
  })),
);

// IDs that are made of hexadecimal digits: a UUID; 32 digits or more (a UUID without hyphens, a digest), also with
// what follows them in a W3C traceparent. Whatever stands before or behind them does not matter.
const IDS =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32,}(?:-[0-9a-f]{16}-[0-9a-f]{2})?/gi;

/**
 * Whether digits inside the text are a card number by scheme range, by that scheme's length and by Luhn. A number
 * begins and ends where a group of digits does: inside a longer number every tenth stretch would pass for a card.
 * Digits of an ID do not count: one random UUID in a few thousand would be taken for a card and its payment refused.
 */
export function containsCardNumber(text: string): boolean {
  if (!holdsDigits(text, SHORTEST_CARD)) return false;
  // IDs are looked for only where something was found, which is hardly ever.
  return holdsCardNumber(text) && holdsCardNumber(text.replace(IDS, '/'));
}

/** One pass: at the end of each group of digits only the few groups before it are looked at. */
function holdsCardNumber(text: string): boolean {
  /** The groups that one kind of separator joins, up to here. */
  let groups = 0;
  let separator = 0;
  let length = 0;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    if (isDigit(code)) {
      length += 1;
      continue;
    }
    if (length > 0) {
      groups = withGroup(groups, length);
      if (endsInCardNumber(text, at, length, groups)) return true;
      if (code !== separator) groups = withGroup(0, length);
    }
    if (length === 0 || !isSeparator(code)) groups = 0;
    separator = code;
    length = 0;
  }
  return false;
}

function endsInCardNumber(text: string, end: number, length: number, groups: number): boolean {
  if (length >= SHORTEST_CARD && length <= LONGEST_CARD) {
    const digits = text.slice(end - length, end);
    if (luhnValid(digits) && cardTypeOf(digits) !== '') return true;
  }
  if (length > GROUP_MASK || groups === length) return false;
  const separator = text.charCodeAt(end - length - 1);
  for (const { groups: wanted, mask, span } of GROUPS_BY_LAST[length] as (typeof GROUPS_BY_LAST)[number]) {
    if ((groups & mask) !== wanted || luhnRemainder(text, end - span, end, separator) !== 0) continue;
    const digits = text.slice(end - span, end).replaceAll(String.fromCharCode(separator), '');
    if (cardTypeOf(digits) !== '') return true;
  }
  return false;
}
