// In charge of what a card number, its expiry and its CVV are, of finding card numbers in texts, and of never printing them.
import { Unprintable } from './unprintable.js';

const DIGIT_ZERO = 48;

function isDigit(code: number): boolean {
  return code >= DIGIT_ZERO && code <= DIGIT_ZERO + 9;
}

/** What a digit adds to the Luhn sum: every other one is doubled, counted from the last, which is not. */
function luhnShare(code: number, doubled: boolean): number {
  const digit = code - DIGIT_ZERO;
  return !doubled ? digit : digit < 5 ? digit * 2 : digit * 2 - 9;
}

/** The Luhn sum modulo ten, or -1 if one is no digit. */
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

/** The check digit that makes the digits valid when it is put behind them. */
export function luhnDigit(digitsWithout: string): string {
  const remainder = luhnRemainder(`${digitsWithout}0`);
  // The text itself stays out of the message: it is most of a card number.
  if (remainder < 0) throw new Error('a Luhn digit was asked for something that is not all digits');
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

// First and last prefix of each issuer range. Ranges of different schemes do not overlap: where two schemes share
// one by agreement (622126 to 622925 is also accepted by Discover), it stands under the one that issues the cards.
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
  // Cards that carry no mark but eftpos; the block was given to Australian banks. Cards with a second mark count
  // as that scheme's, since online they run over it. The scheme's full list is for its members only.
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
  // Something shorter is no card number; six and four of it would leave little hidden.
  if (pan.length < PAN_MIN_LENGTH) return '*'.repeat(pan.length);
  const hidden = pan.length - SHOWN_FIRST - SHOWN_LAST;
  return pan.slice(0, SHOWN_FIRST) + '*'.repeat(hidden) + pan.slice(-SHOWN_LAST);
}

/** Without a regular expression: the engine keeps the text that one was last tried on. */
function areDigits(text: string, least: number, most: number): boolean {
  if (text.length < least || text.length > most) return false;
  for (let at = 0; at < text.length; at += 1) if (!isDigit(text.charCodeAt(at))) return false;
  return true;
}

/**
 * Digits that cannot be printed, and that can be erased: they are bytes outside of the heap, which nothing moves or copies. They live
 * until the acquirer has been asked.
 */
abstract class SecretDigits extends Unprintable {
  readonly #digits: Buffer;

  constructor(digits: string) {
    super();
    this.#digits = Buffer.from(digits, 'latin1');
  }

  protected abstract get what(): string;

  /** As a text, which nothing can erase, and nobody may keep: `writeTo` leaves none behind. */
  reveal(): string {
    return this.#present().toString('latin1');
  }

  /** Its digits as ASCII. Returns how many they are. */
  writeTo(message: Uint8Array, at: number): number {
    const digits = this.#present();
    message.set(digits, at);
    return digits.length;
  }

  /** Overwritten. There is nothing to be had from it any more. */
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

/** A card number. In clear only for sealing it and for sending it to the acquirer. */
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

  /** Its first eight digits, by which its issuer is known: only for choosing the way of a payment. */
  get bin(): number {
    return Number(this.reveal().slice(0, BIN_DIGITS));
  }

  protected get what(): string {
    return 'card number';
  }
}

/** A CVV. Whoever sends it writes it straight into the message and erases it. */
export class Cvv extends SecretDigits {
  // Always three stars: even the length is nobody's business.
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

/** Stands for a stored payment method. No scheme issues cards that begin with a 9. */
export function isVirtualPan(pan: string): boolean {
  return pan.length === VIRTUAL_PAN_LENGTH && pan[0] === '9' && luhnValid(pan);
}

export type Expiry = { month: number; year: number };

/** A card in the open, as a request brings it or the vault opens it. The vault has no CVV. */
export interface CardDetails {
  readonly number: CardNumber;
  readonly expiry: Expiry;
  readonly cvv?: Cvv;
}

export function parseExpiry(text: string): Expiry | undefined {
  if (!expiryDate.test(text)) return undefined;
  const head = Number(text.slice(0, 2));
  const tail = Number(text.slice(2));
  return head <= 12 ? { month: head, year: 2000 + tail } : { month: tail, year: 2000 + head };
}

/** A card is good until the last day of the month printed on it. */
export function expired(expiry: Expiry, sydneyYear: number, sydneyMonth: number): boolean {
  return expiry.year < sydneyYear || (expiry.year === sydneyYear && expiry.month < sydneyMonth);
}

/** Of the first six to eight digits of card numbers, by which their issuers are known. */
export interface BinRange {
  /** Digits, as many in both. */
  readonly from: string;
  readonly to: string;
}

/** So many digits of a card number are looked at. */
const BIN_DIGITS = 8;
const BIN_RANGE = /^([0-9]{6,8})(?:-([0-9]{6,8}))?$/;

/** `456000-456099`, or one BIN alone. Undefined for anything else. */
export function parseBinRange(text: string): BinRange | undefined {
  const [, from, to = from] = BIN_RANGE.exec(text) ?? [];
  if (from === undefined || to === undefined) return undefined;
  return from.length === to.length && from <= to ? { from, to } : undefined;
}

export function formatBinRange({ from, to }: BinRange): string {
  return from === to ? from : `${from}-${to}`;
}

/** The first and the last number of eight digits that lie in the range. */
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
