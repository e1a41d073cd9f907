// Schemas that transactions and the vault share. One schema gives the types, the validation and the OpenAPI document, where a schema with
// a `title` is a component of that name.

import {
  ACCOUNT_NAME_MAX_LENGTH,
  ACCOUNT_NAME_PATTERN,
  ACCOUNT_NUMBER_PATTERN,
  BSB_PATTERN,
} from '../values/bank-account.js';
import {
  CORRELATION_ID_MAX_LENGTH,
  CORRELATION_ID_PATTERN,
  RESTRICTED_PATTERN,
  WEB_ADDRESS_PATTERN,
  WEB_ORIGIN_PATTERN,
} from '../values/text.js';
import { MAX_INTEGER } from './limits.js';
import { OPEN, openEnum } from './openapi/openapi-components.js';
import { Type } from './typebox.js';

export const CARD_TYPES_SHOWN = [
  'visa',
  'mastercard',
  'amex',
  'diners',
  'discover',
  'jcb',
  'unionpay',
  'eftpos',
  '',
];
export const CardTypeShown = openEnum(
  CARD_TYPES_SHOWN,
  'The scheme of the card. Empty where it is not known.',
);

/** A value that passes may be used as an ID of the requested type. */
export const Id = <Value extends number = number>(description: string) =>
  Type.Integer({ minimum: 1, maximum: MAX_INTEGER, description }) as unknown as Type.TUnsafe<Value>;

export const RestrictedText = (minLength: number, maxLength: number, description: string) =>
  Type.String({ minLength, maxLength, pattern: RESTRICTED_PATTERN, format: 'no-card-number', description });

/** The rules for a correlation ID, wherever it appears. */
export const CORRELATION_ID = {
  minLength: 1,
  maxLength: CORRELATION_ID_MAX_LENGTH,
  pattern: CORRELATION_ID_PATTERN,
  format: 'no-card-number',
} as const;

export const CorrelationId = Type.String({
  ...CORRELATION_ID,
  description: 'Chosen by the client, new for each request. A UUID is a good choice.',
});

export const Bsb = Type.String({
  pattern: BSB_PATTERN,
  description: 'Six digits, with or without the hyphen.',
  examples: ['062-000'],
});
export const AccountNumber = Type.String({
  pattern: ACCOUNT_NUMBER_PATTERN,
  maxLength: 32,
  description: '2 to 9 digits; hyphens and spaces are dropped.',
  examples: ['123456789'],
});
export const AccountName = Type.String({
  minLength: 1,
  maxLength: ACCOUNT_NAME_MAX_LENGTH,
  pattern: ACCOUNT_NAME_PATTERN,
  format: 'no-card-number',
  description: 'The name of the account, in characters that the banks take.',
  examples: ['A Customer'],
});

/** An address that a payer is sent to. */
export const WebAddress = (description: string) =>
  Type.String({ maxLength: 2_048, pattern: WEB_ADDRESS_PATTERN, format: 'web-address', description });

export const WebOrigin = Type.String({
  maxLength: 300,
  pattern: WEB_ORIGIN_PATTERN,
  format: 'web-origin',
  examples: ['https://shop.example'],
});

export const Link = Type.Object(
  { href: Type.String({ description: 'An absolute path.' }) },
  { title: 'Link', ...OPEN },
);

export const Errors = Type.Object(
  {
    errors: Type.Array(
      Type.Object(
        {
          error_code: Type.String({ description: 'What is wrong. There may be new codes at any time.' }),
          error_message: Type.String(),
          location: Type.Array(Type.String(), {
            description: 'Starts with `header`, `path`, `query` or `body`.',
          }),
        },
        { title: 'Problem', ...OPEN },
      ),
      { minItems: 1 },
    ),
    _links: Type.Optional(
      Type.Object(
        {
          transaction: Type.Optional(Link),
          checkout: Type.Optional(Link),
          schedule: Type.Optional(Link),
          base: Type.Optional(Link),
        },
        { title: 'ErrorLinks', ...OPEN },
      ),
    ),
  },
  { title: 'Errors', ...OPEN },
);
