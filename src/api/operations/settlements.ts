// The settlement operations of the API: the totals of a day for the caller's merchants.
import { permittedMerchant } from '../../organisations/users/callers.js';
import { SETTLING_TYPES, type SettlementReport, type SettlementReports } from '../../settlement/report.js';
import { DAY_PATTERN, SETTLEMENT_CLOSE, sydneyInstant, sydneyTimestamp } from '../../values/time.js';
import { OPEN, openEnum } from '../openapi/openapi-components.js';
import { operation } from '../operation.js';
import { CardTypeShown, Id, Link } from '../schemas.js';
import { type Static, Type } from '../typebox.js';
import { MERCHANT } from './examples.js';
import { BASE_PATH } from './hal.js';

export interface SettlementServices {
  readonly settlements: SettlementReports;
}

const SettlementPath = Type.Object({
  date: Type.String({
    pattern: DAY_PATTERN,
    format: 'date',
    description: 'The settlement day, in Sydney.',
    examples: ['2026-11-16'],
  }),
});

const SettlementQuery = Type.Object({
  merchant_id: Type.Optional(Id('Only this merchant. Default: every merchant that the user may use.')),
});

const Merchant = Type.Object({ id: Id('The merchant.') }, { title: 'SettlementMerchant', ...OPEN });
const Currency = Type.String({ description: 'ISO 4217 code.' });
const TotalAmount = Type.String({
  description:
    'Cents that the merchant gets, as a string of digits; with a minus, that are taken from it. It may have any number of digits.',
  examples: ['125990'],
});

const SettlementLine = Type.Object(
  {
    merchant: Merchant,
    acquirer: Type.String({ description: 'Over which link.' }),
    payment_method: openEnum(['creditcard', 'bankaccount'], 'How it was paid.'),
    card_type: CardTypeShown,
    transaction_type: openEnum(
      SETTLING_TYPES,
      'What it was. `void`: undoes what has settled on this day or before; `return`: the bank took back what had been cleared.',
    ),
    currency: Currency,
    count: Type.Integer({ minimum: 1, description: 'How many transactions.' }),
    total_amount: TotalAmount,
  },
  { title: 'SettlementLine', ...OPEN },
);

const SettlementNet = Type.Object(
  { merchant: Merchant, currency: Currency, total_amount: TotalAmount },
  { title: 'SettlementNet', ...OPEN },
);

const Settlement = Type.Object(
  {
    date: Type.String({ description: 'The settlement day.' }),
    closes: Type.String({ description: 'When the day closes, or has closed. Sydney time.' }),
    closed: Type.Boolean({ description: 'A closed day does not change any more.' }),
    lines: Type.Array(SettlementLine),
    net: Type.Array(SettlementNet, { description: 'The sum of the lines of each merchant and currency.' }),
    _links: Type.Object({ self: Link }, { title: 'SettlementLinks', ...OPEN }),
  },
  { title: 'Settlement', ...OPEN },
);
type Settlement = Static<typeof Settlement>;

function settlementObject({ date, closed, lines, net }: SettlementReport, self: string): Settlement {
  return {
    date,
    closes: sydneyTimestamp(sydneyInstant(date, SETTLEMENT_CLOSE)),
    closed,
    lines: lines.map((line) => ({
      merchant: { id: line.merchantId },
      acquirer: line.acquirer,
      payment_method: line.paymentMethod,
      card_type: line.cardType,
      transaction_type: line.transactionType,
      currency: line.currency,
      count: line.count,
      total_amount: line.cents,
    })),
    net: net.map(({ merchantId, currency, cents }) => ({
      merchant: { id: merchantId },
      currency,
      total_amount: cents,
    })),
    _links: { self: { href: self } },
  };
}

export const SETTLEMENT_OPERATIONS = [
  operation({
    id: 'settlementOfDay',
    tag: 'Settlements',
    method: 'GET',
    route: '/settlements/{date}',
    summary: 'What a day comes to',
    description:
      'Card transactions on their settlement date, direct debits on the day they cleared, voids and returns on the day they came. `closed` days do not change any more.',
    permission: 'read',
    path: SettlementPath,
    query: SettlementQuery,
    success: { status: 200, description: 'The sums of the day.', schema: Settlement },
    problems: ['merchant_not_permitted'],
    exampleAnswer: {
      date: '2026-11-16',
      closes: '2026-11-16T18:00:00.000+11:00',
      closed: true,
      lines: [
        {
          merchant: MERCHANT,
          acquirer: 'simulator',
          payment_method: 'creditcard',
          card_type: 'visa',
          transaction_type: 'purchase',
          currency: 'AUD',
          count: 3,
          total_amount: '7000',
        },
      ],
      net: [{ merchant: MERCHANT, currency: 'AUD', total_amount: '7000' }],
      _links: { self: { href: `${BASE_PATH}/settlements/2026-11-16` } },
    },
    async handle({ caller, path: { date }, query: { merchant_id } }, { settlements }: SettlementServices) {
      const one = merchant_id === undefined ? undefined : permittedMerchant(caller, merchant_id).id;
      const merchants = one === undefined ? [...caller.merchants.values()].map(({ id }) => id) : [one];
      const report = await settlements.ofDay(caller, merchants, date);
      const query = one === undefined ? '' : `?merchant_id=${one}`;
      return {
        status: 200,
        ...(one !== undefined && { merchantId: one }),
        body: settlementObject(report, `${BASE_PATH}/settlements/${date}${query}`),
      };
    },
  }),
];
