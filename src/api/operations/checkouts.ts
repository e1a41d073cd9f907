// The checkout operations of the API: a shop asks for a page on which its payer pays, and sees what has come of it.
import {
  type Attempt,
  CHECKOUT_STATUSES,
  type Checkout,
  correlationIdOfAttempt,
  OPERATIONS,
  PAYMENT_METHODS,
  type Terms,
} from '../../checkout/checkout.js';
import { ATTEMPTS, type Checkouts, EXPIRES_IN_S, type KnownCheckout } from '../../checkout/checkouts.js';
import type { Payers } from '../../checkout/payers.js';
import type { Clock } from '../../clock/clock.js';
import {
  actingMerchant,
  type Caller,
  type Merchant,
  permittedMerchant,
} from '../../organisations/users/callers.js';
import type { Lookup } from '../../payments/finding/lookup.js';
import type { Transaction } from '../../payments/transaction.js';
import { becsFaults } from '../../values/bank-account.js';
import type { CustomerId } from '../../values/ids.js';
import { cents, isAmount, isCurrency } from '../../values/money.js';
import { isLoopback } from '../../values/network.js';
import { sydneyTimestamp } from '../../values/time.js';
import type { Customers } from '../../vault/customers.js';
import { OPEN, openEnum } from '../openapi/openapi-components.js';
import { operation } from '../operation.js';
import { type Problem, problem, RefusedRequest, refused, refusedFor } from '../problems.js';
import { problemOf, refusalOf } from '../refusals.js';
import { CORRELATION_ID, Id, Link, RestrictedText, WebAddress, WebOrigin } from '../schemas.js';
import { type Static, Type } from '../typebox.js';
import { MERCHANT, TIMESTAMP } from './examples.js';
import { BASE_PATH, transactionPath } from './hal.js';
import {
  AmountDetails as AmountSchema,
  Merchant as MerchantSchema,
  TransactionMerchant,
} from './transaction-schemas.js';

export interface CheckoutServices {
  readonly checkouts: Checkouts;
  readonly payers: Payers;
  readonly lookup: Lookup;
  readonly customers: Customers;
  readonly clock: Clock;
  /** Where payers find their pages, without a trailing slash; undefined where there are none. */
  readonly checkoutUrl: string | undefined;
}

const Details = {
  reference: RestrictedText(1, 128, "The merchant's reference, which the transaction gets, too."),
  amount_details: Type.Optional(AmountSchema),
  operation: Type.Optional(
    Type.Enum([...OPERATIONS], {
      default: 'purchase',
      description: '`tokenise` takes no amount: it gives a virtual PAN, which pays later.',
    }),
  ),
  payment_methods: Type.Optional(
    Type.Array(Type.Enum([...PAYMENT_METHODS]), {
      minItems: 1,
      maxItems: PAYMENT_METHODS.length,
      default: ['creditcard'],
      description: 'Between which the payer can choose.',
    }),
  ),
  description: Type.Optional(RestrictedText(1, 120, 'Shown to the payer.')),
  customer_id: Type.Optional(
    Id<CustomerId>(
      'A customer in the vault. The payer may keep the card as a token of it; with `tokenise` the card becomes one.',
    ),
  ),
  return_url: Type.Optional(WebAddress('Where the payer goes after the end, with `checkout=ID` added.')),
  cancel_url: Type.Optional(WebAddress('Where the payer goes who does not want to pay.')),
  expires_in: Type.Optional(
    Type.Integer({
      minimum: EXPIRES_IN_S.least,
      maximum: EXPIRES_IN_S.most,
      default: EXPIRES_IN_S.usual,
      description: 'For how many seconds it can be paid.',
    }),
  ),
  attempts: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: ATTEMPTS.most,
      default: ATTEMPTS.usual,
      description: 'How often the payer can try.',
    }),
  ),
  frame_origins: Type.Optional(
    Type.Array(WebOrigin, {
      maxItems: 5,
      description: 'Origins of pages that may show the page in a frame. None: it cannot be framed.',
    }),
  ),
};

const NewCheckoutBody = Type.Object(
  { merchant: MerchantSchema, checkout: Type.Object(Details, { title: 'NewCheckoutDetails' }) },
  { title: 'CheckoutRequest' },
);
type NewCheckoutBody = Static<typeof NewCheckoutBody>;

const CheckoutDetails = Type.Object(
  {
    reference: Type.String(),
    amount_details: Type.Optional(
      Type.Object(
        { total_amount: Type.String(), currency: Type.String() },
        { title: 'CheckoutAmount', ...OPEN },
      ),
    ),
    operation: openEnum([...OPERATIONS], 'What the payer does.'),
    payment_methods: Type.Array(openEnum([...PAYMENT_METHODS], 'Offered to the payer.')),
    description: Type.Optional(Type.String()),
    customer_id: Type.Optional(Id('The customer in the vault.')),
    return_url: Type.Optional(Type.String()),
    cancel_url: Type.Optional(Type.String()),
    attempts: Type.Integer({ description: 'How often the payer can try.' }),
    frame_origins: Type.Optional(Type.Array(Type.String())),
  },
  { title: 'CheckoutDetails', ...OPEN },
);

const CheckoutObject = Type.Object(
  {
    id: Type.String({ description: 'Whoever knows it can pay: give it to the payer alone.' }),
    url: Type.String({ description: 'The page on which the payer pays.' }),
    status: openEnum(
      [...CHECKOUT_STATUSES],
      '`processing`: an attempt is under way or in doubt. `expired`: its time is over, or all attempts are used up.',
    ),
    created: Type.String({ format: 'date-time', description: 'Sydney local time.' }),
    expires: Type.String({ format: 'date-time', description: 'Sydney local time.' }),
    merchant: TransactionMerchant,
    checkout: CheckoutDetails,
    attempts: Type.Array(
      Type.Object(
        {
          audit: Id('The transaction.'),
          transaction_status_code: Type.String({ description: 'As a look-up shows it.' }),
        },
        { title: 'CheckoutAttempt', ...OPEN },
      ),
      { description: 'Attempts that came to a transaction, the first one first.' },
    ),
    result: Type.Optional(
      Type.Object(
        {
          audit: Type.Optional(Id('The transaction that paid it.')),
          virtual_pan: Type.Optional(
            Type.String({
              description:
                'Of `tokenise`: the token of the customer, or, without a customer, good for one payment within 15 minutes.',
            }),
          ),
        },
        { title: 'CheckoutResult', ...OPEN, description: 'Once it is complete.' },
      ),
    ),
    _links: Type.Object(
      {
        self: Link,
        page: Link,
        cancel: Type.Optional(Link),
        transaction: Type.Optional(Link),
      },
      {
        title: 'CheckoutLinks',
        ...OPEN,
        description: '`cancel` is there while it is open, `transaction` once it is paid.',
      },
    ),
  },
  { title: 'Checkout', ...OPEN },
);
type CheckoutObject = Static<typeof CheckoutObject>;

const CheckoutPath = Type.Object({
  id: Type.String({ maxLength: 64, description: 'The ID of the checkout.' }),
});
const CheckoutQuery = Type.Object({
  merchant_id: Id('The merchant that the checkout was for.'),
  correlation_id_lookup: Type.String({
    ...CORRELATION_ID,
    description: 'The `X-Correlation-Id` of the request that created the checkout.',
  }),
});
const CheckoutResults = Type.Object(
  { results: Type.Array(CheckoutObject, { maxItems: 1 }) },
  { title: 'CheckoutResults', ...OPEN },
);

export function checkoutPath(id: string): string {
  return `${BASE_PATH}/checkouts/${id}`;
}

const BODY = ['body', 'checkout'];

/** Rules that a schema cannot express. */
function reviewDetails(body: unknown, problems: Problem[]): Problem[] {
  const details = (body as { checkout?: Partial<NewCheckoutBody['checkout']> } | null | undefined)?.checkout;
  if (typeof details !== 'object' || details === null) return problems;
  const {
    operation: kind = 'purchase',
    amount_details: amount,
    payment_methods: methods,
    customer_id: customer,
  } = details;
  const offersBank = Array.isArray(methods) && methods.includes('bankaccount');
  const found: Problem[] = [];
  if (kind === 'tokenise') {
    if (amount !== undefined)
      found.push(problem('field_format', [...BODY, 'amount_details'], 'With tokenise there is no amount.'));
    if (offersBank && customer === undefined)
      found.push(
        problem(
          'field_missing',
          [...BODY, 'customer_id'],
          'A bank account becomes a token of a customer: name one.',
        ),
      );
  } else if (amount === undefined) found.push(problem('field_missing', [...BODY, 'amount_details']));
  else if (offersBank) {
    if (kind === 'preauthorisation')
      found.push(
        problem('field_format', [...BODY, 'payment_methods'], 'A bank account cannot be preauthorised.'),
      );
    found.push(...bankProblems(amount));
  }
  return [...problems, ...found];
}

function bankProblems(amount: { total_amount?: unknown; currency?: unknown } | null): Problem[] {
  const { total_amount: total, currency } = amount ?? {};
  if (typeof total !== 'string' || !isAmount(total) || typeof currency !== 'string' || !isCurrency(currency))
    return [];
  const member = { amount: 'total_amount', currency: 'currency' } as const;
  return becsFaults({ amountCents: Number(total), currency }).map((reason) => ({
    ...problemOf(reason, true),
    location: [...BODY, 'amount_details', member[reason.about as 'amount' | 'currency']],
  }));
}

/** A payer is sent to no address where others could listen, or that is not meant for real payers. */
function addressProblems({ checkout }: NewCheckoutBody, { mode }: Merchant): Problem[] {
  const named = [
    ...(['return_url', 'cancel_url'] as const).map((name) => [checkout[name], [...BODY, name]] as const),
    ...(checkout.frame_origins ?? []).map(
      (origin, at) => [origin, [...BODY, 'frame_origins', String(at)]] as const,
    ),
  ];
  return named.flatMap(([address, location]) => {
    if (address === undefined) return [];
    const { protocol, hostname } = new URL(address);
    // guard(checkout: a payer of a live merchant returns over TLS): protocol === 'https:' || (mode === 'test' && isLoopback(hostname)) ⇒ protocol !== '' || isLoopback(mode)
    if (protocol === 'https:' || (mode === 'test' && isLoopback(hostname))) return [];
    return [
      problem(
        'field_format',
        location,
        'This field must begin with https://; http:// is for test merchants on this machine.',
      ),
    ];
  });
}

function termsOf({ checkout }: NewCheckoutBody): Terms {
  const {
    amount_details: amount,
    operation: kind = 'purchase',
    payment_methods: methods = ['creditcard'],
  } = checkout;
  const {
    reference,
    description,
    customer_id: customerId,
    return_url: returnUrl,
    cancel_url: cancelUrl,
  } = checkout;
  const frameOrigins = checkout.frame_origins ?? [];
  return {
    reference,
    operation: kind,
    paymentMethods: PAYMENT_METHODS.filter((method) => methods.includes(method)),
    ...(amount !== undefined && { amountCents: cents(amount.total_amount), currency: amount.currency }),
    ...(description !== undefined && { description }),
    ...(customerId !== undefined && { customerId }),
    ...(returnUrl !== undefined && { returnUrl }),
    ...(cancelUrl !== undefined && { cancelUrl }),
    ...(frameOrigins.length > 0 && { frameOrigins }),
  };
}

async function checkoutObject(
  checkout: Checkout,
  { lookup }: Pick<CheckoutServices, 'lookup'>,
  base: string,
): Promise<CheckoutObject> {
  const {
    id,
    status,
    terms,
    merchantId,
    createdMs,
    expiresMs,
    attemptsAllowed,
    resultAudit,
    resultVirtualPan,
  } = checkout;
  const page = `${base}/${id}`;
  const self = checkoutPath(id);
  const tried = await Promise.all(
    checkout.attempts.map((attempt) => transactionOf(checkout, attempt, lookup)),
  );
  const { amountCents, currency = '' } = terms;
  return {
    id,
    url: page,
    status,
    created: sydneyTimestamp(createdMs),
    expires: sydneyTimestamp(expiresMs),
    merchant: { id: merchantId },
    checkout: {
      reference: terms.reference,
      ...(amountCents !== undefined && { amount_details: { total_amount: String(amountCents), currency } }),
      operation: terms.operation,
      payment_methods: [...terms.paymentMethods],
      ...(terms.description !== undefined && { description: terms.description }),
      ...(terms.customerId !== undefined && { customer_id: terms.customerId }),
      ...(terms.returnUrl !== undefined && { return_url: terms.returnUrl }),
      ...(terms.cancelUrl !== undefined && { cancel_url: terms.cancelUrl }),
      attempts: attemptsAllowed,
      ...(terms.frameOrigins !== undefined && { frame_origins: [...terms.frameOrigins] }),
    },
    attempts: tried
      .filter((transaction) => transaction !== undefined)
      .map(({ audit, status: code }) => ({ audit, transaction_status_code: code })),
    ...(resultAudit !== null && { result: { audit: resultAudit } }),
    ...(resultVirtualPan !== null && { result: { virtual_pan: resultVirtualPan } }),
    _links: {
      self: { href: self },
      page: { href: page },
      ...(status === 'open' && { cancel: { href: `${self}/cancel` } }),
      ...(resultAudit !== null && { transaction: { href: transactionPath(resultAudit) } }),
    },
  };
}

async function transactionOf(
  { id, organisationId, merchantId }: Checkout,
  { n, audit, outcome }: Attempt,
  lookup: Lookup,
): Promise<Transaction | undefined> {
  if (audit !== null) return lookup.byAudit({ organisationId }, audit, [merchantId]);
  if (outcome !== null) return undefined;
  return lookup.byCorrelationId({
    organisationId,
    merchantId,
    correlationId: correlationIdOfAttempt(id, n),
    nowMs: 0,
  });
}

async function found(
  { caller, path: { id } }: { readonly caller: Caller; readonly path: { id: string } },
  { checkouts, payers }: CheckoutServices,
): Promise<KnownCheckout> {
  const checkout = await checkouts.ofMerchants(id, caller.organisationId, caller.merchants.keys());
  if (checkout === undefined) throw refused('checkout_not_found', ['path', 'id']);
  return payers.asItIs(checkout);
}

/** In the body. */
function merchantNamed(caller: Caller, merchantId: number): Merchant {
  try {
    return actingMerchant(caller, merchantId);
  } catch (error) {
    throw refusalOf(error, true) ?? error;
  }
}

/** Without pages there are no checkouts. */
function pagesAt({ checkoutUrl }: CheckoutServices): string {
  if (checkoutUrl === undefined) throw refused('route_not_found');
  return checkoutUrl;
}

const SELF = `${BASE_PATH}/checkouts/co_bcdfghjkmnpqrstvwxyzbcdfghjk`;
const PAGE = 'https://pay.example/co_bcdfghjkmnpqrstvwxyzbcdfghjk';
const DETAILS = {
  reference: 'order-1001',
  amount_details: { total_amount: '1995', currency: 'AUD' },
  description: 'Two tickets for Saturday',
  return_url: 'https://shop.example/paid',
};
const EXAMPLE = {
  id: 'co_bcdfghjkmnpqrstvwxyzbcdfghjk',
  url: PAGE,
  status: 'open',
  created: TIMESTAMP,
  expires: '2026-11-16T13:22:19.254+11:00',
  merchant: MERCHANT,
  checkout: { ...DETAILS, operation: 'purchase', payment_methods: ['creditcard'], attempts: ATTEMPTS.usual },
  attempts: [],
  _links: { self: { href: SELF }, page: { href: PAGE }, cancel: { href: `${SELF}/cancel` } },
};

export const CHECKOUT_OPERATIONS = [
  operation({
    id: 'createCheckout',
    tag: 'Checkouts',
    method: 'POST',
    route: '/checkouts',
    summary: 'Create a checkout',
    description:
      'A page on which a payer pays once. Send the payer to `url`; the card goes from the payer’s browser to the gateway, and not through the shop.',
    permission: 'payments',
    body: NewCheckoutBody,
    reviewBody: reviewDetails,
    success: { status: 201, description: 'Created, and open.', schema: CheckoutObject, located: true },
    problems: [
      'correlation_id_already_used',
      'merchant_not_permitted',
      'merchant_suspended',
      'vault_not_enabled',
      'route_not_found',
    ],
    example: { merchant: { id: 1 }, checkout: DETAILS },
    exampleAnswer: EXAMPLE,
    async handle({ caller, correlationId, address, body }, services: CheckoutServices) {
      const { checkouts, clock, customers } = services;
      const base = pagesAt(services);
      const merchant = merchantNamed(caller, body.merchant.id);
      const { organisationId, userId, username } = caller;
      const merchantId = merchant.id;
      const { customer_id: customerId, expires_in, attempts } = body.checkout;
      const misplaced = addressProblems(body, merchant);
      if (misplaced.length > 0 || customerId !== undefined) {
        // A request that comes again is told so, whatever else could be said of it. Without anything else, storing it tells.
        const earlier = await checkouts.byCorrelationId(organisationId, merchantId, correlationId);
        if (earlier !== undefined) throw takenBy(earlier);
      }
      if (misplaced.length > 0) throw refusedFor(misplaced);
      if (customerId !== undefined) {
        if (!merchant.vault) throw refused('vault_not_enabled', [...BODY, 'customer_id']);
        const access = { organisationId, merchantId, username, userId, address, correlationId };
        await customers.find(access, customerId).catch(() => {
          throw refusedFor([
            problem('field_out_of_range', [...BODY, 'customer_id'], 'This merchant has no such customer.'),
          ]);
        });
      }
      const { checkout, isNew } = await checkouts.create({
        organisationId,
        merchantId,
        correlationId,
        nowMs: Math.round(clock.now()),
        expiresInS: expires_in ?? EXPIRES_IN_S.usual,
        attemptsAllowed: attempts ?? ATTEMPTS.usual,
        terms: termsOf(body),
        userId,
      });
      // guard(checkout: a correlation ID makes one): if (!isNew) throw takenBy(checkout); ⇒
      if (!isNew) throw takenBy(checkout);
      const answer = await checkoutObject(checkout, services, base);
      return { status: 201, merchantId, body: answer, location: checkoutPath(checkout.id) };
    },
  }),
  operation({
    id: 'lookUpCheckout',
    tag: 'Checkouts',
    method: 'GET',
    route: '/checkouts/{id}',
    summary: 'Look up a checkout',
    description:
      'What has come of it. Ask here when the payer returns: what the address says proves nothing.',
    permission: 'read',
    path: CheckoutPath,
    success: { status: 200, description: 'The checkout.', schema: CheckoutObject },
    problems: ['checkout_not_found', 'route_not_found'],
    exampleAnswer: EXAMPLE,
    async handle(request, services: CheckoutServices) {
      const base = pagesAt(services);
      const checkout = await found(request, services);
      return {
        status: 200,
        merchantId: checkout.merchantId,
        body: await checkoutObject(checkout, services, base),
      };
    },
  }),
  operation({
    id: 'searchCheckouts',
    tag: 'Checkouts',
    method: 'GET',
    route: '/checkouts',
    summary: 'Search checkouts by correlation ID',
    description: 'For recovery after a timeout or a 5XX, however long ago.',
    permission: 'read',
    query: CheckoutQuery,
    success: { status: 200, description: 'The checkout, or nothing.', schema: CheckoutResults },
    problems: ['merchant_not_permitted', 'route_not_found'],
    exampleAnswer: { results: [EXAMPLE] },
    async handle({ caller, query }, services: CheckoutServices) {
      const base = pagesAt(services);
      const { id: merchantId } = permittedMerchant(caller, query.merchant_id);
      const known = await services.checkouts.byCorrelationId(
        caller.organisationId,
        merchantId,
        query.correlation_id_lookup,
      );
      const results =
        known === undefined
          ? []
          : [await checkoutObject(await services.payers.asItIs(known), services, base)];
      return { status: 200, merchantId, body: { results } };
    },
  }),
  operation({
    id: 'cancelCheckout',
    tag: 'Checkouts',
    method: 'POST',
    route: '/checkouts/{id}/cancel',
    summary: 'Cancel a checkout',
    description:
      'From now on nobody can pay it. Refused while an attempt is under way or in doubt, and after its end.',
    permission: 'payments',
    path: CheckoutPath,
    success: { status: 200, description: 'Cancelled.', schema: CheckoutObject },
    problems: ['checkout_not_found', 'checkout_not_open', 'merchant_suspended', 'route_not_found'],
    exampleAnswer: {
      ...EXAMPLE,
      status: 'cancelled',
      _links: { self: { href: SELF }, page: { href: PAGE } },
    },
    async handle(request, services: CheckoutServices) {
      const base = pagesAt(services);
      const checkout = await found(request, services);
      actingMerchant(request.caller, checkout.merchantId);
      if (!(await services.checkouts.cancel(checkout))) throw refused('checkout_not_open');
      const cancelled = await found(request, services);
      return {
        status: 200,
        merchantId: checkout.merchantId,
        body: await checkoutObject(cancelled, services, base),
      };
    },
  }),
];

function takenBy({ id }: Checkout): RefusedRequest {
  const location = ['header', 'X-Correlation-Id'];
  const message = 'This X-Correlation-Id belongs to an earlier request; see _links.checkout.';
  return new RefusedRequest([problem('correlation_id_already_used', location, message)], {
    checkout: checkoutPath(id),
  });
}
