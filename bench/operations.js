// The operations that are measured, and what they need to be there.
import { setTimeout as sleep } from 'node:timers/promises';
import { PURCHASE } from './gateway.js';

const TARGETS = 2_000;

const amount = { total_amount: '1', currency: 'AUD' };
const body = (transaction) => JSON.stringify({ merchant: { id: 1 }, transaction });

export const OPERATIONS = [
  { name: 'purchase', request: () => PURCHASE },
  {
    name: 'look-up',
    request: ({ audits }) => ({ method: 'GET', paths: audits.map((audit) => `/v1/transactions/${audit}`) }),
  },
  {
    name: 'search',
    request: ({ correlationIds }) => ({
      method: 'GET',
      paths: correlationIds.map((id) => `/v1/transactions?merchant_id=1&correlation_id_lookup=${id}`),
    }),
  },
  {
    name: 'refund by audit',
    // One cent each, of amounts that last.
    request: ({ audits }) => ({
      method: 'POST',
      paths: audits.map((audit) => `/v1/transactions/${audit}/refund`),
      body: body({ reference: 'bench', amount_details: amount }),
    }),
  },
  {
    name: 'purchase by token',
    request: ({ virtualPan }) => ({
      ...PURCHASE,
      body: PURCHASE.body.replace('4111111111111111', virtualPan),
    }),
  },
];

/** Transactions to look up, search for and refund, and a token to pay with. */
export async function prepare(gateway) {
  const call = async (path, sent, correlationId = crypto.randomUUID()) => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: gateway.authorization,
        'content-type': 'application/json',
        'x-correlation-id': correlationId,
      },
      body: sent,
    });
    if (response.status === 503) {
      await sleep(100);
      return call(path, sent, correlationId);
    }
    return response.json();
  };
  const purchase = PURCHASE.body.replace('"1995"', '"999999999"');
  const correlationIds = Array.from({ length: TARGETS }, (_, index) => `target-${index}`);
  const made = [];
  for (let first = 0; first < TARGETS; first += 50) {
    const some = correlationIds.slice(first, first + 50);
    made.push(...(await Promise.all(some.map((id) => call('/transactions/purchase', purchase, id)))));
  }
  const customer = await call('/customers', JSON.stringify({ reference: 'bench', name: 'Bench' }));
  const card = { 'CARD.PAN': '4111111111111111', 'CARD.EXPIRY': '1239', 'CARD.NAME': 'Bench' };
  const token = await call(
    `/customers/${customer.id}/tokens`,
    JSON.stringify({ preferred_name: 'bench', active: true, account: { general_creditcard: card } }),
  );
  return { audits: made.map(({ audit }) => audit), correlationIds, virtualPan: token.virtual_pan };
}
