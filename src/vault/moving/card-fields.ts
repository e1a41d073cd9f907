// What a line of a file of cards must say, and what it becomes. The same rules as for the interface; what is wrong is told by the name of
// its field, never by its content.
import {
  ACCOUNT_NAME_MAX_LENGTH,
  ACCOUNT_NAME_PATTERN,
  ACCOUNT_NUMBER_PATTERN,
  BankAccount,
  BSB_PATTERN,
} from '../../values/bank-account.js';
import {
  CardNumber,
  containsCardNumber,
  type Expiry,
  isVirtualPan,
  luhnValid,
  parseExpiry,
} from '../../values/card.js';
import { isRestricted } from '../../values/text.js';
import type { Account } from '../account.js';
import type { CardLine } from './card-lines.js';
import type { FormerToken } from './imports.js';

/** Codes as the interface has them. */
export type LineProblem =
  | 'line_too_long'
  | 'line_unreadable'
  | 'field_missing'
  | 'field_type'
  | 'field_too_long'
  | 'field_charset'
  | 'field_format'
  | 'card_number_invalid'
  | 'card_number_misplaced'
  | 'taken_by_another_card';

export interface RefusedLine {
  readonly line: number;
  /** Absent where it cannot be shown. */
  readonly oldTokenId: string | undefined;
  readonly problems: readonly { readonly field: string; readonly problem: LineProblem }[];
}

const NAME_LENGTH = 60;
const PREFERRED_NAME_LENGTH = 50;
const REFERENCE_LENGTH = 50;
const ID_LENGTH = 128;
const NETWORK_ID_LENGTH = 36;
const NETWORK_ID_OF_VISA = 15;
const FORMER_IDS_AT_MOST = 100;
const CARD_LENGTHS = { least: 12, most: 19 };

/** Reads the fields of one line, and keeps what is wrong with them. */
class Fields {
  readonly problems: { field: string; problem: LineProblem }[] = [];

  constructor(
    private readonly fields: Readonly<Record<string, unknown>>,
    private readonly plainNames: boolean,
  ) {}

  has(field: string): boolean {
    const value = this.fields[field];
    return value !== undefined && value !== null && value !== '';
  }

  wrong(field: string, problem: LineProblem): '' {
    this.problems.push({ field, problem });
    return '';
  }

  /** As it stands there; numbers are taken for their digits. */
  raw(field: string): string {
    if (!this.has(field)) return this.wrong(field, 'field_missing');
    const value = this.fields[field];
    if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
    return typeof value === 'string' ? value.trim() : this.wrong(field, 'field_type');
  }

  text(field: string, most: number): string {
    const text = this.raw(field);
    return text === '' ? '' : this.#checked(field, text, most);
  }

  name(field: string, most: number): string {
    const text = this.raw(field);
    if (text === '') return '';
    const name = this.plainNames ? plainName(text).slice(0, most) : text;
    return name === '' ? this.wrong(field, 'field_charset') : this.#checked(field, name, most);
  }

  boolean(field: string): boolean {
    if (!this.has(field)) return true;
    const value = String(this.fields[field]).toLowerCase();
    if (value !== 'true' && value !== 'false') this.wrong(field, 'field_type');
    return value === 'true';
  }

  texts(field: string, most: number): string[] {
    if (!this.has(field)) return [];
    const value = this.fields[field];
    if (!Array.isArray(value) || value.length > FORMER_IDS_AT_MOST) {
      this.wrong(field, 'field_type');
      return [];
    }
    return value.map((one) =>
      typeof one === 'string' && one !== ''
        ? this.#checked(field, one, most)
        : this.wrong(field, 'field_type'),
    );
  }

  /** As in a payment's credential: 15 digits may be what Visa calls a payment, although they look like a card. */
  networkId(field: string): string | undefined {
    if (!this.has(field)) return undefined;
    const text = this.raw(field);
    if (text.length !== NETWORK_ID_OF_VISA || !isRestricted(text))
      return this.#checked(field, text, NETWORK_ID_LENGTH) || undefined;
    return text;
  }

  #checked(field: string, text: string, most: number): string {
    if (text.length > most) return this.wrong(field, 'field_too_long');
    if (!isRestricted(text)) return this.wrong(field, 'field_charset');
    if (containsCardNumber(text)) return this.wrong(field, 'card_number_misplaced');
    return text;
  }
}

/** The token of a line, or what is wrong with it. */
export function tokenOf(
  { number: line, fields: read }: CardLine,
  { plainNames = false } = {},
): FormerToken | RefusedLine {
  if (typeof read === 'string') {
    const problem = read === 'too long' ? 'line_too_long' : 'line_unreadable';
    return { line, oldTokenId: undefined, problems: [{ field: '', problem }] };
  }
  const fields = new Fields(read, plainNames);
  // What a Tollgate has exported is known by its virtual PAN: that is what merchants keep.
  const idField = !fields.has('old_token_id') && fields.has('virtual_pan') ? 'virtual_pan' : 'old_token_id';
  const formerId = fields.text(idField, ID_LENGTH);
  const reference = fields.text('customer_reference', REFERENCE_LENGTH);
  const account = accountOf(fields);
  const name = account?.type === 'general_creditcard' ? account.name : account?.bankAccount.name;
  const customerName = fields.has('customer_name')
    ? fields.name('customer_name', NAME_LENGTH)
    : name || reference;
  const preferredName = fields.has('preferred_name')
    ? fields.name('preferred_name', PREFERRED_NAME_LENGTH)
    : formerId.slice(0, PREFERRED_NAME_LENGTH);
  const active = fields.boolean('active');
  const alsoFormerIds = fields.texts('former_token_ids', ID_LENGTH).filter((one) => one !== formerId);
  const networkTransactionId = fields.networkId('network_transaction_id');
  const { problems } = fields;
  if (problems.length > 0 || account === undefined)
    return { line, oldTokenId: formerId || undefined, problems };
  const token = { formerId, alsoFormerIds, reference, customerName, preferredName, active, account };
  return networkTransactionId === undefined ? token : { ...token, networkTransactionId };
}

export function isRefused(one: FormerToken | RefusedLine): one is RefusedLine {
  return 'problems' in one;
}

function accountOf(fields: Fields): Account | undefined {
  const isBank = fields.has('bsb') || fields.has('account_number');
  if (isBank && fields.has('card_number')) fields.wrong('card_number', 'field_format');
  return isBank ? bankOf(fields) : cardOf(fields);
}

function cardOf(fields: Fields): Account | undefined {
  const digits = fields.raw('card_number').replaceAll(/[ -]/g, '');
  const { least, most } = CARD_LENGTHS;
  const valid = digits.length >= least && digits.length <= most && luhnValid(digits) && !isVirtualPan(digits);
  if (digits !== '' && !valid) fields.wrong('card_number', 'card_number_invalid');
  const expiry = expiryOf(fields);
  const name = fields.name('card_name', NAME_LENGTH);
  if (!valid || expiry === undefined || name === '') return undefined;
  return { type: 'general_creditcard', number: new CardNumber(digits), expiry, name };
}

/** One field in any of the usual spellings, or month and year apart. */
function expiryOf(fields: Fields): Expiry | undefined {
  const apart = !fields.has('expiry') && fields.has('exp_month');
  const text = apart ? `${fields.raw('exp_month')}/${fields.raw('exp_year')}` : fields.raw('expiry');
  if (text === '') return undefined;
  const expiry = readExpiry(text);
  if (expiry === undefined) fields.wrong(apart ? 'exp_month' : 'expiry', 'field_format');
  return expiry;
}

/** MMYY and YYMM, and with a separator MM/YY, MM/YYYY and YYYY-MM. */
function readExpiry(text: string): Expiry | undefined {
  const [first = '', second = '', more] = text.split(/[/-]/).map((part) => part.trim());
  if (second === '' || more !== undefined) return parseExpiry(text);
  const [month, year] = first.length === 4 ? [second, first] : [first, second];
  return year.length === 4 && !year.startsWith('20')
    ? undefined
    : parseExpiry(month.padStart(2, '0') + year.slice(-2));
}

const BSB = new RegExp(BSB_PATTERN);
const ACCOUNT_NUMBER = new RegExp(ACCOUNT_NUMBER_PATTERN);
const ACCOUNT_NAME = new RegExp(ACCOUNT_NAME_PATTERN);

function bankOf(fields: Fields): Account | undefined {
  const bsb = fields.raw('bsb');
  if (bsb !== '' && !BSB.test(bsb)) fields.wrong('bsb', 'field_format');
  const number = fields.raw('account_number');
  if (number !== '' && !ACCOUNT_NUMBER.test(number)) fields.wrong('account_number', 'field_format');
  const name = fields.name('account_name', ACCOUNT_NAME_MAX_LENGTH);
  if (name !== '' && !ACCOUNT_NAME.test(name)) fields.wrong('account_name', 'field_charset');
  if (fields.problems.some(({ field }) => field === 'bsb' || field.startsWith('account_'))) return undefined;
  return { type: 'general_bankaccount', bankAccount: new BankAccount(bsb, number, name) };
}

/** Letters that are no letter with a mark. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  đ: 'd',
  Đ: 'D',
  ł: 'l',
  Ł: 'L',
  ı: 'i',
};

/** A name in the characters that the interface takes: `José O’Brien` as `Jose OBrien`; nothing where it is written in another script. */
function plainName(name: string): string {
  const letters = [...name.normalize('NFKD')].map((letter) => LETTERS[letter] ?? letter);
  return letters.filter(isRestricted).join('').replaceAll(/ +/g, ' ').trim();
}
