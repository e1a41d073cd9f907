// Every way to ask for another merchant's data, made from the table of operations.
import type { TObject } from 'typebox';
import type { OPERATIONS } from '../../src/api/operations/operations.js';
import { settlementDay } from '../../src/values/time.js';
import type { Json } from '../../testkit/client.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';

export const NOBODY = 2_147_483_647;

/** What belongs to merchant 1. */
export interface Things {
  /** One of every kind and state. */
  readonly audits: Readonly<Record<string, number>>;
  readonly customerId: number;
  readonly tokenId: number;
  readonly virtualPan: string;
  readonly reference: string;
  readonly name: string;
  /** Where pages of merchant 1's customers, and of its transactions, ended. */
  readonly after: string;
  readonly historyAfter: string;
  /** The correlation ID of a purchase. */
  readonly correlationId: string;
  readonly checkoutId: string;
  readonly scheduleId: string;
}

export interface Attempt {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  /** As `code location/location`; none for a search that finds nothing. */
  readonly error?: string;
}

type Operation = (typeof OPERATIONS)[number];
type Fill = Readonly<Record<string, string | number>>;

const fieldsOf = (schema: object | undefined) =>
  Object.keys((schema as TObject | undefined)?.properties ?? {});
const parametersOf = ({ route }: Operation) =>
  [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);

/** Whether a request of this operation says which merchant it is for. */
export function namesMerchant({ query, body }: Operation): boolean {
  return fieldsOf(query).includes('merchant_id') || fieldsOf(body).includes('merchant');
}

/** Everything that a caller who acts for `own` can try with this operation to come at what is merchant 1's. */
export function attemptsOf(
  operation: Operation,
  things: Things,
  who: { own: number; ownCustomer: number | undefined; others: readonly number[] },
): Attempt[] {
  const parameters = parametersOf(operation);
  const make = (
    merchant: number,
    path: Fill,
    further: { query?: Fill; change?: (body: Json) => void } = {},
  ) => {
    const filled = operation.route.replaceAll(/\{(\w+)\}/g, (_whole, name) => {
      if (path[name] === undefined) throw new Error(`say in foreign-attempts.ts what {${name}} stands for`);
      return String(path[name]);
    });
    const known = fieldsOf(operation.query).includes('merchant_id') ? { merchant_id: merchant } : {};
    const query = Object.entries({ ...known, ...further.query }).map(([name, value]) => `${name}=${value}`);
    const body = operation.body && structuredClone(operation.example as Json);
    if (body?.merchant !== undefined) body.merchant = { id: merchant };
    further.change?.(body);
    return {
      method: operation.method,
      path: query.length > 0 ? `${filled}?${query.join('&')}` : filled,
      body,
    };
  };
  return [
    ...foreignIds(operation, things, who.ownCustomer).map(({ what, path, error }) => ({
      what,
      ...make(who.own, path),
      status: 404,
      error,
    })),
    ...searches(operation, things).map(({ what, query }) => ({
      what,
      ...make(who.own, {}, { query }),
      status: 200,
    })),
    ...(fieldsOf(operation.body).includes('merchant') && mentionsCard(operation)
      ? [
          {
            what: 'a virtual PAN of merchant 1',
            ...make(who.own, {}, { change: (body) => setPan(body, things.virtualPan) }),
            status: 422,
            error: 'token_not_usable body/transaction/payment_method/creditcard/pan',
          },
        ]
      : []),
    ...foreignMerchants(operation, who.others).flatMap(({ merchant, error, query }) =>
      pathsFor(parameters, things).map((path) => ({
        what: `merchant ${merchant}`,
        ...make(merchant, path, { query }),
        status: 403,
        error,
      })),
    ),
  ];
}

function foreignIds(operation: Operation, things: Things, ownCustomer: number | undefined) {
  const parameters = parametersOf(operation);
  // A day is nobody's.
  if (parameters.length === 0 || parameters.includes('date')) return [];
  if (parameters.includes('audit')) {
    return Object.entries(things.audits).map(([what, audit]) => ({
      what: `${what} of merchant 1`,
      path: { audit },
      error: 'transaction_not_found path/audit',
    }));
  }
  if (parameters.includes('id')) {
    if (operation.route.startsWith('/schedules'))
      return [
        {
          what: 'a schedule of merchant 1',
          path: { id: things.scheduleId },
          error: 'schedule_not_found path/id',
        },
      ];
    const theirs = { id: things.checkoutId };
    return [{ what: 'a checkout of merchant 1', path: theirs, error: 'checkout_not_found path/id' }];
  }
  const path = { customer_id: things.customerId, token_id: things.tokenId };
  const theirs = { what: 'a customer of merchant 1', path, error: 'customer_not_found path/customer_id' };
  if (!parameters.includes('token_id') || ownCustomer === undefined) return [theirs];
  const under = { customer_id: ownCustomer, token_id: things.tokenId };
  return [
    theirs,
    {
      what: 'a token of merchant 1 under an own customer',
      path: under,
      error: 'token_not_found path/token_id',
    },
  ];
}

/** Searches by what is merchant 1's, each of which must find nothing. */
function searches({ method, query, route }: Operation, things: Things): { what: string; query: Fill }[] {
  if (method !== 'GET' || route.includes('{')) return [];
  const values: Fill = {
    correlation_id_lookup: things.correlationId,
    reference: things.reference,
    name: encodeURIComponent(things.name),
    customer_id: things.customerId,
    token_id: things.tokenId,
    target_audit: things.audits['a refunded purchase'] as number,
    last_four: DECLINED_CARD.slice(-4),
  };
  const isByTime = route === '/transactions/history' || route === '/schedules';
  const after = isByTime ? things.historyAfter : things.after;
  const cursors: Fill[] = fieldsOf(query).includes('after') ? [{}, { after }] : [{}];
  return fieldsOf(query)
    .filter((name) => values[name] !== undefined)
    .flatMap((name) =>
      cursors.map((cursor) => ({
        what: `a search by ${name}`,
        query: { ...cursor, [name]: values[name] as string },
      })),
    );
}

function foreignMerchants({ query, body }: Operation, others: readonly number[]) {
  const inQuery = fieldsOf(query).includes('merchant_id');
  const inBody = fieldsOf(body).includes('merchant');
  if (!inQuery && !inBody) return [];
  const needed: Fill = fieldsOf(query).includes('correlation_id_lookup')
    ? { correlation_id_lookup: 'x' }
    : {};
  return others.map((merchant) => ({
    merchant,
    query: needed,
    error: `merchant_not_permitted ${inQuery ? 'query/merchant_id' : 'body/merchant/id'}`,
  }));
}

/** Of things that are there and of things that are not. */
function pathsFor(parameters: readonly string[], things: Things): Fill[] {
  if (parameters.length === 0) return [{}];
  const [audit] = Object.values(things.audits) as [number];
  return [
    {
      audit,
      customer_id: things.customerId,
      token_id: things.tokenId,
      id: things.checkoutId,
      // The day on which everything of merchant 1's settles.
      date: settlementDay(Date.now()),
    },
    { audit: NOBODY, customer_id: NOBODY, token_id: NOBODY, id: 'co_nobody', date: '2000-01-03' },
  ];
}

const mentionsCard = ({ example }: Operation) => JSON.stringify(example).includes('"creditcard"');

function setPan(body: Json, pan: string): void {
  body.transaction.payment_method.creditcard.pan = pan;
}
