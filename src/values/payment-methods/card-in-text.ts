// Finds card numbers in texts that must not hold one: references, names, KVPs, correlation IDs.
import { cardTypeOf, isDigit, LONGEST_CARD, luhnShare, SHORTEST_CARD } from './card.js';

function holdsDigits(text: string, atLeast: number): boolean {
  if (text.length < atLeast) return false;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    if (isDigit(text.charCodeAt(at)) && ++count === atLeast) return true;
  }
  return false;
}

/** What may stand between the groups of a card number: one of them or several, the same all through or not. */
export const CARD_SEPARATORS = ' -./_:,+';
const isSeparator = (code: number) => code === 32 || (code >= 43 && code <= 47) || code === 58 || code === 95;

/** Nobody prints a card in shorter groups, unless all of them are as short. A date and time has some of two digits. */
const SHORTEST_GROUP = 3;

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
  return holdsCardNumber(text) && holdsCardNumber(text.replace(IDS, 'x'));
}

/** One pass: at the end of each group of digits only the few groups before it are looked at. */
function holdsCardNumber(text: string): boolean {
  let length = 0;
  /** Digits in the groups that separators join, up to here. */
  let joined = 0;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    if (isDigit(code)) {
      length += 1;
      continue;
    }
    if (length > 0) {
      joined += length;
      if (joined >= SHORTEST_CARD && endsInCardNumber(text, at)) return true;
      length = 0;
    }
    if (!isSeparator(code)) joined = 0;
  }
  return false;
}

/**
 * Whether the group that ends here, with some before it, is a card number. It may be written in groups of any length that
 * is not too short, or in equal groups: only the last group may have fewer digits.
 */
function endsInCardNumber(text: string, end: number): boolean {
  let lastLength = 0;
  let common = 0;
  let areLong = true;
  let areEqual = true;
  let digits = 0;
  let luhnSum = 0;
  for (let at = end; at > 0 && isDigit(text.charCodeAt(at - 1)); at = beforeSeparators(text, at)) {
    const behind = digits;
    for (let code = text.charCodeAt(at - 1); isDigit(code); code = text.charCodeAt(at - 1)) {
      if (digits === LONGEST_CARD) return false;
      luhnSum += luhnShare(code, digits % 2 === 1);
      digits += 1;
      at -= 1;
    }
    const length = digits - behind;
    if (behind === 0) lastLength = length;
    else {
      common ||= length;
      areLong &&= length >= SHORTEST_GROUP;
      areEqual &&= length === common && lastLength <= common;
      if (!areLong && !areEqual) return false;
    }
    if (digits >= SHORTEST_CARD && luhnSum % 10 === 0 && isCard(text.slice(at, end))) return true;
  }
  return false;
}

/** Where the group before this one ends, if separators join the two. */
function beforeSeparators(text: string, from: number): number {
  let at = from;
  while (at > 0 && isSeparator(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

function isCard(written: string): boolean {
  return cardTypeOf(written.replaceAll(/[^0-9]/g, '')) !== '';
}
