// What the example answers of several operations are made of.
import { BASE_PATH } from './hal.js';

export const TIMESTAMP = '2026-11-15T13:22:19.254+11:00';
export const MERCHANT = { id: 1 };
export const TEST = { 'GATEWAY.RESPONSE.KVP.MODE': 'test' };

const path = (audit: number) => `${BASE_PATH}/transactions/${audit}`;
const link = (href: string) => ({ href });
/** The links of a transaction, with the operations that would be accepted. */
export const links = (audit: number, operations: readonly string[], target?: number) => ({
  self: link(path(audit)),
  ...(target !== undefined && { target: link(path(target)) }),
  ...Object.fromEntries(operations.map((name) => [name, link(`${path(audit)}/${name}`)])),
});

export const APPROVED = {
  gateway_status_code: 0,
  gateway_status_message: 'Processed',
  transaction_status_code: 'approved',
  acquirer: {
    response_code: '00',
    response_message: 'Approved',
    settlement_date: '2026-11-16',
    authorisation_code: '725500',
  },
};
export const HELD = {
  ...APPROVED,
  acquirer: { ...APPROVED.acquirer, preauthorisation_code: '725500725500' },
};

export const created = (
  audit: number,
  operations: readonly string[],
  { target, status = APPROVED } = {} as {
    target?: number;
    status?: object;
  },
) => ({
  audit,
  gateway_timestamp: TIMESTAMP,
  merchant: MERCHANT,
  kvps: TEST,
  status,
  _links: links(audit, operations, target),
});

export const DETAILS = {
  reference: 'order-1001',
  transaction_type: 'purchase',
  amount_details: { total_amount: '1995', currency: 'AUD' },
};
export const LOOKED_UP = {
  audit: 1,
  gateway_timestamp: TIMESTAMP,
  merchant: MERCHANT,
  kvps: {
    ...TEST,
    'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT': '1995',
    'GATEWAY.RESPONSE.KVP.VOIDABLE_UNTIL': '2026-11-16T18:00:00.000+11:00',
  },
  transaction: {
    ...DETAILS,
    payment_method: { creditcard: { pan: '411111******1111', type: 'visa' } },
  },
  status: APPROVED,
  _links: links(1, ['refund', 'void']),
};

export const CUSTOMER = {
  id: 1,
  name: 'Ada Lovelace',
  reference: 'customer-42',
  _links: { self: link(`${BASE_PATH}/customers/1`), tokens: link(`${BASE_PATH}/customers/1/tokens`) },
};
export const TOKEN = {
  id: 1,
  virtual_pan: '9217664744023758',
  preferred_name: 'Everyday card',
  active: true,
  account: {
    general_creditcard: {
      'CARD.PAN': '411111******1111',
      'CARD.EXPIRY': '****',
      'CARD.NAME': 'Ada Lovelace',
      'CARD.TYPE': 'visa',
    },
  },
  _links: {
    self: link(`${BASE_PATH}/customers/1/tokens/1`),
    customer: link(`${BASE_PATH}/customers/1`),
  },
};
