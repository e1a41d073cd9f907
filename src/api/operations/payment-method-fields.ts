// The payment method that a request names: what a schema cannot say about it, and what it becomes.
import { isDeepStrictEqual } from 'node:util';
import type { DirectCommand, NamedMethod } from '../../payments/pipeline/command.js';
import { BankAccount, BECS_CURRENCY, becsFaults } from '../../values/bank-account.js';
import { CardNumber, Cvv, isVirtualPan, parseExpiry } from '../../values/card.js';
import { isAmount, isCurrency } from '../../values/money.js';
import { CREDITCARD, PAYMENT_METHOD } from '../places.js';
import { type Problem, problem } from '../problems.js';
import { problemOf } from '../refusals.js';
import type { PaymentBody } from './transaction-schemas.js';

const EXPIRY_DATE = [...CREDITCARD, 'expiry_date'];

/** What the schema cannot say about the payment method. */
export function reviewMethod(
  kind: DirectCommand['operation'],
  body: unknown,
  problems: Problem[],
): Problem[] {
  const { payment_method: method, amount_details: amount } =
    (body as Partial<PaymentBody> | null | undefined)?.transaction ?? {};
  if (typeof method !== 'object' || method === null || Array.isArray(method)) return problems;
  const { creditcard, bankaccount } = method;
  // That a card is missing is said below, in the words that fit.
  const others = problems.filter(({ location }) => !isDeepStrictEqual(location, CREDITCARD));
  return [
    ...reviewExpiry(creditcard, creditcard === undefined ? others : problems),
    ...methodProblems(creditcard, bankaccount, kind),
    ...(bankaccount === undefined ? [] : bankProblems(amount)),
  ];
}

function methodProblems(
  creditcard: unknown,
  bankaccount: unknown,
  kind: DirectCommand['operation'],
): Problem[] {
  if (creditcard === undefined && bankaccount === undefined) return [problem('field_missing', CREDITCARD)];
  if (creditcard !== undefined && bankaccount !== undefined) {
    return [problem('field_format', PAYMENT_METHOD, 'Exactly one of creditcard and bankaccount is needed.')];
  }
  if (bankaccount === undefined || kind !== 'preauthorisation') return [];
  return [
    problem('field_format', [...PAYMENT_METHOD, 'bankaccount'], 'A bank account cannot be preauthorised.'),
  ];
}

/** Those of an amount that is one at all: of what was sent nothing is known yet. */
function bankProblems(amount: { total_amount?: unknown; currency?: unknown } | null | undefined): Problem[] {
  const { total_amount: total, currency } = amount ?? {};
  const reasons = becsFaults({
    amountCents: typeof total === 'string' && isAmount(total) ? Number(total) : 0,
    currency: typeof currency === 'string' && isCurrency(currency) ? currency : BECS_CURRENCY,
  });
  return reasons.map((reason) => problemOf(reason, true));
}

/** An expiry date is required with a card number, and ignored with a virtual PAN. */
function reviewExpiry(
  creditcard: { pan?: unknown; expiry_date?: unknown } | null | undefined,
  problems: Problem[],
): Problem[] {
  const { pan, expiry_date } = creditcard ?? {};
  if (typeof pan !== 'string') return problems;
  if (isVirtualPan(pan)) return problems.filter(({ location }) => !isDeepStrictEqual(location, EXPIRY_DATE));
  return expiry_date === undefined ? [...problems, problem('field_missing', EXPIRY_DATE)] : problems;
}

export function methodOf({
  creditcard,
  bankaccount,
}: PaymentBody['transaction']['payment_method']): NamedMethod {
  if (bankaccount !== undefined) {
    const { bsb, account_number, account_name } = bankaccount;
    return { kind: 'bank_account', bankAccount: new BankAccount(bsb, account_number, account_name) };
  }
  if (creditcard === undefined) throw new Error('the payment method was not checked');
  const { pan, expiry_date, cvv } = creditcard;
  if (isVirtualPan(pan)) return { kind: 'virtual_pan', virtualPan: pan };
  const expiry = parseExpiry(expiry_date ?? '');
  if (expiry === undefined) throw new Error('the expiry date was not checked');
  const card = { number: new CardNumber(pan), expiry, ...(cvv !== undefined && { cvv: new Cvv(cvv) }) };
  // The request keeps its body until it is answered. What stood there was a text, which nothing can erase: nobody keeps it.
  creditcard.pan = card.number.mask;
  if (card.cvv !== undefined) creditcard.cvv = card.cvv.mask;
  return { kind: 'card', card };
}
