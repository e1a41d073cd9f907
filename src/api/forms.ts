// Describes in words what a text must look like: for error messages and for the reference page.
import { CHECKOUT_ID_PATTERN } from '../checkout/checkout.js';
import { ACCOUNT_NAME_PATTERN, ACCOUNT_NUMBER_PATTERN, BSB_PATTERN } from '../values/bank-account.js';
import { EXPIRY_PATTERN } from '../values/card.js';
import { AMOUNT_PATTERN } from '../values/money.js';
import { IP_ADDRESS_PATTERN } from '../values/network.js';
import {
  CORRELATION_ID_PATTERN,
  KVP_KEY_PATTERN,
  RESTRICTED_PATTERN,
  WEB_ADDRESS_PATTERN,
  WEB_ORIGIN_PATTERN,
} from '../values/text.js';
import {
  AUTHENTICATION_VALUE_PATTERN,
  NETWORK_PATTERN,
  THREE_D_SECURE_VERSION_PATTERN,
  UUID_PATTERN,
} from '../values/three-d-secure.js';
import { DAY_PATTERN, INSTANT_OR_DAY_PATTERN } from '../values/time.js';
import { CURSOR_PATTERN } from './pages.js';

const PATTERNS: Readonly<Record<string, string>> = {
  [RESTRICTED_PATTERN]: 'letters, digits, spaces and ASCII punctuation other than `"`, `\'` and `\\`',
  [CORRELATION_ID_PATTERN]: 'letters, digits and `+` `-` `_` `:` `.` `,`',
  [KVP_KEY_PATTERN]: '1 to 64 letters, digits, `_` and `.`, with or without `GATEWAY.REQUEST.KVP.` in front',
  [EXPIRY_PATTERN]: 'MMYY: month and year as four digits, such as `1230`',
  [AMOUNT_PATTERN]: 'cents as digits: 1 to 12 of them, without a leading zero, such as `1995`',
  [BSB_PATTERN]: 'three digits, a hyphen or none, three digits, such as `062-000`',
  [ACCOUNT_NUMBER_PATTERN]: '2 to 9 digits, not all of them zero',
  [ACCOUNT_NAME_PATTERN]:
    'letters, digits, spaces and the punctuation that banks take: none of `"`, `\'`, `\\`, `<`, `>`, `{`, `|`, `}`, `~`, nor backticks',
  [WEB_ADDRESS_PATTERN]: 'an address of the web, such as `https://shop.example/paid`',
  [WEB_ORIGIN_PATTERN]: 'an origin of the web without a path, such as `https://shop.example`',
  [CHECKOUT_ID_PATTERN]: 'the ID of a checkout: `co_` and 28 lower-case letters',
  [IP_ADDRESS_PATTERN]: 'an IPv4 or IPv6 address, such as `203.0.113.7`',
  [THREE_D_SECURE_VERSION_PATTERN]: 'a version of 3-D Secure 2, such as `2.2.0`',
  [AUTHENTICATION_VALUE_PATTERN]: 'base64 of 20 bytes: 28 characters',
  [UUID_PATTERN]: 'a UUID, such as `f38e6948-5388-41a6-bca4-b49723c19437`',
  [NETWORK_PATTERN]: 'a scheme in 2 to 20 lower-case letters and `_`, such as `visa`',
  [CURSOR_PATTERN]: 'letters, digits, `_` and `-`',
  [DAY_PATTERN]: 'a date, such as `2026-11-15`',
  [INSTANT_OR_DAY_PATTERN]:
    'a date and time with offset, such as `2026-11-15T11:07:18.123+11:00`, or a date alone',
};

/** For formats that say more than their pattern. */
const FORMATS: Readonly<Record<string, string>> = {
  'iso-4217': 'a currency of ISO 4217: three upper-case letters, such as `AUD`',
  date: 'a day of the calendar, such as `2026-11-15`',
  'instant-or-day':
    'a date and time with offset, such as `2026-11-15T11:07:18.123+11:00`, or a day of the calendar alone',
};

const CHARACTERS: Readonly<Record<string, string>> = {
  '0-9': 'digit',
  'A-Z': 'upper-case letter',
  'a-z': 'lower-case letter',
};

/** The parts of a schema that describe a text. */
interface TextSchema {
  readonly pattern?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
}

/** Without markup, for a message. Undefined if there is nothing to say beyond the type. */
export function formInWords({ pattern, format, enum: values }: TextSchema): string | undefined {
  const words =
    FORMATS[format ?? ''] ??
    (values === undefined
      ? patternInWords(pattern)
      : `one of ${values.map((each) => `"${each}"`).join(', ')}`);
  return words?.replaceAll('`', '');
}

/** Undefined for a pattern without a description. */
export function patternInWords(pattern = ''): string | undefined {
  const [, characters = '', least, most = least] =
    /^\^\[([^\]]+)\]\{(\d+)(?:,(\d+))?\}\$$/.exec(pattern) ?? [];
  const unit = CHARACTERS[characters];
  if (unit !== undefined) return rangeInWords(Number(least), Number(most), unit).join('');
  return PATTERNS[pattern];
}

export function rangeInWords(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least === undefined && most === undefined) return [];
  if (most === undefined) return [`at least ${counted(least ?? 0, unit)}`];
  if (least === undefined) return [`at most ${counted(most, unit)}`];
  return [least === most ? `exactly ${counted(most, unit)}` : `${least} to ${counted(most, unit)}`];
}

function counted(count: number, unit: string): string {
  if (unit === '' || count === 1) return `${count} ${unit}`.trim();
  return `${count} ${unit.replace(/y$/, 'ie')}s`;
}
