// The schemas of customers and tokens.

import { CARD_NUMBER_PATTERN, EXPIRY_PATTERN } from '../../values/card.js';
import type { CustomerId, TokenId } from '../../values/ids.js';
import { MAX_INTEGER, PAGE_LIMIT } from '../limits.js';
import { alternatives, OPEN } from '../openapi/openapi-components.js';
import { After, Limit, ListLinks } from '../pages.js';
import { AccountName, AccountNumber, Bsb, CardTypeShown, Id, Link, RestrictedText } from '../schemas.js';
import { type Static, Type } from '../typebox.js';

const MerchantId = Type.Optional(
  Id('The merchant whose vault it is. Default: the merchant that the user is assigned to.'),
);

const Offset = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: MAX_INTEGER - PAGE_LIMIT,
    default: 0,
    description: 'How many to leave out. Better: follow `_links.next`.',
  }),
);
export const MerchantQuery = Type.Object({ merchant_id: MerchantId });

export const CustomerQuery = Type.Object({
  merchant_id: MerchantId,
  ordering: Type.Optional(Type.Enum(['name', 'customer_id', 'reference'], { default: 'name' })),
  name: Type.Optional(RestrictedText(1, 60, 'Part of the name, in any case.')),
  reference: Type.Optional(RestrictedText(1, 50, 'Part of the reference, in any case.')),
  limit: Limit,
  offset: Offset,
  after: After,
});

export const TokenQuery = Type.Object({
  merchant_id: MerchantId,
  limit: Limit,
  offset: Offset,
  after: After,
});

export const CustomerPath = Type.Object({ customer_id: Id<CustomerId>('The customer.') });
export const TokenPath = Type.Object({
  customer_id: Id<CustomerId>('The customer.'),
  token_id: Id<TokenId>('The token.'),
});

const CustomerName = RestrictedText(1, 60, 'The name of the customer.');
const CustomerReference = RestrictedText(1, 50, 'The unique reference of the customer.');

export const NewCustomer = Type.Object(
  { reference: CustomerReference, name: CustomerName },
  { title: 'NewCustomer' },
);
export const CustomerChange = Type.Object(
  { reference: Type.Optional(CustomerReference), name: Type.Optional(CustomerName) },
  { title: 'CustomerChange' },
);

export const CustomerObject = Type.Object(
  {
    id: Id('The customer ID.'),
    name: Type.String(),
    reference: Type.String(),
    _links: Type.Object({ self: Link, tokens: Link }, { title: 'CustomerLinks', ...OPEN }),
  },
  { title: 'Customer', ...OPEN },
);
export const CustomerList = Type.Object(
  { _links: ListLinks, results: Type.Array(CustomerObject) },
  { title: 'CustomerList', ...OPEN },
);

const GeneralCreditcard = Type.Object(
  {
    'CARD.PAN': Type.String({
      pattern: CARD_NUMBER_PATTERN,
      format: 'luhn-checked',
      description: 'The card number.',
    }),
    'CARD.EXPIRY': Type.String({
      pattern: EXPIRY_PATTERN,
      format: 'card-expiry',
      description: 'MMYY (YYMM is understood too).',
    }),
    'CARD.NAME': RestrictedText(1, 60, 'The name on the card.'),
  },
  { title: 'GeneralCreditcard' },
);

const GeneralBankaccount = Type.Object(
  { 'BANK.BSB': Bsb, 'BANK.ACCOUNT_NUMBER': AccountNumber, 'BANK.ACCOUNT_NAME': AccountName },
  { title: 'GeneralBankaccount' },
);

const AccountWish = Type.Object(
  {
    general_creditcard: Type.Optional(GeneralCreditcard),
    general_bankaccount: Type.Optional(GeneralBankaccount),
  },
  {
    title: 'Account',
    description: 'Exactly one of the account types.',
    ...alternatives({
      general_creditcard: 'GeneralCreditcardAccount',
      general_bankaccount: 'GeneralBankaccountAccount',
    }),
  },
);

const PreferredName = RestrictedText(1, 50, 'The name of the token, unique for the customer.');
const Active = Type.Boolean({ description: 'Whether the token can be used.' });

export const NewToken = Type.Object(
  { preferred_name: PreferredName, active: Active, account: AccountWish },
  { title: 'NewToken' },
);
export const TokenChange = Type.Object(
  {
    preferred_name: Type.Optional(PreferredName),
    active: Type.Optional(Active),
    account: Type.Optional(AccountWish),
  },
  { title: 'TokenChange' },
);

const MaskedAccount = Type.Object(
  {
    general_creditcard: Type.Optional(
      Type.Object(
        {
          'CARD.PAN': Type.String({ description: 'Masked.' }),
          'CARD.EXPIRY': Type.String({ description: 'Masked.' }),
          'CARD.NAME': Type.String(),
          'CARD.TYPE': CardTypeShown,
        },
        { title: 'MaskedGeneralCreditcard', ...OPEN },
      ),
    ),
    general_bankaccount: Type.Optional(
      Type.Object(
        {
          'BANK.BSB': Type.String(),
          'BANK.ACCOUNT_NUMBER': Type.String({ description: 'Masked.' }),
          'BANK.ACCOUNT_NAME': Type.String(),
        },
        { title: 'MaskedGeneralBankaccount', ...OPEN },
      ),
    ),
  },
  {
    title: 'MaskedAccount',
    ...OPEN,
    ...alternatives({
      general_creditcard: 'MaskedGeneralCreditcardAccount',
      general_bankaccount: 'MaskedGeneralBankaccountAccount',
    }),
  },
);

export const TokenObject = Type.Object(
  {
    id: Id('The token ID.'),
    virtual_pan: Type.String({
      pattern: '^[0-9]{13,19}$',
      description: 'Can stand for the payment details in transactions.',
    }),
    preferred_name: Type.String(),
    active: Type.Boolean(),
    account: MaskedAccount,
    _links: Type.Object({ self: Link, customer: Link }, { title: 'TokenLinks', ...OPEN }),
  },
  { title: 'Token', ...OPEN },
);
export const TokenList = Type.Object(
  { _links: ListLinks, results: Type.Array(TokenObject) },
  { title: 'TokenList', ...OPEN },
);

export type AccountWish = Static<typeof AccountWish>;
export type CustomerObject = Static<typeof CustomerObject>;
export type TokenObject = Static<typeof TokenObject>;
