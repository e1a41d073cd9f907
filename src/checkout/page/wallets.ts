// Which wallets a page offers, and what its script asks the browser for. A payment by one is a card's, and an attempt like any other.
import type { Merchant } from '../../organisations/users/callers.js';
import { amountText, type Cents } from '../../values/money.js';
import { APPLE_IDENTITY, type WalletType } from '../../wallets/payloads.js';
import { merchantHashOf, pointOf, type WalletKey } from '../../wallets/wallet-keys.js';
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
  const value = amountText(total, currency);
  const details = { total: { label: merchant.name, amount: { currency, value } } };
  const offer = (type: WalletType, supportedMethods: string, data: object): Offer => {
    return { type, totalCents: total, request: [[{ supportedMethods, data }], details] };
  };
  const identity = appleIdentityIn(keys);
  // The oldest: the wallet knows it, and the next one once that is all that is left.
  const googleKey = keys.findLast(
    ({ type, recipient }) => type === 'google_pay' && recipient.startsWith(GOOGLE_MERCHANT),
  );
  return [
    ...(identity === undefined
      ? []
      : [offer('apple_pay', 'https://apple.com/apple-pay', appleData(identity))]),
    ...(googleKey === undefined
      ? []
      : [
          offer('google_pay', 'https://google.com/pay', googleData(googleKey, merchant, { value, currency })),
        ]),
  ];
}

/** The newest, if there is a key for what Apple encrypts for the same merchant. */
export function appleIdentityIn(keys: readonly WalletKey[]): WalletKey | undefined {
  const isSame = (one: WalletKey, other: WalletKey) =>
    merchantHashOf(one.recipient).equals(merchantHashOf(other.recipient));
  return keys.find(
    (identity) =>
      identity.type === APPLE_IDENTITY &&
      keys.some((key) => key.type === 'apple_pay' && isSame(key, identity)),
  );
}

/** Where a page with these offers lets the browser connect to. */
export function browserConnects(offers: readonly Offer[]): readonly string[] {
  return offers.flatMap(({ type }) => FETCHED[type]);
}

/** https://developer.apple.com/documentation/applepayontheweb/applepayrequest */
function appleData({ recipient }: WalletKey): object {
  return {
    version: 3,
    merchantIdentifier: recipient,
    merchantCapabilities: ['supports3DS'],
    supportedNetworks: ['amex', 'discover', 'jcb', 'masterCard', 'visa'],
    countryCode: 'AU',
  };
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
