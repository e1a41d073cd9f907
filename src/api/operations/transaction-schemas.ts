// The schemas of transactions.
import { CARD_NUMBER_PATTERN, CVV_PATTERN, EXPIRY_PATTERN } from '../../values/card.js';
import { CREDENTIAL_REASONS, INITIATORS, SEQUENCES } from '../../values/credential.js';
import type { Audit } from '../../values/ids.js';
import { AMOUNT_PATTERN, CURRENCY_PATTERN } from '../../values/money.js';
import { IP_ADDRESS_PATTERN } from '../../values/network.js';
import {
  KVP_KEY_PATTERN,
  KVP_VALUE_MAX_LENGTH,
  KVPS_AT_MOST,
  RESTRICTED_PATTERN,
} from '../../values/text.js';
import {
  AUTHENTICATION_STATUSES,
  AUTHENTICATION_VALUE_PATTERN,
  NETWORK_PATTERN,
  THREE_D_SECURE_VERSION_PATTERN,
  UUID_PATTERN,
} from '../../values/three-d-secure.js';
import { WALLETS } from '../../wallets/payloads.js';
import { alternatives, OPEN, openEnum } from '../openapi/openapi-components.js';
import {
  AccountName,
  AccountNumber,
  Bsb,
  CardTypeShown,
  CORRELATION_ID,
  Id,
  Link,
  RestrictedText,
} from '../schemas.js';
import { type Static, type TProperties, Type } from '../typebox.js';

export const Merchant = Type.Object(
  { id: Id('The merchant that the transaction is for.') },
  { title: 'Merchant' },
);

const RequestKvps = Type.Unsafe<Record<string, string>>({
  title: 'RequestKvps',
  type: 'object',
  maxProperties: KVPS_AT_MOST,
  propertyNames: { pattern: KVP_KEY_PATTERN, format: 'no-card-number' },
  additionalProperties: {
    type: 'string',
    maxLength: KVP_VALUE_MAX_LENGTH,
    pattern: RESTRICTED_PATTERN,
    format: 'no-card-number',
  },
  description:
    'Key-value pairs to keep with the transaction. They come back with `GATEWAY.REQUEST.KVP.` before each key.',
});

const Reference = RestrictedText(1, 128, "The merchant's reference for the transaction.");

export const AmountDetails = Type.Object(
  {
    total_amount: Type.String({
      pattern: AMOUNT_PATTERN,
      description: 'Cents, as a string of digits.',
      examples: ['1995'],
    }),
    currency: Type.String({
      pattern: CURRENCY_PATTERN,
      format: 'iso-4217',
      description: 'ISO 4217 code.',
      examples: ['AUD'],
    }),
  },
  { title: 'AmountDetails' },
);

const ThreeDSecure = Type.Object(
  {
    version: Type.String({
      pattern: THREE_D_SECURE_VERSION_PATTERN,
      description: 'Of the protocol.',
      examples: ['2.2.0'],
    }),
    eci: Type.String({
      pattern: '^[0-9]{2}$',
      description: 'Electronic commerce indicator.',
      examples: ['05'],
    }),
    authentication_value: Type.Optional(
      Type.String({
        pattern: AUTHENTICATION_VALUE_PATTERN,
        description: 'Base64 of 20 bytes (CAVV, AAV). Stored sealed with the card, and not shown.',
        examples: ['AAABBWFlmQAAAABjRWWZEEFgFz8='],
      }),
    ),
    ds_transaction_id: Type.Optional(
      Type.String({
        pattern: UUID_PATTERN,
        description: 'Of the directory server: a UUID.',
        examples: ['f38e6948-5388-41a6-bca4-b49723c19437'],
      }),
    ),
    status: Type.String({
      enum: [...AUTHENTICATION_STATUSES],
      description: 'The transaction status (transStatus). With `N`, `R` and `C` nothing is paid.',
      examples: ['Y'],
    }),
    network: Type.Optional(
      Type.String({
        maxLength: 20,
        pattern: NETWORK_PATTERN,
        description: 'The scheme that it was made with, of a card that has two.',
        examples: ['visa'],
      }),
    ),
  },
  { title: 'ThreeDSecure', description: 'The result of a 3-D Secure check that was made elsewhere.' },
);

const Credential = Type.Object(
  {
    initiator: Type.Optional(
      Type.String({
        enum: [...INITIATORS],
        description:
          'Who starts this payment: the customer, who is there, or the merchant by itself. `customer` if absent.',
        examples: ['merchant'],
      }),
    ),
    reason: Type.String({
      enum: [...CREDENTIAL_REASONS],
      description: 'The agreement with the cardholder, or what the merchant may do without one.',
      examples: ['recurring'],
    }),
    sequence: Type.String({
      enum: [...SEQUENCES],
      description: 'Whether this payment begins the agreement or follows from it.',
      examples: ['subsequent'],
    }),
    network_transaction_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 36,
        pattern: RESTRICTED_PATTERN,
        format: 'network-transaction-id',
        description:
          'Under which the network knows the payment that began the agreement. Not needed for a virtual PAN that was paid with here: the gateway keeps it.',
        examples: ['016153570198200'],
      }),
    ),
  },
  { title: 'Credential', description: 'Of a card that is kept: who pays, and under which agreement.' },
);

const Creditcard = Type.Object(
  {
    pan: Type.String({
      pattern: CARD_NUMBER_PATTERN,
      format: 'luhn-checked',
      description: 'The card number, or a virtual PAN.',
      examples: ['4111111111111111'],
    }),
    expiry_date: Type.Optional(
      Type.String({
        pattern: EXPIRY_PATTERN,
        format: 'card-expiry',
        description:
          'MMYY (YYMM is understood too). Required with a card number, ignored with a virtual PAN.',
        examples: ['1230'],
      }),
    ),
    cvv: Type.Optional(
      Type.String({ pattern: CVV_PATTERN, description: 'Never stored.', examples: ['123'] }),
    ),
    three_d_secure: Type.Optional(ThreeDSecure),
  },
  { title: 'Creditcard' },
);

const Bankaccount = Type.Object(
  {
    bsb: Bsb,
    account_number: AccountNumber,
    account_name: AccountName,
  },
  { title: 'Bankaccount' },
);

const body = <Properties extends TProperties>(title: string, properties: Properties) =>
  Type.Object(
    {
      merchant: Merchant,
      kvps: Type.Optional(RequestKvps),
      transaction: Type.Object(properties, { title: `${title}Transaction` }),
    },
    { title },
  );

const Wallet = Type.Object(
  {
    type: Type.Enum([...WALLETS], { description: 'Which wallet made the token.' }),
    token: Type.Unsafe<string | Readonly<Record<string, unknown>>>({
      oneOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }],
      description:
        'As the wallet gave it to the page or the app: of Apple Pay `paymentData` of the payment token (`EC_v1`), of Google Pay the token (`ECv2`), as an object or as the text that Google gives.',
    }),
  },
  { title: 'Wallet' },
);

const PaymentMethod = Type.Object(
  {
    creditcard: Type.Optional(Creditcard),
    bankaccount: Type.Optional(Bankaccount),
    wallet: Type.Optional(Wallet),
  },
  {
    title: 'PaymentMethod',
    description: 'Exactly one of them. A standalone refund takes no wallet.',
    ...alternatives({
      creditcard: 'CreditcardPaymentMethod',
      bankaccount: 'BankaccountPaymentMethod',
      wallet: 'WalletPaymentMethod',
    }),
  },
);
const CardPaymentMethod = Type.Object(
  { creditcard: Type.Optional(Creditcard), wallet: Type.Optional(Wallet) },
  {
    title: 'CardPaymentMethod',
    description: 'Exactly one of the two.',
    ...alternatives({ creditcard: 'CreditcardPaymentMethod', wallet: 'WalletPaymentMethod' }),
  },
);

const Payer = Type.Object(
  {
    address: Type.Optional(
      Type.String({
        maxLength: 45,
        pattern: IP_ADDRESS_PATTERN,
        format: 'ip-address',
        description: 'The IP address that the payer pays from. It is counted against limits, and not stored.',
        examples: ['203.0.113.7'],
      }),
    ),
  },
  { title: 'Payer' },
);

export const PaymentBody = body('PaymentRequest', {
  reference: Reference,
  amount_details: AmountDetails,
  credential: Type.Optional(Credential),
  payer: Type.Optional(Payer),
  payment_method: PaymentMethod,
});
/** Bank accounts have no preauthorisations. */
export const CardPaymentBody = body('PreauthorisationRequest', {
  reference: Reference,
  amount_details: AmountDetails,
  credential: Type.Optional(Credential),
  payer: Type.Optional(Payer),
  payment_method: CardPaymentMethod,
});
export const AmountBody = body('AmountRequest', { reference: Reference, amount_details: AmountDetails });
export const VoidBody = body('VoidRequest', { reference: Reference });

export type PaymentBody = Static<typeof PaymentBody>;
export type AmountBody = Static<typeof AmountBody>;
export type VoidBody = Static<typeof VoidBody>;

export const TransactionLinks = Type.Object(
  {
    self: Link,
    target: Type.Optional(Link),
    completion: Type.Optional(Link),
    refund: Type.Optional(Link),
    void: Type.Optional(Link),
  },
  {
    title: 'TransactionLinks',
    ...OPEN,
    description: '`completion`, `refund` and `void` are there only while that operation would be accepted.',
  },
);

const Acquirer = Type.Object(
  {
    response_code: Type.Optional(Type.String()),
    response_message: Type.Optional(Type.String()),
    settlement_date: Type.Optional(Type.String({ format: 'date' })),
    authorisation_code: Type.Optional(Type.String()),
    preauthorisation_code: Type.Optional(Type.String({ maxLength: 12 })),
    network_transaction_id: Type.Optional(
      Type.String({
        description: 'Under which the card’s network knows it, where the acquirer has told that.',
      }),
    ),
  },
  { title: 'AcquirerStatus', ...OPEN },
);

export const Status = Type.Object(
  {
    gateway_status_code: Type.Integer({
      description:
        '0 processed; 1 the acquirer could not be reached, nothing was sent; 2 no readable answer, reversed, nothing was charged; 3 the acquirer reported a fault of its own; -99 not known yet. Treat any other value as -99.',
    }),
    gateway_status_message: Type.String(),
    transaction_status_code: openEnum(
      ['approved', 'declined', 'pending', 'error', 'voided', 'reversed', 'unknown', 'Unknown'],
      'The outcome. Treat any other value as `unknown`.',
    ),
    acquirer: Acquirer,
  },
  { title: 'TransactionStatus', ...OPEN },
);

export const Kvps = Type.Unsafe<Record<string, string>>({
  title: 'Kvps',
  type: 'object',
  additionalProperties: { type: 'string' },
  description:
    'Those of the request under `GATEWAY.REQUEST.KVP.`, those of the gateway under `GATEWAY.RESPONSE.KVP.`.',
});
export const GatewayTimestamp = Type.String({
  format: 'date-time',
  description: 'Sydney local time. Approximate on creating responses, exact on lookups.',
});

export const TransactionMerchant = Type.Object(
  { id: Id('The merchant.') },
  { title: 'TransactionMerchant', ...OPEN },
);

export const CreatedTransaction = Type.Object(
  {
    audit: Id('The lasting identifier of the transaction.'),
    gateway_timestamp: GatewayTimestamp,
    merchant: TransactionMerchant,
    kvps: Kvps,
    status: Status,
    _links: TransactionLinks,
  },
  { title: 'CreatedTransaction', ...OPEN },
);

const MaskedPaymentMethod = Type.Object(
  {
    creditcard: Type.Optional(
      Type.Object(
        {
          pan: Type.String({ description: 'Masked.' }),
          type: CardTypeShown,
          three_d_secure: Type.Optional(
            Type.Object(
              {
                version: Type.Optional(Type.String()),
                eci: Type.Optional(Type.String()),
                status: Type.Optional(Type.String()),
              },
              { title: 'ShownThreeDSecure', ...OPEN },
            ),
          ),
        },
        { title: 'MaskedCreditcard', ...OPEN },
      ),
    ),
    bankaccount: Type.Optional(
      Type.Object(
        {
          bsb: Type.String(),
          account_number: Type.String({ description: 'Masked.' }),
          account_name: Type.String(),
        },
        { title: 'MaskedBankaccount', ...OPEN },
      ),
    ),
  },
  {
    title: 'MaskedPaymentMethod',
    ...OPEN,
    ...alternatives({
      creditcard: 'MaskedCreditcardPaymentMethod',
      bankaccount: 'MaskedBankaccountPaymentMethod',
    }),
  },
);

const TransactionAmount = Type.Object(
  { total_amount: Type.String({ description: 'Cents, as a string of digits.' }), currency: Type.String() },
  { title: 'TransactionAmount', ...OPEN },
);

export const TransactionDetails = Type.Object(
  {
    reference: Type.String(),
    transaction_type: openEnum(
      ['purchase', 'preauthorisation', 'completion', 'refund', 'standalone_refund', 'void', 'reverse'],
      '`reverse` is to be treated as `void`.',
    ),
    target_audit: Type.Optional(Id('The transaction that this one acts on.')),
    amount_details: TransactionAmount,
    payment_method: Type.Optional(MaskedPaymentMethod),
    credential: Type.Optional(
      Type.Object(
        {
          initiator: openEnum(INITIATORS, 'Who started this payment.'),
          reason: openEnum(CREDENTIAL_REASONS, 'The agreement with the cardholder.'),
          sequence: openEnum(SEQUENCES, 'Whether this payment began the agreement.'),
          network_transaction_id: Type.Optional(Type.String()),
        },
        { title: 'ShownCredential', ...OPEN },
      ),
    ),
    directdebit_mode: Type.Optional(
      openEnum(['debit', 'credit'], 'Of a direct debit: which way the money goes.'),
    ),
  },
  { title: 'TransactionDetails', ...OPEN },
);

export const LookedUpTransaction = Type.Object(
  {
    audit: Id('The lasting identifier of the transaction.'),
    gateway_timestamp: GatewayTimestamp,
    merchant: TransactionMerchant,
    kvps: Kvps,
    transaction: TransactionDetails,
    status: Status,
    _links: TransactionLinks,
  },
  { title: 'LookedUpTransaction', ...OPEN },
);

export const SearchResults = Type.Object(
  { results: Type.Array(LookedUpTransaction, { maxItems: 1 }) },
  { title: 'SearchResults', ...OPEN },
);

export const AuditPath = Type.Object({ audit: Id<Audit>('The audit of the transaction.') });

export const SearchQuery = Type.Object({
  merchant_id: Id('The merchant that the transaction was for.'),
  correlation_id_lookup: Type.String({
    ...CORRELATION_ID,
    description: 'The `X-Correlation-Id` of the request that created the transaction.',
  }),
});

export type CreatedTransaction = Static<typeof CreatedTransaction>;
export type LookedUpTransaction = Static<typeof LookedUpTransaction>;
