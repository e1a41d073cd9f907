// The merchants of the demo's history: what they sell, when, and for how much.

export type ShopKind = 'books' | 'hotel' | 'gym';

export interface Shop {
  readonly kind: ShopKind;
  readonly name: string;
  readonly vault: boolean;
  /** The prefix of its references. */
  readonly prefix: string;
  /** How many of its customers have a card or an account in the vault. */
  readonly customers: number;
  /** Average payments in each hour of an ordinary weekday in Sydney. */
  readonly hours: readonly number[];
  /** Factors from Monday to Sunday. */
  readonly weekdays: readonly number[];
  readonly middleCents: number;
  readonly spread: number;
  /** The share of payments with a stored card. */
  readonly stored: number;
  /** The share of preauthorisations. */
  readonly held: number;
}

export const SHOPS: readonly Shop[] = [
  {
    kind: 'books',
    name: 'Harbour Books',
    vault: true,
    prefix: 'HB',
    customers: 40,
    hours: [1, 0, 0, 0, 0, 0, 1, 3, 6, 9, 11, 13, 17, 14, 11, 11, 13, 16, 15, 12, 11, 8, 5, 2],
    weekdays: [0.9, 0.85, 0.95, 1.25, 1.1, 0.8, 0.6],
    middleCents: 3_800,
    spread: 0.6,
    stored: 0.35,
    held: 0,
  },
  {
    kind: 'hotel',
    name: 'Harbour Hotel',
    vault: false,
    prefix: 'HH',
    customers: 0,
    hours: [0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 3, 4, 3, 4, 5, 5, 5, 6, 6, 5, 3, 2, 1],
    weekdays: [0.7, 0.75, 0.85, 1, 1.4, 1.5, 0.9],
    middleCents: 9_500,
    spread: 0.7,
    stored: 0,
    held: 0.42,
  },
  {
    kind: 'gym',
    name: 'Harbour Gym',
    vault: true,
    prefix: 'HG',
    customers: 50,
    hours: [0, 0, 0, 0, 0, 2, 4, 3, 2, 1, 1, 1, 2, 1, 1, 2, 3, 4, 4, 2, 1, 0, 0, 0],
    weekdays: [1.3, 1.1, 1.1, 1, 0.8, 0.9, 0.6],
    middleCents: 2_400,
    spread: 0.4,
    stored: 0.5,
    held: 0,
  },
];

/** Members' fees that the gym collects from bank accounts, at nine in the morning on some weekdays (Monday is 0). */
export const FEES = {
  kind: 'gym',
  weekdays: [0, 3],
  hour: 9,
  count: 24,
  amounts: [1_495, 1_995, 2_495],
} as const;

/** Acquirers' decline codes, and how often each occurs. */
export const DECLINES: readonly (readonly [string, number])[] = [
  ['51', 44],
  ['05', 24],
  ['54', 10],
  ['61', 7],
  ['14', 5],
  ['91', 4],
  ['41', 3],
  ['43', 2],
  ['59', 1],
];
/** Banks' return codes, and how often each occurs. */
export const RETURNS: readonly (readonly [number, number])[] = [
  [6, 60],
  [5, 18],
  [3, 14],
  [2, 8],
];

export const DECLINED = 0.07;
export const FAILED = 0.004;
export const NOT_SENT = 0.002;
export const DOUBTED = 0.004;
export const VOIDED = 0.015;
export const REFUNDED = 0.03;
export const RETURNED = 0.05;
