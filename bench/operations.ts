// The operations that are measured, and what they need to be there.
import { setTimeout as sleep } from 'node:timers/promises';
import { CARD, type Json, paymentBody, targetedBody } from '../testkit/bodies.js';
import { type Loaded, type LoadOptions, PURCHASE } from '../testkit/load.js';

const TARGETS = 2_000;

/** What there is to look up, to search for, to refund and to pay with. */
export interface Targets {
  readonly audits: readonly number[];
  readonly correlationIds: readonly string[];
  readonly virtualPan: string;
}

export interface MeasuredRequest {
  readonly name: string;
  request(targets: Targets): Pick<LoadOptions, 'method' | 'paths' | 'body'>;
}

export const OPERATIONS: readonly MeasuredRequest[] = [
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
      body: JSON.stringify(targetedBody({ reference: 'bench', amount: 1 })),
    }),
  },
  {
    name: 'purchase by token',
    request: ({ virtualPan }) => ({
      ...PURCHASE,
      body: JSON.stringify(paymentBody({ reference: 'bench', amount: 1995, pan: virtualPan })),
    }),
  },
];

/** Transactions to look up, search for and refund, and a token to pay with. */
export async function prepare(gateway: Loaded): Promise<Targets> {
  const call = async (
    path: string,
    sent: string,
    correlationId = crypto.randomUUID() as string,
  ): Promise<Json> => {
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
  const purchase = JSON.stringify(paymentBody({ reference: 'bench', amount: 999_999_999 }));
  const correlationIds = Array.from({ length: TARGETS }, (_, index) => `target-${index}`);
  const made: { audit: number }[] = [];
  for (let first = 0; first < TARGETS; first += 50) {
    const some = correlationIds.slice(first, first + 50);
    made.push(...(await Promise.all(some.map((id) => call('/transactions/purchase', purchase, id)))));
  }
  const customer = await call('/customers', JSON.stringify({ reference: 'bench', name: 'Bench' }));
  const card = { 'CARD.PAN': CARD, 'CARD.EXPIRY': '1239', 'CARD.NAME': 'Bench' };
  const token = await call(
    `/customers/${customer.id}/tokens`,
    JSON.stringify({ preferred_name: 'bench', active: true, account: { general_creditcard: card } }),
  );
  return { audits: made.map(({ audit }) => audit), correlationIds, virtualPan: token.virtual_pan };
}
