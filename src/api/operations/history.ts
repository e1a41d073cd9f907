// The list of transactions: its query, and the operation.
import { CHECKOUT_ID_PATTERN, correlationIdsOf } from '../../checkout/checkout.js';
import type { Clock } from '../../clock/clock.js';
import { permittedMerchant } from '../../organisations/users/callers.js';
import type { History, HistoryFilter } from '../../payments/finding/history.js';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../../payments/transaction.js';
import type { Audit, CustomerId, TokenId } from '../../values/ids.js';
import { MAX_AMOUNT_CENTS } from '../../values/money.js';
import { DAY_PATTERN, INSTANT_OR_DAY_PATTERN, periodEnd, periodStart } from '../../values/time.js';
import { PAGE_LIMIT } from '../limits.js';
import { OPEN } from '../openapi/openapi-components.js';
import { operation } from '../operation.js';
import { After, decodeEnd, Limit, ListLinks, listLinks } from '../pages.js';
import { CARD_TYPES_SHOWN, Id, RestrictedText } from '../schemas.js';
import { type Static, Type } from '../typebox.js';
import { LOOKED_UP } from './examples.js';
import { BASE_PATH, lookedUpTransaction } from './hal.js';
import { LookedUpTransaction } from './transaction-schemas.js';

export interface HistoryServices {
  readonly history: History;
  readonly clock: Clock;
}

const InstantOrDay = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: INSTANT_OR_DAY_PATTERN,
      format: 'instant-or-day',
      description: `${description} An ISO 8601 instant, or a day in Sydney.`,
      examples: ['2026-11-15'],
    }),
  );

export const HistoryQuery = Type.Object({
  merchant_id: Type.Optional(Id('Of this merchant. Default: of every merchant that the user may use.')),
  from: InstantOrDay('Made at or after.'),
  until: InstantOrDay('Made at or before; of a day, all of it.'),
  status: Type.Optional(Type.Enum([...TRANSACTION_STATUSES], { description: 'The outcome, as it is now.' })),
  transaction_type: Type.Optional(Type.Enum([...TRANSACTION_TYPES])),
  payment_method: Type.Optional(Type.Enum(['creditcard', 'bankaccount'])),
  card_type: Type.Optional(Type.Enum([...CARD_TYPES_SHOWN], { description: 'The scheme of the card.' })),
  last_four: Type.Optional(
    Type.String({ pattern: '^[0-9]{4}$', description: 'The last four digits of the card number.' }),
  ),
  reference: Type.Optional(RestrictedText(1, 128, 'The beginning of the reference.')),
  amount: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_AMOUNT_CENTS, description: 'Cents.' })),
  settlement_date: Type.Optional(
    Type.String({
      pattern: DAY_PATTERN,
      format: 'date',
      description: 'The day of settlement.',
      examples: ['2026-11-16'],
    }),
  ),
  customer_id: Type.Optional(Id<CustomerId>('Paid with a token of this customer.')),
  token_id: Type.Optional(Id<TokenId>('Paid with this token.')),
  target_audit: Type.Optional(Id<Audit>('What was done to this transaction: completions, refunds, voids.')),
  checkout_id: Type.Optional(
    Type.String({
      pattern: CHECKOUT_ID_PATTERN,
      description: 'What a payer tried on the page of this checkout, and what came of it.',
      examples: ['co_bcdfghjkmnpqrstvwxyzbcdfghjk'],
    }),
  ),
  limit: Limit,
  after: After,
});

const TransactionList = Type.Object(
  { _links: ListLinks, results: Type.Array(LookedUpTransaction) },
  { title: 'TransactionList', ...OPEN },
);

/** The end of a page, in microseconds since 1970. */
const PLACES = /^[0-9]{1,16}$/;

export function filterOf(query: Static<typeof HistoryQuery>): HistoryFilter {
  return {
    fromMs: query.from === undefined ? undefined : periodStart(query.from),
    beforeMs: query.until === undefined ? undefined : periodEnd(query.until),
    status: query.status,
    transactionType: query.transaction_type,
    paymentMethod: query.payment_method,
    cardType: query.card_type,
    lastFour: query.last_four,
    reference: query.reference,
    amountCents: query.amount,
    settlementDate: query.settlement_date,
    customerId: query.customer_id,
    tokenId: query.token_id,
    targetAudit: query.target_audit,
    correlationIds: query.checkout_id === undefined ? undefined : correlationIdsOf(query.checkout_id),
  };
}

export const HISTORY_OPERATIONS = [
  operation({
    id: 'listTransactions',
    tag: 'Transactions',
    method: 'GET',
    route: '/transactions/history',
    summary: 'List transactions',
    description:
      'The newest first; every filter must hold. Follow `_links.next` until it is absent: a page looks at a limited number of transactions, so that one of a rare kind may be short, or empty, and still have a next.',
    permission: 'read',
    query: HistoryQuery,
    success: { status: 200, description: 'A page of transactions.', schema: TransactionList },
    problems: ['merchant_not_permitted'],
    exampleAnswer: {
      results: [LOOKED_UP],
      _links: { first: { href: `${BASE_PATH}/transactions/history` } },
    },
    async handle({ caller, query }, { history, clock }: HistoryServices) {
      const named =
        query.merchant_id === undefined ? undefined : permittedMerchant(caller, query.merchant_id);
      const nowMs = clock.now();
      const page = await history.page({
        ...filterOf(query),
        organisationId: caller.organisationId,
        merchantIds: (named === undefined ? [...caller.merchants.values()] : [named]).map(({ id }) => id),
        limit: query.limit ?? PAGE_LIMIT,
        after: decodeEnd(query.after, PLACES),
        nowMs,
      });
      return {
        status: 200,
        body: {
          _links: listLinks(`${BASE_PATH}/transactions/history`, query, page.end),
          results: page.items.map((transaction) =>
            lookedUpTransaction(transaction, permittedMerchant(caller, transaction.merchantId), nowMs),
          ),
        },
        ...(named !== undefined && { merchantId: named.id }),
      };
    },
  }),
];
