// Composes the message for an order: its fields and their contents.
import type { CardDetails, Cvv } from '../../values/card.js';
import { currencyNumber } from '../../values/money.js';
import type { MoneyOperation, Order, Payment, StoredOrder, StoredTarget } from '../contract.js';
import type { Dialect } from './dialects/dialect.js';
import { type Numbers, originalData, stanText, typeOf } from './numbers.js';
import { localDate, localTime, utcTime } from './times.js';
import type { Message } from './wire/codec.js';
import { Unwritable } from './wire/digits.js';
import { privateData } from './wire/private-data.js';

const LONGEST_CVV = 4;

type Amount = Pick<Order, 'amountCents' | 'currency'>;
type Sent = Amount & Pick<Order, 'operation'> & Partial<Pick<Payment, 'credential' | 'networkTransactionId'>>;

/** The original transaction, as far as a message names it. */
export interface Original {
  /** Field 90. */
  readonly data: string;
  readonly operation: MoneyOperation;
  readonly authorisationCode: string | undefined;
}

export function originalOf(target: StoredTarget, dialect: Dialect): Original {
  const { operation, authorisationCode, prepared } = target;
  const data = originalData(typeOf(operation, dialect), prepared as Numbers);
  return { data, operation, authorisationCode };
}

/** A purchase, a preauthorisation, a refund or a completion. */
export function composePayment(
  message: Message,
  dialect: Dialect,
  type: string,
  order: Sent,
  card: CardDetails,
  numbers: Numbers,
  original: Original | undefined,
): void {
  const { constants, cvv } = dialect;
  composeCommon(message, type, order, card, numbers);
  message
    .set(3, processingCode(order.operation, dialect))
    .set(7, utcTime(numbers.sentMs))
    .set(11, stanText(numbers.stan))
    .set(12, localTime(numbers.sentMs))
    .set(13, localDate(numbers.sentMs))
    .set(14, expiryText(card))
    .set(22, numbers.stored ? constants.storedCredential : constants.keyed)
    .set(25, constants.condition);
  if (numbers.category !== undefined) message.set(18, numbers.category);
  if (numbers.institution !== undefined) message.set(32, numbers.institution);
  if (card.cvv !== undefined) message.setCharacters(cvv.field, around(cvv, card.cvv));
  const said = aboutCardholder(order, card, dialect);
  if (said !== undefined) message.set(dialect.privateData.field, said);
  if (original === undefined) return;
  // A refund names its payment; a completion also names the authorisation code.
  message.set(90, original.data);
  if (order.operation === 'completion' && original.authorisationCode !== undefined)
    message.set(38, original.authorisationCode);
}

/** Who pays under which agreement, and how it was checked. Only of payments: others have neither. */
function aboutCardholder(
  { credential, networkTransactionId }: Sent,
  { threeDSecure }: CardDetails,
  { privateData: tags }: Dialect,
): string | undefined {
  if (credential === undefined && networkTransactionId === undefined && threeDSecure === undefined)
    return undefined;
  return privateData({
    [tags.networkTransactionId]: networkTransactionId,
    [tags.initiation]: credential && `${credential.initiator}/${credential.reason}`,
    [tags.eci]: threeDSecure?.eci,
    [tags.authenticationValue]: threeDSecure?.authenticationValue?.reveal(),
    [tags.dsTransactionId]: threeDSecure?.dsTransactionId,
    [tags.threeDSecureVersion]: threeDSecure?.version,
  });
}

/** A void, or the reversal of an order in doubt. A repetition has exactly the same fields. */
export function composeReversal(
  message: Message,
  dialect: Dialect,
  type: string,
  amount: Amount,
  card: CardDetails,
  numbers: Numbers,
  original: Original,
): void {
  composeCommon(message, type, amount, card, numbers);
  message
    .set(3, processingCode(original.operation, dialect))
    .set(11, stanText(numbers.stan))
    .set(90, original.data);
  if (original.authorisationCode !== undefined) message.set(38, original.authorisationCode);
}

function composeCommon(
  message: Message,
  type: string,
  { amountCents, currency }: Amount,
  { number }: CardDetails,
  { retrievalReference, terminal, acceptor }: Numbers,
): void {
  const currencyCode = currencyNumber(currency);
  if (currencyCode === undefined) throw new Unwritable('a currency without a number');
  message.type = type;
  message
    .set(2, number.reveal())
    .set(4, String(amountCents))
    .set(37, retrievalReference)
    .set(41, terminal)
    .set(42, acceptor)
    .set(49, currencyCode);
}

function processingCode(operation: MoneyOperation, { constants }: Dialect): string {
  return operation === 'refund' || operation === 'standalone_refund' ? constants.credit : constants.debit;
}

/** YYMM. */
function expiryText({ expiry: { year, month } }: CardDetails): string {
  return String((year % 100) * 100 + month).padStart(4, '0');
}

/** As bytes, which are wiped after writing the message; a string could not be wiped. */
function around({ before, after }: Dialect['cvv'], cvv: Cvv): Uint8Array {
  const characters = Buffer.alloc(before.length + LONGEST_CVV + after.length);
  let end = characters.write(before, 'latin1');
  end += cvv.writeTo(characters, end);
  end += characters.write(after, end, 'latin1');
  return characters.subarray(0, end);
}

/** The card as the payment brings it, or decrypted. */
export async function cardOf(order: Order | StoredOrder): Promise<CardDetails> {
  return 'openCard' in order ? order.openCard() : paidWith(order);
}

export function paidWith({ method }: Extract<Order, { readonly method: unknown }>): CardDetails {
  if (method.kind !== 'card') throw new Unwritable('only cards are paid with over this link');
  return method.card;
}
