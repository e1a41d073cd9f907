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

export const CURRENCY_PATTERN = '^[A-Z]{3}$';

export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code);
}
