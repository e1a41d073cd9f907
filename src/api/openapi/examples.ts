// Example answers for the OpenAPI document and the reference page, from the demo's first merchant.
import { BASE_PATH } from '../operations/hal.js';
import { type ProblemCode, problem } from '../problems.js';

const TIMESTAMP = '2026-11-15T13:22:19.254+11:00';
const MERCHANT = { id: 1 };
const TEST = { 'GATEWAY.RESPONSE.KVP.MODE': 'test' };

const path = (audit: number) => `${BASE_PATH}/transactions/${audit}`;
const link = (href: string) => ({ href });
/** The links of a transaction, with the operations that would be accepted. */
const links = (audit: number, operations: readonly string[], target?: number) => ({
  self: link(path(audit)),
  ...(target !== undefined && { target: link(path(target)) }),
  ...Object.fromEntries(operations.map((name) => [name, link(`${path(audit)}/${name}`)])),
});

const APPROVED = {
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
const HELD = { ...APPROVED, acquirer: { ...APPROVED.acquirer, preauthorisation_code: '725500725500' } };

const created = (
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

const DETAILS = {
  reference: 'order-1001',
  transaction_type: 'purchase',
  amount_details: { total_amount: '1995', currency: 'AUD' },
};
const LOOKED_UP = {
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

const CUSTOMER = {
  id: 1,
  name: 'Ada Lovelace',
  reference: 'customer-42',
  _links: { self: link(`${BASE_PATH}/customers/1`), tokens: link(`${BASE_PATH}/customers/1/tokens`) },
};
const TOKEN = {
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

const SETTLED = {
  merchant: MERCHANT,
  acquirer: 'simulator',
  payment_method: 'creditcard',
  card_type: 'visa',
};

/** By operation ID. Deletions have no body. */
export const EXAMPLES: Readonly<Record<string, unknown>> = {
  createPurchase: created(1, ['refund', 'void']),
  createPreauthorisation: created(2, ['completion', 'void'], { status: HELD }),
  createCompletion: created(3, ['refund', 'void'], { target: 2 }),
  createRefund: created(4, ['void'], { target: 1 }),
  createStandaloneRefund: created(5, ['void']),
  voidTransaction: created(6, [], { target: 1 }),
  lookUpTransaction: LOOKED_UP,
  searchTransactions: { results: [LOOKED_UP] },
  listTransactions: {
    results: [LOOKED_UP],
    _links: { first: link(`${BASE_PATH}/transactions/history`) },
  },
  settlementOfDay: {
    date: '2026-11-16',
    closes: '2026-11-16T18:00:00.000+11:00',
    closed: true,
    lines: [{ ...SETTLED, transaction_type: 'purchase', currency: 'AUD', count: 3, total_amount: '7000' }],
    net: [{ merchant: MERCHANT, currency: 'AUD', total_amount: '7000' }],
    _links: { self: link(`${BASE_PATH}/settlements/2026-11-16`) },
  },
  searchCustomers: { _links: { first: link(`${BASE_PATH}/customers`) }, results: [CUSTOMER] },
  findOrCreateCustomer: CUSTOMER,
  lookUpCustomer: CUSTOMER,
  updateCustomer: CUSTOMER,
  listTokens: { _links: { first: link(`${BASE_PATH}/customers/1/tokens`) }, results: [TOKEN] },
  createToken: TOKEN,
  lookUpToken: TOKEN,
  updateToken: TOKEN,
  listEvents: {
    results: [
      {
        id: 'evt_1_transaction_1_1',
        type: 'transaction.approved',
        created: TIMESTAMP,
        merchant: MERCHANT,
        version: 1,
        data: {
          audit: 1,
          gateway_timestamp: TIMESTAMP,
          merchant: MERCHANT,
          kvps: TEST,
          transaction: DETAILS,
          status: APPROVED,
          _links: links(1, []),
        },
      },
    ],
    _links: { next: link(`${BASE_PATH}/events?after=kE0pB9o1mYt3q2Q5bA7nXw`) },
  },
};

/** Problems whose answers link to a transaction. */
const LINKED: readonly ProblemCode[] = [
  'correlation_id_already_used',
  'acquirer_answer_unreadable',
  'acquirer_timeout',
];

/** A refusal, with the location of the problem if it has one. */
export function exampleOfRefusal(code: ProblemCode, place: readonly string[]): unknown {
  const { message, location } = problem(code, place);
  return {
    errors: [{ error_code: code, error_message: message, location }],
    ...(LINKED.includes(code) && { _links: { transaction: link(path(1)) } }),
  };
}
