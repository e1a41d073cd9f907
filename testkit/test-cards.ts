// The card numbers that make the simulated acquirer do what a test needs.
import { luhnDigit } from '../src/values/card.js';

/** 4100000000000CCx: answered with this response code. */
export function cardAnsweredWith(responseCode: string): string {
  return withLuhnDigit(`4100000000000${responseCode}`);
}

/** 4200000000000FFx: the fault of this number. */
function cardWithFault(number: string): string {
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
/** 06: approved, after two seconds. */
export const SLOW_CARD = cardWithFault('06');
