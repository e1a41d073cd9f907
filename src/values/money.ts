// In charge of amounts and currencies.

/** Integer cents. Twelve digits, the most that the interface takes, fit a double exactly. */
export type Cents = number & { readonly __cents: unique symbol };

export const MAX_AMOUNT_CENTS = 999_999_999_999;
export const AMOUNT_PATTERN = '^[1-9][0-9]{0,11}$';

const amount = new RegExp(AMOUNT_PATTERN);

/** Whether a text is an amount as clients write it. */
export function isAmount(text: string): boolean {
  return amount.test(text);
}

export function cents(value: number | string): Cents {
  // Number('') is 0 and Number('1e3') is 1000, so a text is looked at before it is converted.
  const amountCents = typeof value === 'number' || /^[0-9]+$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(amountCents) || amountCents < 0)
    throw new RangeError('an amount in cents is a whole number, zero or more');
  return amountCents as Cents;
}

// The active alphabetic codes of ISO 4217 as of amendment 180. Left out: what nobody is paid in, that is funds (CLF,
// USN, XDR and the like), metals, testing and "no currency".
export const CURRENCIES: ReadonlySet<string> = new Set(
  `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY
   COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR
   ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK
   MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF
   SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU
   UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG`.split(/\s+/),
);

// ISO 4217 as well. `Intl` goes by what prices commonly show: it has no decimals for IQD, IDR, COP, HUF and a dozen others.
const DECIMALS: Readonly<Record<number, readonly string[]>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'.split(' '),
  3: 'BHD IQD JOD KWD LYD OMR TND'.split(' '),
};
const USUAL_DECIMALS = 2;
const MOST_DECIMALS = 3;
const DECIMALS_OF: ReadonlyMap<string, number> = new Map(
  Object.entries(DECIMALS).flatMap(([decimals, codes]) => codes.map((code) => [code, Number(decimals)])),
);

/** How many decimals a currency has: an amount is in its minor unit, which is called cents whatever the currency calls it. */
export function decimalsOf(currency: string): number {
  return DECIMALS_OF.get(currency) ?? USUAL_DECIMALS;
}

/** The same in SQL, of a column. */
export function decimalsInSql(column: string): string {
  const cases = Object.entries(DECIMALS).map(
    ([decimals, codes]) =>
      `WHEN ${column} IN (${codes.map((code) => `'${code}'`).join(', ')}) THEN ${decimals}`,
  );
  return `CASE ${cases.join(' ')} ELSE ${USUAL_DECIMALS} END`;
}

/** As people write it: `18.29` of AUD, `600` of JPY, `1.250` of KWD. */
export function amountText(amountCents: number | string | bigint, currency: string): string {
  const decimals = decimalsOf(currency);
  const [, sign = '', digits = ''] = /^(-?)(\d+)$/.exec(String(amountCents)) ?? [];
  if (digits === '') throw new RangeError('an amount in cents is a whole number');
  const padded = digits.padStart(decimals + 1, '0');
  const whole = padded.slice(0, padded.length - decimals);
  return decimals === 0 ? sign + whole : `${sign}${whole}.${padded.slice(-decimals)}`;
}

/** With its currency: `18.29 AUD`. */
export function moneyText(amountCents: number | string | bigint, currency: string): string {
  return `${amountText(amountCents, currency)} ${currency}`;
}

export const AMOUNT_TEXT_PATTERN = '^[0-9]{1,12}([.][0-9]{1,3})?$';
const amountAsText = new RegExp(AMOUNT_TEXT_PATTERN);

/** Whether a text is an amount as people write it, in some currency. */
export function isAmountText(text: string): boolean {
  return amountAsText.test(text);
}

/** What a person wrote, in cents; undefined where it is no amount of this currency. */
export function centsIn(text: string, currency: string): number | undefined {
  return centsWith(decimalsOf(currency), text);
}

/** What a person wrote, in cents of currencies without decimals, with one, two and three; null where those have no such amount. */
export function centsByDecimals(text: string): (number | null)[] {
  return Array.from({ length: MOST_DECIMALS + 1 }, (_, decimals) => centsWith(decimals, text) ?? null);
}

/** The same cents in every currency, in the form of `centsByDecimals`. */
export function centsWhateverDecimals(amountCents: number): number[] {
  return Array.from({ length: MOST_DECIMALS + 1 }, () => amountCents);
}

function centsWith(decimals: number, text: string): number | undefined {
  const [, whole, part = ''] = /^\s*(\d{1,12})(?:\.(\d{1,3}))?\s*$/.exec(text) ?? [];
  if (whole === undefined || part.length > decimals) return undefined;
  const amountCents = Number(whole + part.padEnd(decimals, '0'));
  return amountCents > MAX_AMOUNT_CENTS ? undefined : amountCents;
}

export const CURRENCY_PATTERN = '^[A-Z]{3}$';

export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code);
}
