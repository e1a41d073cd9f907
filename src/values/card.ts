// Card numbers, expiries and CVVs: their rules, finding card numbers in texts, and never printing them.
import type { ThreeDSecure } from './three-d-secure.js';
import { Unprintable } from './unprintable.js';

const DIGIT_ZERO = 48;

function isDigit(code: number): boolean {
  return code >= DIGIT_ZERO && code <= DIGIT_ZERO + 9;
}

/** What a digit adds to the Luhn sum: every second digit is doubled, counted from the last, which is not. */
function luhnShare(code: number, doubled: boolean): number {
  const digit = code - DIGIT_ZERO;
  return !doubled ? digit : digit < 5 ? digit * 2 : digit * 2 - 9;
}

/** The Luhn sum modulo ten, or -1 if a character is not a digit. */
function luhnRemainder(digits: string): number {
  let sum = 0;
  let doubled = false;
  for (let at = digits.length - 1; at >= 0; at--) {
    const code = digits.charCodeAt(at);
    if (!isDigit(code)) return -1;
    sum += luhnShare(code, doubled);
    doubled = !doubled;
  }
  return sum % 10;
}

export function luhnValid(digits: string): boolean {
  return digits !== '' && luhnRemainder(digits) === 0;
}

/** The check digit that makes these digits valid when appended. */
export function luhnDigit(digitsWithout: string): string {
  const remainder = luhnRemainder(`${digitsWithout}0`);
  // The message leaves out the text, which is most of a card number.
  if (remainder < 0) throw new Error('a Luhn digit needs a text of digits');
  return String((10 - remainder) % 10);
}

export type CardType =
  | 'visa'
  | 'mastercard'
  | 'amex'
  | 'diners'
  | 'discover'
  | 'jcb'
  | 'unionpay'
  | 'eftpos'
  | '';

type Scheme = { type: CardType; ranges: readonly (readonly [string, string])[]; lengths: readonly number[] };

// First and last prefix of each issuer range. Ranges of different schemes do not overlap. A range that two schemes share by agreement
// (Discover also accepts 622126 to 622925) belongs to the scheme that issues the cards.
const SCHEMES: readonly Scheme[] = [
  { type: 'visa', ranges: [['4', '4']], lengths: [13, 16, 19] },
  {
    type: 'mastercard',
    ranges: [
      ['51', '55'],
      ['2221', '2720'],
    ],
    lengths: [16],
  },
  {
    type: 'amex',
    ranges: [
      ['34', '34'],
      ['37', '37'],
    ],
    lengths: [15],
  },
  {
    type: 'diners',
    ranges: [
      ['300', '305'],
      ['3095', '3095'],
      ['36', '36'],
      ['38', '39'],
    ],
    lengths: [14, 16, 19],
  },
  {
    type: 'discover',
    ranges: [
      ['6011', '6011'],
      ['644', '659'],
    ],
    lengths: [16, 19],
  },
  { type: 'jcb', ranges: [['3528', '3589']], lengths: [16, 17, 18, 19] },
  {
    type: 'unionpay',
    ranges: [
      ['62', '62'],
      ['8100', '8171'],
    ],
    lengths: [16, 17, 18, 19],
  },
  // Cards of eftpos alone; the block was assigned to Australian banks. A card with a second scheme counts as that scheme's, because
  // online it runs over it. The full list is for members of the scheme only.
  { type: 'eftpos', ranges: [['560200', '560299']], lengths: [16] },
];

export const CARD_TYPES: readonly CardType[] = SCHEMES.map((scheme) => scheme.type);

const ALL_LENGTHS = SCHEMES.flatMap((scheme) => scheme.lengths);
const SHORTEST_CARD = Math.min(...ALL_LENGTHS);
const LONGEST_CARD = Math.max(...ALL_LENGTHS);

const IIN_LENGTH = 6;
const RANGES = SCHEMES.flatMap(({ type, ranges, lengths }) =>
  ranges.map(([first, last]) => ({
    type,
    lengths,
    from: Number(first.padEnd(IIN_LENGTH, '0')),
    to: Number(last.padEnd(IIN_LENGTH, '9')),
  })),
);

export function cardTypeOf(pan: string): CardType {
  if (pan.length < SHORTEST_CARD || pan.length > LONGEST_CARD) return '';
  const iin = Number(pan.slice(0, IIN_LENGTH));
  for (const range of RANGES) {
    if (iin >= range.from && iin <= range.to) return range.lengths.includes(pan.length) ? range.type : '';
  }
  return '';
}

const PAN_MIN_LENGTH = 12;
const PAN_MAX_LENGTH = 19;
export const CARD_NUMBER_PATTERN = `^[0-9]{${PAN_MIN_LENGTH},${PAN_MAX_LENGTH}}$`;
export const CVV_PATTERN = '^[0-9]{3,4}$';
/** MMYY, or YYMM where the first two digits cannot be a month. */
export const EXPIRY_PATTERN = '^((0[1-9]|1[0-2])[0-9]{2}|(1[3-9]|[2-9][0-9])(0[1-9]|1[0-2]))$';

const expiryDate = new RegExp(EXPIRY_PATTERN);

const SHOWN_FIRST = 6;
const SHOWN_LAST = 4;

export function maskPan(pan: string): string {
  // A shorter text is no card number; showing six and four digits would hide little of it.
  if (pan.length < PAN_MIN_LENGTH) return '*'.repeat(pan.length);
  const hidden = pan.length - SHOWN_FIRST - SHOWN_LAST;
  return pan.slice(0, SHOWN_FIRST) + '*'.repeat(hidden) + pan.slice(-SHOWN_LAST);
}

/** No regular expression: the engine keeps the last text that one was run on. */
function areDigits(text: string, least: number, most: number): boolean {
  if (text.length < least || text.length > most) return false;
  for (let at = 0; at < text.length; at += 1) if (!isDigit(text.charCodeAt(at))) return false;
  return true;
}

/**
 * Digits that cannot be printed, and can be erased: bytes outside the heap, which nothing moves or copies. They live until the acquirer
 * has been asked.
 */
abstract class SecretDigits extends Unprintable {
  readonly #digits: Buffer;

  constructor(digits: string) {
    super();
    this.#digits = Buffer.from(digits, 'latin1');
  }

  protected abstract get what(): string;

  /** Returns a string, which nothing can erase, so nobody may keep it. `writeTo` leaves no string behind. */
  reveal(): string {
    return this.#present().toString('latin1');
  }

  /** Writes the digits as ASCII, and returns how many there are. */
  writeTo(message: Uint8Array, at: number): number {
    const digits = this.#present();
    message.set(digits, at);
    return digits.length;
  }

  /** Overwrites the digits; they cannot be read any more. */
  erase(): void {
    this.#digits.fill(0);
  }

  get erased(): boolean {
    return this.#digits[0] === 0;
  }

  #present(): Buffer {
    if (this.erased) throw new Error(`the ${this.what} was erased: its acquirer has been asked`);
    return this.#digits;
  }
}

/** A card number. In the clear only to encrypt it and to send it to the acquirer. */
export class CardNumber extends SecretDigits {
  readonly mask: string;
  readonly type: CardType;

  constructor(digits: string) {
    if (!areDigits(digits, PAN_MIN_LENGTH, PAN_MAX_LENGTH))
      throw new Error('a card number is 12 to 19 digits');
    super(digits);
    this.mask = maskPan(digits);
    this.type = cardTypeOf(digits);
  }

  /** The first eight digits, which identify the issuer. Only for routing a payment. */
  get bin(): number {
    return Number(this.reveal().slice(0, BIN_DIGITS));
  }

  protected get what(): string {
    return 'card number';
  }
}

/** A CVV. The sender writes it straight into the message and erases it. */
export class Cvv extends SecretDigits {
  // Always three stars: the length is secret too.
  readonly mask = '***';

  constructor(digits: string) {
    if (!areDigits(digits, 3, 4)) throw new Error('a CVV is 3 or 4 digits');
    super(digits);
  }

  protected get what(): string {
    return 'CVV';
  }
}

const VIRTUAL_PAN_LENGTH = 16;

/** A virtual PAN stands for a stored payment method. No scheme issues cards that begin with 9. */
export function isVirtualPan(pan: string): boolean {
  return pan.length === VIRTUAL_PAN_LENGTH && pan[0] === '9' && luhnValid(pan);
}

export type Expiry = { month: number; year: number };

/** A card in the clear, as a request brings it or the vault opens it. The vault stores no CVV. */
export interface CardDetails {
  readonly number: CardNumber;
  readonly expiry: Expiry;
  readonly cvv?: Cvv;
  readonly threeDSecure?: ThreeDSecure;
}

export function parseExpiry(text: string): Expiry | undefined {
  if (!expiryDate.test(text)) return undefined;
  const head = Number(text.slice(0, 2));
  const tail = Number(text.slice(2));
  return head <= 12 ? { month: head, year: 2000 + tail } : { month: tail, year: 2000 + head };
}

/** A card is valid until the last day of the month printed on it. */
export function expired(expiry: Expiry, sydneyYear: number, sydneyMonth: number): boolean {
  return expiry.year < sydneyYear || (expiry.year === sydneyYear && expiry.month < sydneyMonth);
}

/** A range of BINs: the first six to eight digits of a card number, which identify its issuer. */
export interface BinRange {
  /** Both ends have the same number of digits. */
  readonly from: string;
  readonly to: string;
}

/** How many digits of a card number are compared. */
const BIN_DIGITS = 8;
const BIN_RANGE = /^([0-9]{6,8})(?:-([0-9]{6,8}))?$/;

/** Reads `456000-456099`, or a single BIN; undefined for anything else. */
export function parseBinRange(text: string): BinRange | undefined {
  const [, from, to = from] = BIN_RANGE.exec(text) ?? [];
  if (from === undefined || to === undefined) return undefined;
  return from.length === to.length && from <= to ? { from, to } : undefined;
}

export function formatBinRange({ from, to }: BinRange): string {
  return from === to ? from : `${from}-${to}`;
}

/** The first and the last eight-digit number in the range. */
export function binBounds({ from, to }: BinRange): readonly [first: number, last: number] {
  return [Number(from.padEnd(BIN_DIGITS, '0')), Number(to.padEnd(BIN_DIGITS, '9'))];
}

// References, names, KVPs and correlation IDs must not hold a card number.

function holdsDigits(text: string, atLeast: number): boolean {
  if (text.length < atLeast) return false;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    if (isDigit(text.charCodeAt(at)) && ++count === atLeast) return true;
  }
  return false;
}

/** Characters that may separate the groups of a card number, in any number and mixture. */
export const CARD_SEPARATORS = ' -./_:,+';
const isSeparator = (code: number) => code === 32 || (code >= 43 && code <= 47) || code === 58 || code === 95;

/** Nobody prints a card in shorter groups, unless all groups are as short. Dates and times have groups of two digits. */
const SHORTEST_GROUP = 3;

// IDs of hexadecimal digits, wherever they stand: a UUID; or 32 or more digits (a UUID without hyphens, a digest), with the rest of a W3C
// traceparent if there is one.
const IDS =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32,}(?:-[0-9a-f]{16}-[0-9a-f]{2})?/gi;

/**
 * Whether the text holds a card number by scheme range, scheme length and Luhn. A card number begins and ends at a group of digits:
 * inside a longer number every tenth stretch would look like a card. Digits of an ID do not count: one random UUID in a few thousand
 * would look like a card, and its payment would be refused.
 */
export function containsCardNumber(text: string): boolean {
  if (!holdsDigits(text, SHORTEST_CARD)) return false;
  // Searches for IDs only after a match, which is rare.
  return holdsCardNumber(text) && holdsCardNumber(text.replace(IDS, 'x'));
}

/** One pass: at the end of each group of digits only the few groups before it are checked. */
function holdsCardNumber(text: string): boolean {
  let length = 0;
  /** Digits in the groups that separators join, so far. */
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
 * Whether the group that ends here, with some groups before it, is a card number. The groups may have any length that is not too short,
 * or be equal; only the last group may be shorter.
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

/** Where the previous group ends, if separators join it to this group. */
function beforeSeparators(text: string, from: number): number {
  let at = from;
  while (at > 0 && isSeparator(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

function isCard(written: string): boolean {
  return cardTypeOf(written.replaceAll(/[^0-9]/g, '')) !== '';
}
