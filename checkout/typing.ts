// How card numbers and expiry dates are written while somebody types them.

const TYPES: readonly (readonly [RegExp, string])[] = [
  [/^4/, 'visa'],
  [/^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, 'mastercard'],
  [/^3[47]/, 'amex'],
  [/^3(0[0-5]|095|6|8|9)/, 'diners'],
  [/^(6011|64[4-9]|65)/, 'discover'],
  [/^35(2[89]|[3-8])/, 'jcb'],
  [/^(62|81[0-6]|817[01])/, 'unionpay'],
  [/^5602/, 'eftpos'],
];

/** As the first digits tell; empty as long as they tell nothing, and `other` where they belong to nobody whom we know. */
export function cardTypeOf(text: string): string {
  const digits = text.replaceAll(/\D/g, '');
  const [, type] = TYPES.find(([pattern]) => pattern.test(digits)) ?? [];
  return type ?? (digits.length >= 6 ? 'other' : '');
}

/** In groups as on the card. */
export function grouped(text: string): string {
  const digits = text.replaceAll(/\D/g, '').slice(0, 19);
  const groups = /^3[47]/.test(digits) ? [4, 6, 5] : [4, 4, 4, 4, 3];
  const parts: string[] = [];
  let at = 0;
  for (const length of groups) {
    if (at >= digits.length) break;
    parts.push(digits.slice(at, at + length));
    at += length;
  }
  return parts.join(' ') + digits.slice(at);
}

/** `1230` becomes `12/30`, and `7` the month `07`. */
export function withSlash(text: string): string {
  const typed = text.replaceAll(/\D/g, '').slice(0, 6);
  const digits = /^[2-9]/.test(typed) ? `0${typed}` : typed;
  return digits.length < 2 ? digits : `${digits.slice(0, 2)}/${digits.slice(2)}`;
}
