// Which wallets a page offers, and what its script asks the browser for. A payment by one is a card's, and an attempt like any other.
import type { Merchant } from '../../organisations/users/callers.js';
import { amountText, type Cents } from '../../values/money.js';
import type { WalletType } from '../../wallets/payloads.js';
import { pointOf, type WalletKey } from '../../wallets/wallet-keys.js';
import type { Terms } from '../checkout.js';
import type { Quotes } from './quotes.js';

export interface Offer {
  readonly type: WalletType;
  readonly totalCents: Cents;
  /** What `new PaymentRequest` takes. */
  readonly request: readonly [methods: readonly object[], details: object];
}

/** What browsers fetch to learn how a wallet is paid with. */
const FETCHED: Readonly<Record<WalletType, readonly string[]>> = {
  apple_pay: [],
  google_pay: ['https://google.com/pay', 'https://pay.google.com'],
};
const GOOGLE_MERCHANT = 'merchant:';
const NETWORKS = ['AMEX', 'DISCOVER', 'JCB', 'MASTERCARD', 'VISA'];

/** None where it depends on the card what is paid: a wallet tells that only after the payer has agreed to an amount. */
export function offersFor(
  { currency = '' }: Terms,
  quotes: Quotes,
  merchant: Merchant,
  keys: readonly WalletKey[],
): readonly Offer[] {
  const ofCards = quotes.all.filter(({ method }) => method === 'creditcard');
  const [total, ...others] = new Set(ofCards.map(({ totalCents }) => totalCents));
  // guard(checkout: no wallet where it depends on the card what is paid): others.length > 0 ⇒ false
  if (total === undefined || others.length > 0) return [];
  // The oldest: the wallet knows it, and the next one once that is all that is left.
  const key = keys.findLast(
    ({ type, recipient }) => type === 'google_pay' && recipient.startsWith(GOOGLE_MERCHANT),
  );
  if (key === undefined) return [];
  const value = amountText(total, currency);
  const methods = [
    { supportedMethods: 'https://google.com/pay', data: googleData(key, merchant, { value, currency }) },
  ];
  const details = { total: { label: merchant.name, amount: { currency, value } } };
  return [{ type: 'google_pay', totalCents: total, request: [methods, details] }];
}

/** Where a page with these offers lets the browser connect to. */
export function browserConnects(offers: readonly Offer[]): readonly string[] {
  return offers.flatMap(({ type }) => FETCHED[type]);
}

/** https://developers.google.com/pay/api/web/reference/request-objects#PaymentDataRequest */
function googleData(
  key: WalletKey,
  { name, mode }: Merchant,
  { value, currency }: { readonly value: string; readonly currency: string },
): object {
  return {
    environment: mode === 'live' ? 'PRODUCTION' : 'TEST',
    apiVersion: 2,
    apiVersionMinor: 0,
    merchantInfo: { merchantId: key.recipient.slice(GOOGLE_MERCHANT.length), merchantName: name },
    allowedPaymentMethods: [
      {
        type: 'CARD',
        parameters: { allowedAuthMethods: ['PAN_ONLY', 'CRYPTOGRAM_3DS'], allowedCardNetworks: NETWORKS },
        tokenizationSpecification: {
          type: 'DIRECT',
          parameters: { protocolVersion: 'ECv2', publicKey: pointOf(key) },
        },
      },
    ],
    transactionInfo: { totalPriceStatus: 'FINAL', totalPrice: value, currencyCode: currency },
  };
}
