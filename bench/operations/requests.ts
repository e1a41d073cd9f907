// The requests that the benches send: each operation, and what it needs to act on.
import type { Tollgate } from '../../client/src/index.js';
import { cardAccount, paymentBody, targetedBody } from '../../testkit/bodies.js';
import { type LoadOptions, PURCHASE } from '../../testkit/load.js';

const TARGETS = 2_000;

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

/** What there is to look up, to search for, to refund and to pay with. */
interface Targets {
  readonly audits: readonly number[];
  readonly correlationIds: readonly string[];
  readonly virtualPan: string;
}

interface MeasuredRequest {
  readonly name: string;
  request(targets: Targets): Pick<LoadOptions, 'method' | 'paths' | 'body'>;
}

/** Transactions to look up, search for and refund, and a token to pay with. */
export async function prepare(client: Tollgate): Promise<Targets> {
  const purchase = paymentBody({ reference: 'bench', amount: 999_999_999 });
  const correlationIds = Array.from({ length: TARGETS }, (_, index) => `target-${index}`);
  const audits: number[] = [];
  for (let first = 0; first < TARGETS; first += 50) {
    const some = correlationIds.slice(first, first + 50);
    const made = await Promise.all(some.map((correlationId) => client.purchase(purchase, { correlationId })));
    audits.push(...made.map(({ audit }) => audit));
  }
  const customer = await client.customers.create({ reference: 'bench', name: 'Bench' });
  const card = { preferred_name: 'bench', active: true, account: cardAccount() };
  const token = await client.tokens.create(customer.id, card);
  return { audits, correlationIds, virtualPan: token.virtual_pan };
}
