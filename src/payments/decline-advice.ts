// What to do after a card was declined, by the acquirer's response code. Data: a code is moved to another line, and nothing else changes.
import type { Transaction } from './transaction.js';

export const DECLINE_ADVICE = [
  'try_again_later',
  'try_another_card',
  'contact_bank',
  'fix_details',
  'do_not_retry',
] as const;
export type DeclineAdvice = (typeof DECLINE_ADVICE)[number];

interface Line {
  readonly codes: string;
  readonly advice: DeclineAdvice;
  /** Why, and where that is from. */
  readonly because: string;
}

/**
 * Codes of ISO 8583:1987 and AS 2805, and the letters that Visa has added. Categories are Visa's, of its rules on declines since 2020, as
 * acquirers publish them (read in November 2026): 1, the issuer will never approve; 2, not now; 3, not with these details.
 */
const LINES: readonly Line[] = [
  {
    codes: '04 07 12 15 33 36 38 41 43 46 57 R0 R1 R3',
    advice: 'do_not_retry',
    because: 'category 1, and cards that are to be kept back (AS 2805)',
  },
  {
    codes: '14 54 55 56 82 N7',
    advice: 'fix_details',
    because:
      'category 3; 14, which is in category 1 for whoever tries by itself, is a slip of the payer here',
  },
  {
    codes: '01 02 34 59 62 63 75 78 83',
    advice: 'contact_bank',
    because: 'the issuer wants to speak to the cardholder, or suspects something (AS 2805)',
  },
  {
    codes: '06 09 19 22 68 90 91 92 93 95 98',
    advice: 'try_again_later',
    because: 'nobody has decided about the card: category 2, and conditions of systems (AS 2805)',
  },
  {
    codes: '03 05 10 13 30 31 39 40 42 51 52 53 58 61 64 65 77 1A',
    advice: 'try_another_card',
    because: 'this card does not pay this here and now: category 2, and refusals without a reason (AS 2805)',
  },
];

interface NotAgain {
  readonly responseCodes?: string;
  /** Mastercard's Merchant Advice Codes. */
  readonly adviceCodes?: string;
  readonly because: string;
}

/** After these a merchant must not try the card again by itself, for 30 days. Read in November 2026. */
const NOT_AGAIN: readonly NotAgain[] = [
  {
    responseCodes: '04 07 12 15 41 43 46 57 R0 R1 R3',
    because:
      'Visa’s category 1: the issuer will never approve; R0, R1 and R3: the cardholder has stopped such payments',
  },
  { responseCodes: '14', because: 'Visa’s category 1 as well: there is no such card' },
  {
    adviceCodes: '03 21',
    because:
      'Mastercard’s advice to merchants: 03 do not try again, 21 the payment was cancelled (Transaction Processing Excellence)',
  },
];

/** So many declines of one card in 30 days are enough, whatever their codes. Visa counts 15; a link whose acquirer holds to that says so. */
export const MOST_DECLINES = 20;

const codesOf = (kind: 'responseCodes' | 'adviceCodes') =>
  new Set(NOT_AGAIN.flatMap((line) => line[kind]?.split(' ') ?? []));
const NOT_AGAIN_BY_RESPONSE = codesOf('responseCodes');
const NOT_AGAIN_BY_ADVICE = codesOf('adviceCodes');

/** Whether the merchant must not try the card again by itself. */
export function forbidsRetry(responseCode: string | undefined, adviceCode?: string | null): boolean {
  return NOT_AGAIN_BY_RESPONSE.has(responseCode ?? '') || NOT_AGAIN_BY_ADVICE.has(adviceCode ?? '');
}

const BY_CODE = new Map(LINES.flatMap(({ codes, advice }) => codes.split(' ').map((code) => [code, advice])));

/** The bank wants to know more of who pays, as 3-D Secure tells it. */
const WANTS_AUTHENTICATION = ['1A', '65'];

export function wantsAuthentication({
  status,
  responseCode = '',
}: Pick<Transaction, 'status' | 'responseCode'>): boolean {
  return status === 'declined' && WANTS_AUTHENTICATION.includes(responseCode);
}

/** Undefined where nothing is to be tried again: it was not declined, it is no card, or no payment. */
export function declineAdvice({
  status,
  transactionType,
  cardMask,
  responseCode = '',
}: Pick<Transaction, 'status' | 'transactionType' | 'cardMask' | 'responseCode'>): DeclineAdvice | undefined {
  const isPayment = transactionType === 'purchase' || transactionType === 'preauthorisation';
  if (status !== 'declined' || cardMask === undefined || !isPayment) return undefined;
  return BY_CODE.get(responseCode) ?? 'try_another_card';
}
