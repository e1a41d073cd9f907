// What a text in the search box may mean. Several words narrow the search together: `0776 31.92 18 Nov` is a card, an amount and a day.
import { CARD_TYPES, containsCardNumber, isVirtualPan } from '../../values/card.js';
import { centsByDecimals, centsIn, isCurrency } from '../../values/money.js';
import { isCorrelationId, isRestricted } from '../../values/text.js';
import { addDays, isDay } from '../../values/time.js';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../transaction.js';

/** What words can say of a transaction: the part of its filter that a text can stand for. All of it must hold. */
export interface Narrowing {
  /** An instant, or a day in Sydney; of a day, `until` is all of it. */
  readonly from?: string | undefined;
  readonly until?: string | undefined;
  readonly status?: string | undefined;
  readonly transactionType?: string | undefined;
  readonly paymentMethod?: string | undefined;
  readonly cardType?: string | undefined;
  readonly lastFour?: string | undefined;
  /** As people write it. */
  readonly amount?: string | undefined;
  readonly currency?: string | undefined;
}

/** One of the things that a text may mean, beside what the rest of it narrows. */
export type Meaning = { readonly narrowing: Narrowing } & (
  | { readonly as: 'audit'; readonly audit: number }
  | { readonly as: 'last_four' | 'amount' | 'day' | 'words' | 'together' }
  | { readonly as: 'virtual_pan'; readonly virtualPan: string }
  | { readonly as: 'correlation_id'; readonly correlationId: string }
  | { readonly as: 'reference'; readonly reference: string }
  | { readonly as: 'customer'; readonly text: string; readonly id?: number }
  /** Is looked for nowhere: nothing is stored by which it could be found. */
  | { readonly as: 'card_number' }
);

/** Longer ones mean nothing. */
const MOST_CHARACTERS = 128;
const MAX_NUMBER = 2_147_483_647;
/** Of a customer's name or reference; fewer would be in too many. */
const LEAST_CHARACTERS_OF_CUSTOMER = 3;
const MOST_MEANINGS = 8;
/** A day, with its year: `18 Nov 2026`. */
const MOST_WORDS_OF_PIECE = 3;

const WORDS: Readonly<Record<string, Narrowing>> = {
  ...Object.fromEntries(TRANSACTION_STATUSES.map((status) => [status, { status }])),
  ...Object.fromEntries(CARD_TYPES.map((cardType) => [cardType, { cardType }])),
  ...Object.fromEntries(
    TRANSACTION_TYPES.flatMap((transactionType) => {
      const said = transactionType.replaceAll('_', ' ');
      return [said, `${said}s`].map((words) => [words, { transactionType }]);
    }),
  ),
  'in doubt': { status: 'unknown' },
  'bank account': { paymentMethod: 'bankaccount' },
  'direct debit': { paymentMethod: 'bankaccount' },
};

const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];

/** The most likely first. `today` is Sydney's. */
export function meaningsOf(given: string, today: string): Meaning[] {
  const text = given.trim().replaceAll(/\s+/g, ' ');
  if (text === '' || text.length > MOST_CHARACTERS) return [];
  // guard(console: a card number is looked for nowhere): if (containsCardNumber(text)) return [{ as: 'card_number', narrowing: {} }]; ⇒
  if (containsCardNumber(text)) return [{ as: 'card_number', narrowing: {} }];
  const joined = text.replaceAll(/[ -]/g, '');
  if (isVirtualPan(joined)) return [{ as: 'virtual_pan', virtualPan: joined, narrowing: {} }];
  const wholly = isNumber(text) ? numbers(text) : together(piecesOf(text, today));
  return [...wholly, ...texts(text, {})].slice(0, MOST_MEANINGS);
}

function isNumber(text: string): boolean {
  return /^[0-9]+$/.test(text);
}

/** A number alone may be all that has one. */
function numbers(text: string): Meaning[] {
  const number = text.length <= String(MAX_NUMBER).length ? Number(text) : 0;
  const isId = number > 0 && number <= MAX_NUMBER;
  return [
    ...(isId ? [{ as: 'audit' as const, audit: number, narrowing: {} }] : []),
    ...readingsOf(text).map((narrowing) => ({ as: kindOf(narrowing), narrowing })),
    ...(isId ? [{ as: 'customer' as const, text, id: number, narrowing: {} }] : []),
  ];
}

/** Of a number without decimals. */
function readingsOf(number: string): Narrowing[] {
  const amount = /^(0|[0-9]{13,})/.test(number) ? undefined : amountIn(number);
  return [
    ...(/^[0-9]{4}$/.test(number) ? [{ lastFour: number }] : []),
    ...(amount === undefined ? [] : [amount]),
  ];
}

interface Pieces {
  /** What can mean one thing only. */
  readonly certain: readonly Narrowing[];
  readonly numbers: readonly string[];
  /** All other words. */
  readonly rest: string;
}

function piecesOf(text: string, today: string): Pieces {
  const words = text.split(' ');
  const certain: Narrowing[] = [];
  const numbers: string[] = [];
  const rest: string[] = [];
  for (let at = 0; at < words.length; ) {
    let length = Math.min(MOST_WORDS_OF_PIECE, words.length - at);
    let found: Narrowing | undefined;
    for (; length > 0; length -= 1) {
      const piece = words.slice(at, at + length).join(' ');
      found = isNumber(piece) ? undefined : certainIn(piece, today);
      if (found !== undefined) break;
    }
    const word = words[at] as string;
    if (found !== undefined) certain.push(found);
    else (isNumber(word) ? numbers : rest).push(word);
    at += Math.max(1, length);
  }
  return { certain, numbers, rest: rest.join(' ') };
}

function certainIn(piece: string, today: string): Narrowing | undefined {
  const words = Object.hasOwn(WORDS, piece.toLowerCase()) ? WORDS[piece.toLowerCase()] : undefined;
  return words ?? periodIn(piece.toLowerCase(), today) ?? amountIn(piece);
}

/** `18 Nov`, `18/11/2026`, `2026-11-18`, `Nov 2026`, `yesterday`. Without a year it is the last that has come. */
function periodIn(piece: string, today: string): Narrowing | undefined {
  if (piece === 'today') return { from: today, until: today };
  if (piece === 'yesterday') return { from: addDays(today, -1), until: addDays(today, -1) };
  if (isDay(piece)) return { from: piece, until: piece };
  const [, first, second, third] =
    /^(?:([0-9]{1,2})(?:[ ]|\/))?([a-z]{3,9}|[0-9]{1,2})(?:(?:[ ]|\/)([0-9]{4}))?$/.exec(piece) ?? [];
  if (second === undefined || (isNumber(second) && (first === undefined || !piece.includes('/'))))
    return undefined;
  const month = isNumber(second) ? Number(second) : MONTHS.findIndex((name) => isMonth(second, name)) + 1;
  const inYear = (year: number) => {
    const monthText = `${year}-${String(month).padStart(2, '0')}`;
    return first === undefined ? `${monthText}-01` : `${monthText}-${first.padStart(2, '0')}`;
  };
  const thisYear = Number(today.slice(0, 4));
  const years = third === undefined ? [0, 1, 2, 3, 4].map((ago) => thisYear - ago) : [Number(third)];
  const day = years.map(inYear).find((each) => isDay(each) && (third !== undefined || each <= today));
  if (day === undefined) return undefined;
  return { from: day, until: first === undefined ? lastOfMonth(day) : day };
}

/** `nov` and `november`; and `sept`. */
function isMonth(word: string, month: string): boolean {
  return word === month || word === month.slice(0, 3) || (word === 'sept' && month === 'september');
}

function lastOfMonth(first: string): string {
  return addDays(`${addDays(first, 31).slice(0, 7)}-01`, -1);
}

/** As people write it: `20`, `19.95`, `$1,200.00`, `AUD 19.95`. */
function amountIn(text: string): Narrowing | undefined {
  const found = /^(?:([A-Za-z]{3}) ?)?\$? ?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,12})(\.[0-9]{2,3})?$/.exec(text);
  if (found === null) return undefined;
  const [, code, whole = '', part = ''] = found;
  const amount = whole.replaceAll(',', '') + part;
  if (code === undefined) return centsByDecimals(amount).some((cents) => cents) ? { amount } : undefined;
  const currency = code.toUpperCase();
  return isCurrency(currency) && centsIn(amount, currency) ? { amount, currency } : undefined;
}

/** Everything that the words of a text can mean together. */
function together({ certain, numbers, rest }: Pieces): Meaning[] {
  let all: (Narrowing | undefined)[] = [certain.reduce<Narrowing | undefined>(bothOf, {})];
  for (const number of numbers)
    all = all.flatMap((one) => readingsOf(number).map((reading) => bothOf(one, reading)));
  const narrowings = all.filter((one) => one !== undefined);
  if (rest !== '') return narrowings.filter(isNarrow).flatMap((narrowing) => texts(rest, narrowing));
  const pieces = certain.length + numbers.length;
  return narrowings.map((narrowing) => ({ as: pieces > 1 ? 'together' : kindOf(narrowing), narrowing }));
}

function isNarrow(narrowing: Narrowing): boolean {
  return Object.keys(narrowing).length > 0;
}

function kindOf({ lastFour, amount, from }: Narrowing): 'last_four' | 'amount' | 'day' | 'words' {
  if (lastFour !== undefined) return 'last_four';
  if (amount !== undefined) return 'amount';
  return from === undefined ? 'words' : 'day';
}

/** Undefined where they contradict each other. Two days are a period. */
function bothOf(one: Narrowing | undefined, other: Narrowing): Narrowing | undefined {
  if (one === undefined) return undefined;
  const days = [one.from, one.until, other.from, other.until].filter((day) => day !== undefined).sort();
  for (const name of Object.keys(other) as (keyof Narrowing)[]) {
    if (name === 'from' || name === 'until') continue;
    if (one[name] !== undefined && one[name] !== other[name]) return undefined;
  }
  return { ...one, ...other, ...(days.length > 0 && { from: days[0], until: days.at(-1) }) };
}

/** A text that stands for itself. A correlation ID needs nothing beside it. */
function texts(text: string, narrowing: Narrowing): Meaning[] {
  const meanings: Meaning[] = [];
  if (isCorrelationId(text) && !isNarrow(narrowing))
    meanings.push({ as: 'correlation_id', correlationId: text, narrowing });
  if (isRestricted(text)) meanings.push({ as: 'reference', reference: text, narrowing });
  if (!isNumber(text) && text.length >= LEAST_CHARACTERS_OF_CUSTOMER)
    meanings.push({ as: 'customer', text, narrowing });
  return meanings;
}
