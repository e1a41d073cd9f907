// What a payer has typed: read leniently, as people write it, and every wrong field named.
import {
  ACCOUNT_NAME_MAX_LENGTH,
  ACCOUNT_NAME_PATTERN,
  ACCOUNT_NUMBER_PATTERN,
  BankAccount,
  BSB_PATTERN,
} from '../../values/bank-account.js';
import {
  CARD_NUMBER_PATTERN,
  CardNumber,
  CVV_PATTERN,
  Cvv,
  containsCardNumber,
  expired,
  isVirtualPan,
  luhnValid,
  parseExpiry,
} from '../../values/card.js';
import { parseJson } from '../../values/json.js';
import { isRestricted } from '../../values/text.js';
import { sydneyYearMonth } from '../../values/time.js';
import { isWrong, readPayload, type WalletType } from '../../wallets/payloads.js';
import type { CheckoutMethod, Terms } from '../checkout.js';
import type { Given } from '../payers.js';
import { AGREEMENT, type FieldProblem } from './texts.js';

/** The names of the fields. Browsers know what belongs there by `autocomplete`. */
export type Field =
  | 'method'
  | 'number'
  | 'expiry'
  | 'cvv'
  | 'name'
  | 'bsb'
  | 'account_number'
  | 'account_name'
  | 'agree';

export type Problems = Partial<Record<Field, FieldProblem>>;

export interface Posted {
  /** The attempt that the page was shown for. */
  readonly n: number;
  /** What the page said that would be paid. */
  readonly quotes: string;
  readonly method: CheckoutMethod | undefined;
  readonly given: Given | undefined;
  readonly problems: Problems;
  /** What may be shown again: never what is secret. */
  readonly shown: Readonly<Partial<Record<'name' | 'bsb' | 'account_name', string>>>;
}

const cardNumber = new RegExp(CARD_NUMBER_PATTERN);
const cvvDigits = new RegExp(CVV_PATTERN);
const bsbDigits = new RegExp(BSB_PATTERN);
const accountDigits = new RegExp(ACCOUNT_NUMBER_PATTERN);
const accountTitle = new RegExp(ACCOUNT_NAME_PATTERN);
const LONGEST_NAME = 60;
const LONGEST_ACCOUNT_NUMBER = 32;

/** `offered`: the wallets that the page has offered. */
export function readForm(
  form: URLSearchParams,
  terms: Terms,
  offered: readonly WalletType[],
  nowMs: number,
): Posted {
  const n = Number(/^\d{1,2}$/.exec(form.get('n') ?? '')?.[0] ?? 0);
  const quotes = form.get('quotes') ?? '';
  if (form.has('wallet')) return { n, quotes, method: 'creditcard', ...readWallet(form, offered) };
  const { paymentMethods } = terms;
  const method =
    paymentMethods.length === 1
      ? paymentMethods[0]
      : paymentMethods.find((name) => name === form.get('method'));
  const read = { n, quotes, method };
  if (method === undefined) return { ...read, given: undefined, problems: { method: 'method' }, shown: {} };
  return { ...read, ...(method === 'creditcard' ? readCard(form, terms, nowMs) : readAccount(form)) };
}

type Read = Pick<Posted, 'given' | 'problems' | 'shown'>;

/** Whether the name is asked for: a token has it. */
export function asksForName({ operation, customerId }: Terms): boolean {
  return operation === 'tokenise' && customerId !== undefined;
}

/** Spaces and hyphens as on the card; an expiry date with a slash or without. */
function readCard(form: URLSearchParams, terms: Terms, nowMs: number): Read {
  const digits = (form.get('number') ?? '').replaceAll(/[\s-]/g, '');
  const expiry = expiryIn(form.get('expiry') ?? '');
  const cvv = (form.get('cvv') ?? '').trim();
  const name = (form.get('name') ?? '').trim();
  const keeps = terms.customerId !== undefined && (asksForName(terms) || form.get('keep') === 'yes');
  const today = sydneyYearMonth(nowMs);
  const problems: Problems = {};
  if (digits === '') problems.number = 'numberMissing';
  // A virtual PAN is for shops.
  else if (!cardNumber.test(digits) || !luhnValid(digits) || isVirtualPan(digits)) problems.number = 'number';
  if (expiry === undefined) problems.expiry = 'expiry';
  else if (expired(expiry, today.year, today.month)) problems.expiry = 'expired';
  if (!cvvDigits.test(cvv)) problems.cvv = 'cvv';
  if (keeps && !isName(name)) problems.name = 'name';
  const shown = { ...(name !== '' && !containsCardNumber(name) && { name: name.slice(0, LONGEST_NAME) }) };
  if (Object.keys(problems).length > 0 || expiry === undefined) return { given: undefined, problems, shown };
  const card = { number: new CardNumber(digits), expiry, cvv: new Cvv(cvv) };
  return { given: { kind: 'card', card, ...(keeps && { keepAs: name }) }, problems, shown };
}

function isName(name: string): boolean {
  return name.length >= 1 && name.length <= LONGEST_NAME && isRestricted(name) && !containsCardNumber(name);
}

function expiryIn(text: string) {
  const [, month = '', year = ''] = /^\s*(\d{1,2})\s*[/\-. ]?\s*(?:20)?(\d{2})\s*$/.exec(text) ?? [];
  const expiry = month === '' ? undefined : parseExpiry(month.padStart(2, '0') + year);
  // As a card says it: month first.
  return expiry !== undefined && expiry.month === Number(month) ? expiry : undefined;
}

/** A browser has sent it, and no person has typed it: what is wrong with it helps nobody. */
function readWallet(form: URLSearchParams, offered: readonly WalletType[]): Read {
  const none = { given: undefined, problems: {}, shown: {} };
  // guard(checkout: a wallet pays only where the page offers it): offered.find((name) => name === form.get('wallet')) ⇒ form.get('wallet') as WalletType
  const type = offered.find((name) => name === form.get('wallet'));
  if (type === undefined) return none;
  try {
    const payload = readPayload(type, parseJson(form.get('token') ?? ''));
    return isWrong(payload) ? none : { ...none, given: { kind: 'wallet', payload } };
  } catch {
    // Not with what the parser says, which quotes the text.
    return none;
  }
}

function readAccount(form: URLSearchParams): Read {
  const bsb = (form.get('bsb') ?? '').replaceAll(/\s/g, '');
  const number = (form.get('account_number') ?? '').trim();
  const name = (form.get('account_name') ?? '').trim();
  const problems: Problems = {};
  if (!bsbDigits.test(bsb)) problems.bsb = 'bsb';
  if (!accountDigits.test(number) || number.length > LONGEST_ACCOUNT_NUMBER)
    problems.account_number = 'accountNumber';
  if (
    name === '' ||
    name.length > ACCOUNT_NAME_MAX_LENGTH ||
    !accountTitle.test(name) ||
    containsCardNumber(name)
  )
    problems.account_name = 'accountName';
  // guard(checkout: no debit without the payer's agreement): form.get('agree') !== 'yes' ⇒ false
  if (form.get('agree') !== 'yes') problems.agree = 'agree';
  const shown = {
    bsb: bsb.slice(0, 7),
    ...(!containsCardNumber(name) && { account_name: name.slice(0, ACCOUNT_NAME_MAX_LENGTH) }),
  };
  if (Object.keys(problems).length > 0) return { given: undefined, problems, shown };
  const bankAccount = new BankAccount(bsb, number, name);
  return { given: { kind: 'bank_account', bankAccount, agreement: AGREEMENT }, problems, shown };
}
