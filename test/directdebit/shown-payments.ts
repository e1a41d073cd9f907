// What a look-up of a direct debit shows, in parts.
import { expect } from 'vitest';
import { type Json, TEST_MODE } from '../../testkit/client.js';

export const MEANINGS = [
  '',
  'Invalid BSB number',
  'Payment stopped',
  'Account closed',
  'Customer deceased',
  'No account or incorrect account number',
  'Refer to customer',
  'Deleted',
  'Invalid user ID number',
  'Technically invalid',
];

export const REQUEST = 'GATEWAY.REQUEST.KVP.';
export const RESPONSE = 'GATEWAY.RESPONSE.KVP.';
export const CLOSE_OF_DAY = expect.stringMatching(/^\d{4}-\d\d-\d\dT18:00:00\.000\+1[01]:00$/);
export const DAY = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);
export const SYDNEY_TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+1[01]:00$/);

export const SHOWN_ACCOUNT = { bsb: '062-000', account_number: '******789', account_name: 'A Customer' };

/** The parts of a lookup that stay as they are from the beginning to the end. */
export function lasting(audit: number, transaction: Json, kvps: Json = {}, merchant = 1): Json {
  return {
    audit,
    gateway_timestamp: SYDNEY_TIME,
    merchant: { id: merchant },
    kvps: { ...TEST_MODE, ...kvps },
    transaction,
  };
}

export function status(code: string, acquirer: Json): Json {
  return {
    gateway_status_code: 0,
    gateway_status_message: 'Processed',
    transaction_status_code: code,
    acquirer,
  };
}

export function links(audit: number, ...operations: string[]): Json {
  const self = `/v1/transactions/${audit}`;
  return {
    self: { href: self },
    ...Object.fromEntries(operations.map((name) => [name, { href: `${self}/${name}` }])),
  };
}

export const DEBIT = {
  reference: 'order-9',
  transaction_type: 'purchase',
  amount_details: { total_amount: '1995', currency: 'AUD' },
  payment_method: { bankaccount: SHOWN_ACCOUNT },
  directdebit_mode: 'debit',
};
