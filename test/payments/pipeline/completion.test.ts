// Completions: of which preauthorisations, up to which amount, and how often.
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

const KVP = 'GATEWAY.RESPONSE.KVP.';

async function preauthorised(change: PaymentChange = {}): Promise<number> {
  const { body } = await gateway.api.preauthorise({ amount: 10_000, ...change });
  expect(body.status.transaction_status_code).toBe('approved');
  return body.audit;
}

test('completion, the full amount → 201, Location, approved, and exactly the members of a creating response', async () => {
  const audit = await preauthorised();
  const { status, headers, body } = await gateway.api.complete(audit, 10_000);
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
    refund: { href: `/v1/transactions/${body.audit}/refund` },
    void: { href: `/v1/transactions/${body.audit}/void` },
  });
});

test('completion, looked up → its type, its target, its own amount and the card of the preauthorisation', async () => {
  const audit = await preauthorised({ currency: 'USD' });
  const { body } = await gateway.api.complete(audit, 9_999, { currency: 'USD', reference: 'shipped 1' });
  const found = (await gateway.api.lookUp(body.audit)).body;
  expect(found.transaction).toEqual({
    reference: 'shipped 1',
    transaction_type: 'completion',
    target_audit: audit,
    amount_details: { total_amount: '9999', currency: 'USD' },
    payment_method: { creditcard: { pan: '411111******1111', type: 'visa' } },
  });
  expect(found._links.target).toEqual({ href: `/v1/transactions/${audit}` });
});

test('completion, a smaller amount → approved, and the rest is released: nothing is left to complete', async () => {
  const audit = await preauthorised();
  const { body } = await gateway.api.complete(audit, 2_500);
  expect(body.status.transaction_status_code).toBe('approved');
  const target = (await gateway.api.lookUp(audit)).body;
  expect(target.status.transaction_status_code).toBe('approved');
  expect(target._links).not.toHaveProperty('completion');
  const rest = await gateway.api.complete(audit, 7_500);
  expect([rest.status, rest.errors]).toEqual([422, ['target_not_completable path/audit']]);
  // The refundable amount is the completed one, not the preauthorised one.
  expect((await gateway.api.lookUp(body.audit)).body.kvps[`${KVP}REFUNDABLE_AMOUNT`]).toBe('2500');
});

// catches(completion: no more than was preauthorised)
test('completion, one cent more than preauthorised → 422, and the right amount is still accepted', async () => {
  const audit = await preauthorised();
  const tooMuch = await gateway.api.complete(audit, 10_001);
  expect(tooMuch.status).toBe(422);
  expect(tooMuch.errors).toEqual([
    'completion_exceeds_preauthorisation body/transaction/amount_details/total_amount',
  ]);
  expect((await gateway.api.complete(audit, 10_000)).status).toBe(201);
});

test('completion, the largest possible amount on a small preauthorisation → 422', async () => {
  const audit = await preauthorised({ amount: 1 });
  expect((await gateway.api.complete(audit, '999999999999')).code).toBe(
    'completion_exceeds_preauthorisation',
  );
});

// catches(completion: once)
test('completion, a second time → 422 target_not_completable', async () => {
  const audit = await preauthorised();
  expect((await gateway.api.complete(audit, 10_000)).status).toBe(201);
  const again = await gateway.api.complete(audit, 10_000);
  expect([again.status, again.errors]).toEqual([422, ['target_not_completable path/audit']]);
});

// catches(record: a voided completion gives its preauthorisation back)
test('completion, after the first one was voided → the amount can be completed again', async () => {
  const audit = await preauthorised();
  const first = await gateway.api.complete(audit, 4_000);
  expect((await gateway.api.void(first.body.audit)).body.status.transaction_status_code).toBe('approved');
  const target = (await gateway.api.lookUp(audit)).body;
  expect(target.kvps[`${KVP}COMPLETABLE_AMOUNT`]).toBe('10000');
  expect(target._links.completion).toEqual({ href: `/v1/transactions/${audit}/completion` });
  expect((await gateway.api.complete(audit, 10_000)).body.status.transaction_status_code).toBe('approved');
});

// catches(completion: in the currency of its target)
test('completion, another currency → 422 target_not_completable', async () => {
  const audit = await preauthorised({ currency: 'AUD' });
  const { status, errors } = await gateway.api.complete(audit, 10_000, { currency: 'USD' });
  expect(status).toBe(422);
  expect(errors).toEqual(['target_not_completable body/transaction/amount_details/currency']);
});

test('completion, the old preauthorisation code in the body, even a wrong one → ignored', async () => {
  const audit = await preauthorised();
  const { status, body } = await gateway.api.post(`/transactions/${audit}/completion`, {
    merchant: { id: 1 },
    transaction: {
      reference: 'order-1',
      amount_details: { total_amount: '10000', currency: 'AUD' },
      preauthorisation_code: 'NOT THE ONE IT WAS',
    },
  });
  expect(status).toBe(201);
  expect(body.status.transaction_status_code).toBe('approved');
});

// catches(target: approved)
test('completion, a declined preauthorisation → 422 target_not_completable', async () => {
  const { body } = await gateway.api.preauthorise({ pan: DECLINED_CARD });
  expect((await gateway.api.complete(body.audit, 10_000)).errors).toEqual([
    'target_not_completable path/audit',
  ]);
});

test('completion, a voided preauthorisation → 422 target_not_completable', async () => {
  const audit = await preauthorised();
  await gateway.api.void(audit);
  expect((await gateway.api.complete(audit, 10_000)).errors).toEqual(['target_not_completable path/audit']);
});

// catches(completion: only of a preauthorisation)
test('completion, anything but a preauthorisation → 422 target_not_completable', async () => {
  const { api } = gateway;
  const purchase = (await api.purchase()).body.audit;
  const refund = (await api.refund(purchase, 100)).body.audit;
  const standaloneRefund = (await api.standaloneRefund()).body.audit;
  const completion = (await api.complete(await preauthorised(), 10_000)).body.audit;
  const voiding = (await api.void((await api.purchase()).body.audit)).body.audit;
  for (const audit of [purchase, refund, standaloneRefund, completion, voiding]) {
    const { status, errors } = await api.complete(audit, 100);
    expect([status, errors]).toEqual([422, ['target_not_completable path/audit']]);
  }
});

test('completion, an unknown audit → 404', async () => {
  const { status, errors } = await gateway.api.complete(2_147_483_647, 100);
  expect([status, errors]).toEqual([404, ['transaction_not_found path/audit']]);
});

// catches(target: of the merchant that the request names)
test('completion, by another merchant of the same user → 404', async () => {
  const audit = await preauthorised({ merchant: 1 });
  const { status, code } = await gateway.api.complete(audit, 10_000, { merchant: 2 });
  expect([status, code]).toEqual([404, 'transaction_not_found']);
});

test('completion, refused → no audit was used: the search finds nothing under its correlation ID', async () => {
  const audit = await preauthorised();
  await gateway.api.complete(audit, 10_001, { correlationId: 'refused-completion' });
  expect((await gateway.api.search('refused-completion')).body).toEqual({ results: [] });
  const retried = await gateway.api.complete(audit, 10_000, { correlationId: 'refused-completion' });
  expect(retried.status).toBe(201);
});

test('completions → the acquirer has the same books', () => expectBooksToAgree(gateway));
