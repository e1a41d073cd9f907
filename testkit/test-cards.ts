// The schemes' public test cards, and the card numbers that make the simulated acquirer do what a test needs.
import { type CardType, luhnDigit } from '../src/values/card.js';

export const SCHEME_CARDS: readonly (readonly [string, CardType])[] = [
  ['4111111111111111', 'visa'],
  ['4012888888881881', 'visa'],
  ['4222222222222', 'visa'],
  ['5555555555554444', 'mastercard'],
  ['5105105105105100', 'mastercard'],
  ['2223003122003222', 'mastercard'],
  ['378282246310005', 'amex'],
  ['341111111111111', 'amex'],
  ['30569309025904', 'diners'],
  ['36227206271667', 'diners'],
  ['38520000023237', 'diners'],
  ['6011111111111117', 'discover'],
  ['6445644564456445', 'discover'],
  ['3530111333300000', 'jcb'],
  ['3566002020360505', 'jcb'],
  ['6200000000000005', 'unionpay'],
];

/** 4100000000000CCx: answered with this response code. */
export function cardAnsweredWith(responseCode: string): string {
  return withLuhnDigit(`4100000000000${responseCode}`);
}

/** 4200000000000FFx: the fault of this number. */
export function cardWithFault(number: string): string {
  return withLuhnDigit(`4200000000000${number}`);
}

function withLuhnDigit(digits: string): string {
  return digits + luhnDigit(digits);
}

/** 4300000000000CCx: the payment is approved, what follows is answered with this response code. */
export function cardAnsweredLaterWith(responseCode: string): string {
  return withLuhnDigit(`4300000000000${responseCode}`);
}

/** 4400000000000FFx: the payment is approved, what follows meets the fault of this number. */
export function cardWithFaultLater(number: string): string {
  return withLuhnDigit(`4400000000000${number}`);
}

export const DECLINED_CARD = cardAnsweredWith('05');
/** 01: the acquirer cannot be reached. */
export const UNREACHABLE_CARD = cardWithFault('01');
/** 02: the request is lost, the acquirer never sees it. */
export const LOST_REQUEST_CARD = cardWithFault('02');
/** 03: approved, but the answer is lost. */
export const LOST_ANSWER_CARD = cardWithFault('03');
/** 04: approved, but the answer comes after the deadline. */
export const LATE_ANSWER_CARD = cardWithFault('04');
/** 05: approved, but the answer cannot be read. */
export const UNREADABLE_ANSWER_CARD = cardWithFault('05');
/** 06: approved, after two seconds, or as many milliseconds as TOLLGATE_SIMULATOR_SLOW_MS says. */
export const SLOW_CARD = cardWithFault('06');
