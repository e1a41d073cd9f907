// Surcharges on payments and completions, as a client sees them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeSurcharges, setSurcharges } from '../../src/organisations/surcharges.js';
import type { SurchargeRule } from '../../src/plugins/surcharge.js';
import { sydneyDate } from '../../src/values/time.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { TEST_MODE } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

const AMEX = '378282246310005';
const PREFIX = 'GATEWAY.REQUEST.KVP.SURCHARGE.';
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await testGateway();
  await setRules([
    { scope: 'default', thousandths: 1_500 },
    { scope: 'card:amex', thousandths: 2_900 },
  ]);
});
afterAll(() => gateway.close());

async function setRules(rules: SurchargeRule[], merchant = 2): Promise<void> {
  const database = operatorsDatabase(gateway);
  await removeSurcharges(database, 'operator:test', merchant);
  if (rules.length > 0) await setSurcharges(database, 'operator:test', merchant, rules);
  await database.close();
}

/** Waits until the gateway has the new rules of merchant 3. */
async function untilChargedAs(total: string | undefined): Promise<void> {
  await expect
    .poll(
      async () =>
        (await gateway.api.purchase({ merchant: 3, amount: 1_000 })).body.kvps[`${PREFIX}TOTAL_AMOUNT`],
    )
    .toBe(total);
}

test('purchase with a surcharge → the new total, and KVPs that explain it', async () => {
  const { body } = await gateway.api.purchase({ merchant: 2, amount: 1_995, kvps: { order: '7' } });
  expect(body.kvps).toEqual({
    ...TEST_MODE,
    'GATEWAY.REQUEST.KVP.order': '7',
    [`${PREFIX}ORIGINAL_AMOUNT`]: '1995',
    [`${PREFIX}PERCENT`]: '1.5',
    [`${PREFIX}ADDED_AMOUNT`]: '30',
    [`${PREFIX}TOTAL_AMOUNT`]: '2025',
  });
  const found = await gateway.api.lookUp(body.audit);
  expect(found.body.transaction.amount_details.total_amount).toBe('2025');
  expect(found.body.kvps).toMatchObject({ ...body.kvps, 'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT': '2025' });
  const charged = (await gateway.ledger()).find((entry) => entry.reference.endsWith(`-${body.audit}`));
  expect(charged?.amountCents).toBe(2_025);
});

test('purchase by a card type with a rule of its own → that percentage', async () => {
  const { body } = await gateway.api.purchase({ merchant: 2, amount: 10_000, pan: AMEX, cvv: '1234' });
  expect(body.kvps[`${PREFIX}TOTAL_AMOUNT`]).toBe('10290');
});

test('purchase for a merchant without rules → no surcharge, and no surcharge KVPs', async () => {
  expect((await gateway.api.purchase({ merchant: 1, amount: 1_995 })).body.kvps).toEqual(TEST_MODE);
});

test('KVPs of the same name in the request → overwritten by the surcharge', async () => {
  const kvps = { 'SURCHARGE.TOTAL_AMOUNT': '1', 'GATEWAY.REQUEST.KVP.SURCHARGE.PERCENT': '99' };
  const { body } = await gateway.api.purchase({ merchant: 2, amount: 1_000, kvps });
  expect(body.kvps).toMatchObject({ [`${PREFIX}TOTAL_AMOUNT`]: '1015', [`${PREFIX}PERCENT`]: '1.5' });
});

test('surcharge KVPs made up by a client → kept as text, and not used in any calculation', async () => {
  const kvps = {
    'SURCHARGE.ORIGINAL_AMOUNT': '800',
    'SURCHARGE.PERCENT': '25',
    'SURCHARGE.ADDED_AMOUNT': '200',
    'SURCHARGE.TOTAL_AMOUNT': '1000',
  };
  const { body } = await gateway.api.preauthorise({ merchant: 1, amount: 1_000, kvps });
  const held = await gateway.api.lookUp(body.audit);
  expect(held.body.kvps).toMatchObject({
    [`${PREFIX}PERCENT`]: '25',
    'GATEWAY.RESPONSE.KVP.COMPLETABLE_AMOUNT': '1000',
  });
  const completion = await gateway.api.complete(body.audit, 800);
  expect(completion.body.kvps).toEqual(TEST_MODE);
  const taken = await gateway.api.lookUp(completion.body.audit);
  expect(taken.body.transaction.amount_details.total_amount).toBe('800');
  const charged = (await gateway.ledger()).find(({ operation }) => operation === 'completion');
  expect(charged?.amountCents).toBe(800);
});

test('surcharge KVPs that a client sends with the completion → only the plugin decides', async () => {
  const { body } = await gateway.api.preauthorise({ merchant: 2, amount: 1_000 });
  const completion = await gateway.api.post(`/transactions/${body.audit}/completion`, {
    merchant: { id: 2 },
    kvps: { 'SURCHARGE.PERCENT': '0', 'SURCHARGE.ORIGINAL_AMOUNT': '1' },
    transaction: { reference: 'order-1', amount_details: { total_amount: '800', currency: 'AUD' } },
  });
  expect(completion.body.kvps).toEqual({
    ...TEST_MODE,
    [`${PREFIX}ORIGINAL_AMOUNT`]: '800',
    [`${PREFIX}PERCENT`]: '1.5',
    [`${PREFIX}ADDED_AMOUNT`]: '12',
    [`${PREFIX}TOTAL_AMOUNT`]: '812',
  });
  const stored = await gateway.sql('SELECT pricing FROM transaction WHERE audit = ANY ($1) ORDER BY audit', [
    [body.audit, completion.body.audit],
  ]);
  expect(stored).toEqual([
    { pricing: { originalCents: 1_000, decisions: { surcharge: { thousandths: 1_500 } } } },
    { pricing: { originalCents: 800, decisions: { surcharge: { thousandths: 1_500 } } } },
  ]);
});

test.each(['purchase', 'preauthorise'] as const)(
  '%s whose total would have thirteen digits → 422 field_out_of_range, and nothing is stored',
  async (operation) => {
    const send = (amount: string, correlationId: string) =>
      gateway.api[operation]({ merchant: 2, amount, correlationId });
    const refused = await send('985221674877', `too-much-${operation}`);
    expect([refused.status, refused.errors]).toEqual([
      422,
      ['field_out_of_range body/transaction/amount_details/total_amount'],
    ]);
    expect((await gateway.api.search(`too-much-${operation}`, 2)).body.results).toEqual([]);
    const accepted = await send('985221674876', `just-fits-${operation}`);
    expect(accepted.body.kvps[`${PREFIX}TOTAL_AMOUNT`]).toBe('999999999999');
  },
);

test('refund of a surcharged purchase → up to the total, and not one cent more', async () => {
  const { body } = await gateway.api.purchase({ merchant: 2, amount: 1_000 });
  expect((await gateway.api.refund(body.audit, 1_016, { merchant: 2 })).code).toBe('refund_exceeds_original');
  const refund = await gateway.api.refund(body.audit, 1_015, { merchant: 2 });
  expect(refund.body.status.transaction_status_code).toBe('approved');
  expect(refund.body.kvps).toEqual(TEST_MODE);
});

test('standalone refund → no surcharge', async () => {
  const { body } = await gateway.api.standaloneRefund({ merchant: 2, amount: 1_000 });
  expect(body.kvps).toEqual(TEST_MODE);
  expect((await gateway.api.lookUp(body.audit)).body.transaction.amount_details.total_amount).toBe('1000');
});

test('completion of a surcharged preauthorisation for the original amount → accepted with the same total', async () => {
  const { body } = await gateway.api.preauthorise({ merchant: 2, amount: 1_995 });
  const held = await gateway.api.lookUp(body.audit);
  expect(held.body.transaction.amount_details.total_amount).toBe('2025');
  expect(held.body.kvps['GATEWAY.RESPONSE.KVP.COMPLETABLE_AMOUNT']).toBe('1995');
  expect((await gateway.api.complete(body.audit, 1_996, { merchant: 2 })).code).toBe(
    'completion_exceeds_preauthorisation',
  );
  const completion = await gateway.api.complete(body.audit, 1_995, { merchant: 2 });
  expect(completion.body.status.transaction_status_code).toBe('approved');
  expect(completion.body.kvps).toMatchObject({
    [`${PREFIX}ORIGINAL_AMOUNT`]: '1995',
    [`${PREFIX}TOTAL_AMOUNT`]: '2025',
  });
});

test('completion after the percentage was raised, or the rules were removed → the preauthorisation’s percentage', async () => {
  await setRules([{ scope: 'default', thousandths: 1_000 }], 3);
  await untilChargedAs('1010');
  const audits = [];
  for (let count = 0; count < 2; count += 1) {
    audits.push((await gateway.api.preauthorise({ merchant: 3, amount: 1_000 })).body.audit);
  }
  for (const [rules, total] of [
    [[{ scope: 'default', thousandths: 50_000 } as const], '1500'],
    [[], undefined],
  ] as const) {
    await setRules([...rules], 3);
    await untilChargedAs(total);
    const completion = await gateway.api.complete(audits.pop(), 1_000, { merchant: 3 });
    expect(completion.body.kvps[`${PREFIX}TOTAL_AMOUNT`]).toBe('1010');
  }
});

test('after the last day of a rule → no surcharge', async () => {
  const dated = await testGateway();
  const database = operatorsDatabase(dated);
  const today = sydneyDate(Date.now());
  await setSurcharges(database, 'operator:test', 1, [{ scope: 'default', thousandths: 1_500, until: today }]);
  await database.close();
  expect((await dated.api.purchase({ amount: 1_000 })).body.kvps[`${PREFIX}TOTAL_AMOUNT`]).toBe('1015');
  await dated.advance('1d');
  expect((await dated.api.purchase({ amount: 1_000 })).body.kvps).toEqual(TEST_MODE);
});

test('look-up of a surcharged purchase → exactly the fields, KVPs and links of the interface', async () => {
  const { audit } = (
    await gateway.api.purchase({
      merchant: 2,
      amount: 1_995,
      kvps: { order: '1001' },
      reference: 'order-1001',
    })
  ).body;
  expect((await gateway.api.lookUp(audit)).body).toEqual({
    audit,
    gateway_timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+1[01]:00$/),
    merchant: { id: 2 },
    kvps: {
      ...TEST_MODE,
      'GATEWAY.REQUEST.KVP.order': '1001',
      [`${PREFIX}ORIGINAL_AMOUNT`]: '1995',
      [`${PREFIX}PERCENT`]: '1.5',
      [`${PREFIX}ADDED_AMOUNT`]: '30',
      [`${PREFIX}TOTAL_AMOUNT`]: '2025',
      'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT': '2025',
      'GATEWAY.RESPONSE.KVP.VOIDABLE_UNTIL': expect.stringMatching(/T18:00:00\.000\+1[01]:00$/),
    },
    transaction: {
      reference: 'order-1001',
      transaction_type: 'purchase',
      amount_details: { total_amount: '2025', currency: 'AUD' },
      payment_method: { creditcard: { pan: '411111******1111', type: 'visa' } },
    },
    status: {
      gateway_status_code: 0,
      gateway_status_message: 'Processed',
      transaction_status_code: 'approved',
      acquirer: {
        response_code: '00',
        response_message: 'Approved',
        settlement_date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        authorisation_code: expect.stringMatching(/^\d{6}$/),
      },
    },
    _links: {
      self: { href: `/v1/transactions/${audit}` },
      refund: { href: `/v1/transactions/${audit}/refund` },
      void: { href: `/v1/transactions/${audit}/void` },
    },
  });
});
