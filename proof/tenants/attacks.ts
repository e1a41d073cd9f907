// What one tenant, or somebody who is none, may do to a gateway that others use too. Each attack is a list of jobs for
// `tenants-client`, which all run at once.
import { basicAuthorization, CARD, paymentBody, targetedBody } from '../../testkit/bodies.js';
import { LOST_REQUEST_CARD } from '../../testkit/test-cards.js';
import type { Job, JobRequest } from './client.js';

/** An organisation with a merchant, a user, a customer and some purchases. */
export interface Tenant {
  readonly username: string;
  readonly authorization: string;
  readonly organisationId: number;
  readonly merchantId: number;
  readonly customerId: number;
  readonly audits: readonly number[];
}

/** Where it goes, and for how long unless the job says so, is said by whoever runs it. */
export type PlannedJob = Omit<Job, 'port' | 'seconds'> & Partial<Pick<Job, 'seconds'>>;

interface PurchaseChange {
  readonly pan?: string;
  readonly kvps?: Record<string, string>;
  /** A member that nobody knows. */
  readonly more?: string;
  readonly correlationId?: string;
}

function purchase({ merchantId, authorization }: Tenant, change: PurchaseChange = {}): JobRequest {
  const { pan = CARD, kvps, more, correlationId } = change;
  const payment = { merchant: merchantId, reference: 'tenants', amount: 1995, pan };
  return {
    method: 'POST',
    path: '/v1/transactions/purchase',
    authorization,
    body: JSON.stringify({ ...paymentBody({ ...payment, ...(kvps && { kvps }) }), ...(more && { more }) }),
    ...(correlationId && { correlationId }),
  };
}

const get = ({ authorization }: Tenant, path: string): JobRequest => ({ method: 'GET', path, authorization });

function refund({ merchantId, authorization }: Tenant, audit: number): JobRequest {
  return {
    method: 'POST',
    path: `/v1/transactions/${audit}/refund`,
    authorization,
    correlationId: '{pair}',
    body: JSON.stringify(targetedBody({ merchant: merchantId, reference: 'tenants', amount: 1 })),
  };
}

function token({ authorization, customerId }: Tenant, preferredName: string): JobRequest {
  return {
    method: 'POST',
    path: `/v1/customers/${customerId}/tokens`,
    authorization,
    body: JSON.stringify({
      preferred_name: preferredName,
      active: true,
      account: {
        general_creditcard: { 'CARD.PAN': CARD, 'CARD.EXPIRY': '1239', 'CARD.NAME': 'Ada' },
      },
    }),
  };
}

/** What the victim does all the time: pay, look up and store cards. */
export function ordinaryDay(victim: Tenant): PlannedJob[] {
  return [
    { connections: 24, rate: 40, requests: [purchase(victim)] },
    { connections: 8, rate: 10, requests: [get(victim, `/v1/transactions/${victim.audits[0]}`)] },
    { connections: 8, rate: 5, requests: [token(victim, 'card {serial}')] },
  ];
}

export function burst(tenant: Tenant, count: number): PlannedJob & Pick<Job, 'seconds'> {
  return { connections: count, count, seconds: 30, requests: [purchase(tenant)] };
}

export interface Battle {
  readonly victim: Tenant;
  readonly attackers: readonly [Tenant, ...Tenant[]];
  readonly much: number;
}

/** `much` scales the numbers of connections. The first eight are those that were felt once. */
export function attacks({ victim, attackers, much }: Battle): Record<string, PlannedJob[]> {
  const [one] = attackers;
  const many = (connections: number) => Math.max(8, Math.round(connections * much));
  const guesses = (username: string): JobRequest[] => [
    {
      method: 'GET',
      path: '/v1/transactions/1',
      authorization: basicAuthorization({ username, password: 'wrong' }),
    },
  ];
  const kvps = Object.fromEntries(
    Array.from({ length: 55 }, (_, at) => [`KEY.${at}`, '1 '.repeat(500).trim()]),
  );
  return {
    'purchases to an acquirer that does not answer': [
      { connections: many(4_200), requests: [purchase(one, { pan: LOST_REQUEST_CARD })] },
    ],
    'purchases on 700 connections': [{ connections: many(700), requests: [purchase(one)] }],
    'wrong passwords for the victim’s user': [{ connections: many(300), requests: guesses(victim.username) }],
    'wrong passwords for the victim’s user on 3,000 connections': [
      { connections: many(3_000), requests: guesses(victim.username) },
    ],
    'tokens with one name': [{ connections: many(300), requests: [token(one, 'the same')] }],
    'two refunds under one correlation ID': [
      { connections: many(300), requests: one.audits.map((audit) => refund(one, audit)) },
    ],
    'KVPs that look like card numbers for long': [
      { connections: many(50), requests: [purchase(one, { kvps })] },
    ],
    'searches in many customers': [
      {
        connections: many(100),
        requests: [
          get(one, '/v1/customers?name=e'),
          get(one, '/v1/customers?name=zz&reference=9'),
          get(one, '/v1/customers?offset=290000'),
        ],
      },
    ],
    'three organisations at once': attackers.map((attacker) => ({
      connections: many(400),
      requests: [purchase(attacker)],
    })),
    'clients that never read': [
      {
        connections: many(500),
        manner: 'never read',
        pipelined: 20,
        requests: [get(one, '/v1/customers?limit=100')],
      },
    ],
    'requests that never come whole': [
      { connections: many(1_000), manner: 'never send all', requests: [purchase(one)] },
    ],
    'large bodies': [{ connections: many(100), requests: [purchase(one, { more: 'x'.repeat(60_000) })] }],
    'addresses that lead nowhere': [
      { connections: many(1_000), requests: [{ method: 'GET', path: '/v1/nothing' }] },
    ],
    'repetitions of the same purchases': [
      { connections: many(500), requests: [purchase(one, { correlationId: 'repeated' })] },
    ],
    'searches that find nothing': [
      {
        connections: many(300),
        requests: [get(one, `/v1/transactions?merchant_id=${one.merchantId}&correlation_id_lookup={serial}`)],
      },
    ],
    'wrong passwords for users that do not exist': [
      {
        connections: many(1_000),
        requests: Array.from({ length: 500 }, (_, at) => guesses(`nobody ${at}`)).flat(),
      },
    ],
    'requests that are wrong in every field': [
      {
        connections: many(500),
        requests: [{ ...purchase(one), body: JSON.stringify({ merchant: { id: one.merchantId }, kvps }) }],
      },
    ],
    'lists that find little': [
      {
        connections: many(200),
        requests: [
          get(one, '/v1/transactions/history?last_four=0000&limit=100'),
          get(one, '/v1/transactions/history?amount=77777777&status=declined'),
          get(one, '/v1/transactions/history?reference=t&limit=100'),
        ],
      },
    ],
    'readers of events, waiting and not': [
      {
        connections: many(400),
        requests: [
          get(one, `/v1/events?merchant_id=${one.merchantId}&limit=100`),
          get(one, `/v1/events?merchant_id=${one.merchantId}&limit=1&wait=30`),
        ],
      },
      // While there is something to tell all the time.
      { connections: 20, requests: [purchase(one)] },
    ],
    'settlement reports': [
      {
        connections: many(200),
        requests: [get(one, `/v1/settlements/${new Date().toISOString().slice(0, 10)}`)],
      },
    ],
    'sixty look-ups in each packet': [
      { connections: many(100), pipelined: 60, requests: [get(one, '/v1/transactions/1')] },
    ],
    'connections that only stay': [{ connections: many(12_000), manner: 'only connect', requests: [] }],
  };
}
