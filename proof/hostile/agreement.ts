// Fields that depend on each other in ways that a schema does not say: a proper body has them in agreement.
import type { Json } from '../../testkit/bodies.js';
import { type Bend, type MakeBend, REFUSED } from './case.js';

const AMOUNT = { total_amount: '1995', currency: 'AUD' };
const BANK = { payment_methods: ['bankaccount'] };

/** Details of a checkout that disagree, and where that is said. */
const DISAGREEMENTS: readonly (readonly [what: string, details: Json, place: string])[] = [
  ['an amount of no payment', { operation: 'tokenise', amount_details: AMOUNT }, 'amount_details'],
  ['a purchase of nothing', { operation: 'purchase', amount_details: undefined }, 'amount_details'],
  ['a payment of nothing', { operation: undefined, amount_details: undefined }, 'amount_details'],
  [
    'a bank account that is held',
    { ...BANK, operation: 'preauthorisation', amount_details: AMOUNT },
    'payment_methods',
  ],
  [
    'a bank account that is kept for nobody',
    { ...BANK, operation: 'tokenise', amount_details: undefined, customer_id: undefined },
    'customer_id',
  ],
  [
    'a bank account in another currency',
    { ...BANK, operation: 'purchase', amount_details: { ...AMOUNT, currency: 'USD' } },
    'amount_details/currency',
  ],
  ['a customer that there is not', { customer_id: 2_147_483_000 }, 'customer_id'],
];

export function ofDisagreement(operation: string, bend: MakeBend): Bend[] {
  if (operation !== 'createCheckout') return [];
  return DISAGREEMENTS.map(([what, details, place]) =>
    bend(what, (request) => {
      const body = JSON.parse(request.body ?? '');
      request.body = JSON.stringify({ ...body, checkout: { ...body.checkout, ...details } });
      return REFUSED(`body/checkout/${place}`);
    }),
  );
}

/** `wanted`: the keys of the field that is there to be bent. Then nothing else may be wrong, whatever becomes of it. */
export function inAgreement(operation: string, body: Json, [place, wanted]: readonly string[]): Json {
  // There has to be something to change.
  if (operation === 'changeSchedule') body.schedule.amount_details ??= AMOUNT;
  if (operation !== 'createCheckout') return body;
  const details = body.checkout;
  const isBent = place === 'checkout' && wanted !== undefined;
  // What is no operation is taken for a purchase.
  if (isBent && details.operation === 'tokenise' && /^(operation|amount_details)$/.test(wanted))
    details.operation = 'purchase';
  const { operation: kind = 'purchase', payment_methods: methods, customer_id: customer } = details;
  if (kind === 'tokenise') delete details.amount_details;
  else details.amount_details ??= AMOUNT;
  const takesBank = kind === 'tokenise' ? customer !== undefined : kind !== 'preauthorisation';
  if (methods !== undefined && (isBent || !takesBank)) details.payment_methods = ['creditcard'];
  return body;
}
