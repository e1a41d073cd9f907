// Amounts and currencies.

/** Integer cents. A double holds twelve digits, the API's limit, exactly. */
export type Cents = number & { readonly __cents: unique symbol };

export const MAX_AMOUNT_CENTS = 999_999_999_999;
export const AMOUNT_PATTERN = '^[1-9][0-9]{0,11}$';

const amount = new RegExp(AMOUNT_PATTERN);

/** Whether the text is an amount as clients write it. */
export function isAmount(text: string): boolean {
  return amount.test(text);
}

export function cents(value: number | string): Cents {
  // Number('') is 0 and Number('1e3') is 1000, so the text is checked before it is converted.
  const amountCents = typeof value === 'number' || /^[0-9]+$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(amountCents) || amountCents < 0)
    throw new RangeError('an amount in cents is a whole number, zero or more');
  return amountCents as Cents;
}

const USUAL_DECIMALS = 2;
const MOST_DECIMALS = 3;

// The active codes of ISO 4217 as of amendment 180, each with its number, and its decimals if not two. Left out are codes that nobody is
// paid in: funds (CLF, USN, XDR and the like), metals, testing and "no currency". `Intl` follows common prices instead: it has no
// decimals for IQD, IDR, COP, HUF and a dozen others.
const ISO_4217: ReadonlyMap<string, { readonly number: string; readonly decimals: number }> = new Map(
  `AED784 AFN971 ALL008 AMD051 AOA973 ARS032 AUD036 AWG533 AZN944 BAM977 BBD052 BDT050 BHD048.3 BIF108.0 BMD060
   BND096 BOB068 BRL986 BSD044 BTN064 BWP072 BYN933 BZD084 CAD124 CDF976 CHF756 CLP152.0 CNY156 COP170 CRC188
   CUP192 CVE132 CZK203 DJF262.0 DKK208 DOP214 DZD012 EGP818 ERN232 ETB230 EUR978 FJD242 FKP238 GBP826 GEL981
   GHS936 GIP292 GMD270 GNF324.0 GTQ320 GYD328 HKD344 HNL340 HTG332 HUF348 IDR360 ILS376 INR356 IQD368.3 IRR364
   ISK352.0 JMD388 JOD400.3 JPY392.0 KES404 KGS417 KHR116 KMF174.0 KPW408 KRW410.0 KWD414.3 KYD136 KZT398 LAK418
   LBP422 LKR144 LRD430 LSL426 LYD434.3 MAD504 MDL498 MGA969 MKD807 MMK104 MNT496 MOP446 MRU929 MUR480 MVR462
   MWK454 MXN484 MYR458 MZN943 NAD516 NGN566 NIO558 NOK578 NPR524 NZD554 OMR512.3 PAB590 PEN604 PGK598 PHP608
   PKR586 PLN985 PYG600.0 QAR634 RON946 RSD941 RUB643 RWF646.0 SAR682 SBD090 SCR690 SDG938 SEK752 SGD702 SHP654
   SLE925 SOS706 SRD968 SSP728 STN930 SVC222 SYP760 SZL748 THB764 TJS972 TMT934 TND788.3 TOP776 TRY949 TTD780
   TWD901 TZS834 UAH980 UGX800.0 USD840 UYU858 UZS860 VED926 VES928 VND704.0 VUV548.0 WST882 XAF950.0 XCD951 XCG532
   XOF952.0 XPF953.0 YER886 ZAR710 ZMW967 ZWG924`
    .split(/\s+/)
    .map((entry) => [
      entry.slice(0, 3),
      { number: entry.slice(3, 6), decimals: Number(entry[7] ?? USUAL_DECIMALS) },
    ]),
);
export const CURRENCIES: readonly string[] = [...ISO_4217.keys()];

export const CURRENCY_PATTERN = '^[A-Z]{3}$';

export function isCurrency(code: string): boolean {
  return ISO_4217.has(code);
}

/** The number that messages to acquirers use instead of the code. */
export function currencyNumber(code: string): string | undefined {
  return ISO_4217.get(code)?.number;
}

export function currencyOfNumber(number: string): string | undefined {
  return CURRENCIES.find((code) => currencyNumber(code) === number);
}

/** How many decimals a currency has. Amounts are in the minor unit, which this code calls cents for every currency. */
export function decimalsOf(currency: string): number {
  return ISO_4217.get(currency)?.decimals ?? USUAL_DECIMALS;
}

/** The same in SQL, for a column. */
export function decimalsInSql(column: string): string {
  const cases = [0, MOST_DECIMALS].map((decimals) => {
    const codes = CURRENCIES.filter((code) => decimalsOf(code) === decimals).map((code) => `'${code}'`);
    return `WHEN ${column} IN (${codes.join(', ')}) THEN ${decimals}`;
  });
  return `CASE ${cases.join(' ')} ELSE ${USUAL_DECIMALS} END`;
}

/** As people write it: `18.29` for AUD, `600` for JPY, `1.250` for KWD. */
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

/** Whether the text is an amount as people write it, in any currency. */
export function isAmountText(text: string): boolean {
  return amountAsText.test(text);
}

/** The cents that a person's text means; undefined if it is no amount in this currency. */
export function centsIn(text: string, currency: string): number | undefined {
  return centsWith(decimalsOf(currency), text);
}

/** The cents that a person's text means in currencies with no, one, two and three decimals; null if the text does not fit them. */
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
