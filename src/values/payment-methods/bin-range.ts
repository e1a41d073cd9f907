// Ranges of BINs: the first six to eight digits of card numbers, by which their issuers are known.

export interface BinRange {
  /** Digits, as many in both. */
  readonly from: string;
  readonly to: string;
}

/** So many digits of a card number are looked at. */
export const BIN_DIGITS = 8;
const BIN_RANGE = /^([0-9]{6,8})(?:-([0-9]{6,8}))?$/;

/** `456000-456099`, or one BIN alone. Undefined for anything else. */
export function parseBinRange(text: string): BinRange | undefined {
  const [, from, to = from] = BIN_RANGE.exec(text) ?? [];
  if (from === undefined || to === undefined) return undefined;
  return from.length === to.length && from <= to ? { from, to } : undefined;
}

export function formatBinRange({ from, to }: BinRange): string {
  return from === to ? from : `${from}-${to}`;
}

/** The first and the last number of eight digits that lie in the range. */
export function binBounds({ from, to }: BinRange): readonly [first: number, last: number] {
  return [Number(from.padEnd(BIN_DIGITS, '0')), Number(to.padEnd(BIN_DIGITS, '9'))];
}
