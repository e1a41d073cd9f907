// Refunds by audit: of what, up to which amount, and how often.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import type { PaymentChange } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { DECLINED_CARD } from '../../../testkit/test-cards.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const AMOUNT = 'body/transaction/amount_details/total_amount';

async function purchased(change: PaymentChange = {}): Promise<number> {
  const { body } = await gateway.api.purchase({ amount: 10_000, ...change });
  expect(body.status.transaction_status_code).toBe('approved');
  return body.audit;
}

async function refundable(audit: number): Promise<string | undefined> {
  return (await gateway.api.lookUp(audit)).body.kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT'];
}

test('refund by audit, a part → 201, Location, approved, and exactly the members of a creating response', async () => {
  const audit = await purchased();
  const { status, headers, body } = await gateway.api.refund(audit, 2_500);
  expect(status).toBe(201);
  expect(headers.get('location')).toBe(`/v1/transactions/${body.audit}`);
  expect(Object.keys(body).sort()).toEqual([
    '_links',
    'audit',
    'gateway_timestamp',
    'kvps',
    'merchant',
    'status',
  ]);
  expect(body.status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'approved' });
  expect(body._links).toEqual({
    self: { href: `/v1/transactions/${body.audit}` },
    target: { href: `/v1/transactions/${audit}` },
    void: { href: `/v1/transactions/${body.audit}/void` },
  });
});

test('refund by audit, looked up → its type, its target, its own amount and the card of the purchase', async () => {
  const audit = await purchased();
  const { body } = await gateway.api.refund(audit, 1, { reference: 'returned 1' });
  const found = (await gateway.api.lookUp(body.audit)).body;
  expect(found.transaction).toEqual({
    reference: 'returned 1',
    transaction_type: 'refund',
    target_audit: audit,
    amount_details: { total_amount: '1', currency: 'AUD' },
    payment_method: { creditcard: { pan: '411111******1111', type: 'visa' } },
  });
});

test('refund by audit, several parts up to the exact rest → all approved, and the purchase stays approved', async () => {
  const audit = await purchased();
  for (const [amount, left] of [
    [2_500, '7500'],
    [2_500, '5000'],
    [4_999, '1'],
    [1, undefined],
  ] as const) {
    const { body } = await gateway.api.refund(audit, amount);
    expect(body.status.transaction_status_code).toBe('approved');
    expect(await refundable(audit)).toBe(left);
  }
  const target = (await gateway.api.lookUp(audit)).body;
  expect(target.status.transaction_status_code).toBe('approved');
  expect(Object.keys(target._links)).toEqual(['self']);
});

test('refund by audit, one cent more than the whole → 422, and the whole is still accepted', async () => {
  const audit = await purchased();
  const tooMuch = await gateway.api.refund(audit, 10_001);
  expect([tooMuch.status, tooMuch.errors]).toEqual([422, [`refund_exceeds_original ${AMOUNT}`]]);
  expect((await gateway.api.refund(audit, 10_000)).status).toBe(201);
});

// catches(refund: no more than the original, without the constraint that stands behind it)
// catches(refund: together no more than the original)
test('refund by audit, one cent more than the rest → 422, and the rest is still accepted', async () => {
  const audit = await purchased();
  await gateway.api.refund(audit, 6_000);
  const tooMuch = await gateway.api.refund(audit, 4_001);
  expect([tooMuch.status, tooMuch.errors]).toEqual([422, [`refund_exceeds_original ${AMOUNT}`]]);
  expect((await gateway.api.refund(audit, 4_000)).status).toBe(201);
});

test('refund by audit, one cent of a fully refunded purchase → 422 refund_exceeds_original', async () => {
  const audit = await purchased();
  await gateway.api.refund(audit, 10_000);
  const { status, errors } = await gateway.api.refund(audit, 1);
  expect([status, errors]).toEqual([422, [`refund_exceeds_original ${AMOUNT}`]]);
});

test('refund by audit, a completion → up to the completed amount, not the preauthorised one', async () => {
  const { body } = await gateway.api.preauthorise({ amount: 10_000 });
  const completion = (await gateway.api.complete(body.audit, 6_000)).body.audit;
  expect((await gateway.api.refund(completion, 6_001)).code).toBe('refund_exceeds_original');
  expect((await gateway.api.refund(completion, 6_000)).body.status.transaction_status_code).toBe('approved');
});

// catches(refund: only of a purchase or a completion)
test('refund by audit, anything but a purchase or a completion → 422 target_not_refundable', async () => {
  const { api } = gateway;
  const preauthorisation = (await api.preauthorise()).body.audit;
  const completed = (await api.preauthorise()).body.audit;
  await api.complete(completed, 10_000);
  const refund = (await api.refund(await purchased(), 5_000)).body.audit;
  const standaloneRefund = (await api.standaloneRefund()).body.audit;
  const voiding = (await api.void(await purchased())).body.audit;
  for (const audit of [preauthorisation, completed, refund, standaloneRefund, voiding]) {
    const { status, errors } = await api.refund(audit, 100);
    expect([status, errors]).toEqual([422, ['target_not_refundable path/audit']]);
  }
});

// catches(target: approved)
test('refund by audit, a declined purchase → 422 target_not_refundable', async () => {
  const { body } = await gateway.api.purchase({ pan: DECLINED_CARD });
  expect((await gateway.api.refund(body.audit, 100)).errors).toEqual(['target_not_refundable path/audit']);
});

test('refund by audit, a voided purchase → 422 target_not_refundable', async () => {
  const audit = await purchased();
  await gateway.api.void(audit);
  expect((await gateway.api.refund(audit, 100)).errors).toEqual(['target_not_refundable path/audit']);
});

// catches(refund: in the currency of its target)
test('refund by audit, another currency than the purchase → 422 target_not_refundable', async () => {
  const audit = await purchased({ currency: 'USD' });
  const { status, errors } = await gateway.api.refund(audit, 100, { currency: 'AUD' });
  expect(status).toBe(422);
  expect(errors).toEqual(['target_not_refundable body/transaction/amount_details/currency']);
  expect((await gateway.api.refund(audit, 100, { currency: 'USD' })).status).toBe(201);
});

// catches(record: a voided refund gives its amount back to its target)
test('refund by audit, voided → its amount can be refunded again', async () => {
  const audit = await purchased();
  const refund = (await gateway.api.refund(audit, 10_000)).body.audit;
  expect(await refundable(audit)).toBeUndefined();
  await gateway.api.void(refund);
  expect(await refundable(audit)).toBe('10000');
  expect((await gateway.api.refund(audit, 10_000)).body.status.transaction_status_code).toBe('approved');
});

// catches(target: of the merchant that the request names)
test('refund by audit, an unknown audit, or a merchant other than the target’s → 404', async () => {
  const nobodys = await gateway.api.refund(2_147_483_647, 100);
  expect([nobodys.status, nobodys.errors]).toEqual([404, ['transaction_not_found path/audit']]);
  const audit = await purchased({ merchant: 1 });
  const otherMerchant = await gateway.api.refund(audit, 100, { merchant: 2 });
  expect([otherMerchant.status, otherMerchant.text]).toEqual([404, nobodys.text]);
});

test('refund by audit, refused → no audit was used: the search finds nothing under its correlation ID', async () => {
  const audit = await purchased();
  await gateway.api.refund(audit, 10_001, { correlationId: 'refused-refund' });
  expect((await gateway.api.search('refused-refund')).body).toEqual({ results: [] });
});

test('standalone refund, more than was ever charged to the card → approved: it has no original', async () => {
  const { status, body } = await gateway.api.standaloneRefund({ amount: '999999999999' });
  expect([status, body.status.transaction_status_code]).toEqual([201, 'approved']);
  const found = (await gateway.api.lookUp(body.audit)).body;
  expect(found.transaction).not.toHaveProperty('target_audit');
  expect(found._links).not.toHaveProperty('target');
});

test('refunds → the acquirer has the same books', () => expectBooksToAgree(gateway));
