// Voids: what can be voided, and what a void gives back.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import { type Json, TEST_MODE } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { DECLINED_CARD } from '../../../testkit/test-cards.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const KVP = 'GATEWAY.RESPONSE.KVP.';

async function purchased(): Promise<number> {
  return (await gateway.api.purchase({ amount: 10_000 })).body.audit;
}

async function preauthorised(): Promise<number> {
  return (await gateway.api.preauthorise({ amount: 10_000 })).body.audit;
}

async function lookedUp(audit: number): Promise<Json> {
  return (await gateway.api.lookUp(audit)).body;
}

const VOIDABLE: [string, () => Promise<number>, amount: string][] = [
  ['purchase', purchased, '10000'],
  ['preauthorisation', preauthorised, '10000'],
  ['completion', async () => (await gateway.api.complete(await preauthorised(), 7_000)).body.audit, '7000'],
  ['refund', async () => (await gateway.api.refund(await purchased(), 3_000)).body.audit, '3000'],
  ['standalone_refund', async () => (await gateway.api.standaloneRefund({ amount: 50 })).body.audit, '50'],
];

describe.each(VOIDABLE)('void of a %s', (type, make, amount) => {
  // catches(record: a void that happened makes its target voided)
  // catches(record: a void that happened is told to its target)
  test('approved → 201, approved under its own audit, and the target is voided', async () => {
    const audit = await make();
    const { status, headers, body } = await gateway.api.void(audit);
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
    expect(body.audit).not.toBe(audit);
    expect(body.status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'approved' });
    expect(body._links).toEqual({
      self: { href: `/v1/transactions/${body.audit}` },
      target: { href: `/v1/transactions/${audit}` },
    });
    const target = await lookedUp(audit);
    expect(target.status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'voided' });
    expect(target.transaction.transaction_type).toBe(type);
    expect(target.status.acquirer.response_code).toBe('00');
    for (const link of ['completion', 'refund', 'void']) expect(target._links).not.toHaveProperty(link);
    expect(target.kvps).toEqual(TEST_MODE);
  });

  test('looked up → its type, its target, and the amount it undid', async () => {
    const audit = await make();
    const { body } = await gateway.api.void(audit, { reference: 'changed their mind' });
    expect((await lookedUp(body.audit)).transaction).toEqual({
      reference: 'changed their mind',
      transaction_type: 'void',
      target_audit: audit,
      amount_details: { total_amount: amount, currency: 'AUD' },
      payment_method: { creditcard: { pan: '411111******1111', type: 'visa' } },
    });
  });

  test('a second time → 422 target_not_voidable', async () => {
    const audit = await make();
    expect((await gateway.api.void(audit)).status).toBe(201);
    const again = await gateway.api.void(audit);
    expect([again.status, again.errors]).toEqual([422, ['target_not_voidable path/audit']]);
  });
});

// catches(void: not of what has live refunds)
test('void of a purchase with an unvoided refund → 422; once the refund is voided → approved', async () => {
  const audit = await purchased();
  const refund = (await gateway.api.refund(audit, 1)).body.audit;
  const tooEarly = await gateway.api.void(audit);
  expect([tooEarly.status, tooEarly.errors]).toEqual([422, ['target_not_voidable path/audit']]);
  expect((await lookedUp(audit)).status.transaction_status_code).toBe('approved');
  await gateway.api.void(refund);
  expect((await gateway.api.void(audit)).body.status.transaction_status_code).toBe('approved');
  expect((await lookedUp(audit)).status.transaction_status_code).toBe('voided');
});

test('void of a completion with an unvoided refund → 422', async () => {
  const completion = (await gateway.api.complete(await preauthorised(), 10_000)).body.audit;
  await gateway.api.refund(completion, 5_000);
  expect((await gateway.api.void(completion)).code).toBe('target_not_voidable');
});

// catches(void: not of a completed preauthorisation)
test('void of a completed preauthorisation → 422; once the completion is voided → approved', async () => {
  const audit = await preauthorised();
  const completion = (await gateway.api.complete(audit, 5_000)).body.audit;
  const tooEarly = await gateway.api.void(audit);
  expect([tooEarly.status, tooEarly.errors]).toEqual([422, ['target_not_voidable path/audit']]);
  await gateway.api.void(completion);
  expect((await gateway.api.void(audit)).body.status.transaction_status_code).toBe('approved');
  expect((await lookedUp(audit)).status.transaction_status_code).toBe('voided');
});

// catches(void: not of a void)
test('void of a void → 422 target_not_voidable', async () => {
  const voiding = (await gateway.api.void(await purchased())).body.audit;
  const { status, errors } = await gateway.api.void(voiding);
  expect([status, errors]).toEqual([422, ['target_not_voidable path/audit']]);
});

// catches(target: approved)
test('void of a declined transaction → 422 target_not_voidable', async () => {
  const purchase = (await gateway.api.purchase({ pan: DECLINED_CARD })).body.audit;
  const preauthorisation = (await gateway.api.preauthorise({ pan: DECLINED_CARD })).body.audit;
  for (const audit of [purchase, preauthorisation]) {
    expect((await gateway.api.void(audit)).errors).toEqual(['target_not_voidable path/audit']);
  }
});

test('void of one refund of several → only its own amount is released', async () => {
  const audit = await purchased();
  await gateway.api.refund(audit, 1_000);
  const second = (await gateway.api.refund(audit, 2_000)).body.audit;
  await gateway.api.void(second);
  expect((await lookedUp(audit)).kvps[`${KVP}REFUNDABLE_AMOUNT`]).toBe('9000');
});

test('void of a completion → the preauthorisation is approved and can be completed, as before', async () => {
  const audit = await preauthorised();
  const before = await lookedUp(audit);
  const completion = (await gateway.api.complete(audit, 1)).body.audit;
  await gateway.api.void(completion);
  expect(await lookedUp(audit)).toEqual(before);
});

test('void, an amount in its body → ignored, like every unknown member', async () => {
  const audit = await purchased();
  const { body } = await gateway.api.post(`/transactions/${audit}/void`, {
    merchant: { id: 1 },
    transaction: { reference: 'order-1', amount_details: { total_amount: '1', currency: 'USD' } },
  });
  expect((await lookedUp(body.audit)).transaction.amount_details).toEqual({
    total_amount: '10000',
    currency: 'AUD',
  });
});

// catches(target: of the merchant that the request names)
test('void, an unknown audit, or a merchant other than the target’s → 404', async () => {
  const nobodys = await gateway.api.void(2_147_483_647);
  expect([nobodys.status, nobodys.errors]).toEqual([404, ['transaction_not_found path/audit']]);
  const otherMerchant = await gateway.api.void(await purchased(), { merchant: 3 });
  expect([otherMerchant.status, otherMerchant.text]).toEqual([404, nobodys.text]);
});

test('voids → the acquirer has the same books', () => expectBooksToAgree(gateway));
