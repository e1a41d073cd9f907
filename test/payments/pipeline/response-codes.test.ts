// The acquirer's response codes, and the status that each of them leads to.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectBooksToAgree } from '../../../testkit/books-agree.js';
import { expectEach } from '../../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { cardAnsweredWith } from '../../../testkit/test-cards.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const CODES = Array.from({ length: 100 }, (_, code) => String(code).padStart(2, '0'));
const APPROVALS = ['00', '08', '10', '11', '16', '77'];

function expectedOf(code: string): [gatewayStatus: number, transactionStatus: string] {
  if (APPROVALS.includes(code)) return [0, 'approved'];
  return code === '96' ? [3, 'error'] : [0, 'declined'];
}

test('the test card of a response code has the code in its number', () =>
  expectEach(
    [
      ['05', '4100000000000050'],
      ['51', '4100000000000514'],
      ['96', '4100000000000969'],
    ],
    ([code, pan]) => {
      expect(cardAnsweredWith(code)).toBe(pan);
    },
  ));

test('purchase, answered with any response code → the status that goes with it', () =>
  expectEach(CODES, async (code) => {
    const { status, body } = await gateway.api.purchase({ pan: cardAnsweredWith(code) });
    expect(status).toBe(201);
    const { gateway_status_code, transaction_status_code, acquirer } = body.status;
    expect([gateway_status_code, transaction_status_code]).toEqual(expectedOf(code));
    expect(acquirer.response_code).toBe(code);
    expect(acquirer.response_message).not.toBe('');
    expect('authorisation_code' in acquirer).toBe(transaction_status_code === 'approved');
    expect('settlement_date' in acquirer).toBe(transaction_status_code === 'approved');
    expect('refund' in body._links).toBe(transaction_status_code === 'approved');
    expect((await gateway.api.lookUp(body.audit)).body.status).toEqual(body.status);
  }));

const ADVICE = 'GATEWAY.RESPONSE.KVP.DECLINE_ADVICE';

test('a declined card → its look-up says what to tell the payer; nothing else does', async () => {
  const advised = async (audit: number) => (await gateway.api.lookUp(audit)).body.kvps[ADVICE];
  await expectEach(
    [
      ['41', 'do_not_retry'],
      ['57', 'do_not_retry'],
      ['14', 'fix_details'],
      ['54', 'fix_details'],
      ['01', 'contact_bank'],
      ['91', 'try_again_later'],
      ['05', 'try_another_card'],
      ['51', 'try_another_card'],
      // Of which nothing is known.
      ['99', 'try_another_card'],
      ['00', undefined],
      ['96', undefined],
    ] as const,
    async ([code, advice]) => {
      const { body } = await gateway.api.purchase({ pan: cardAnsweredWith(code) });
      expect(await advised(body.audit)).toBe(advice);
    },
  );
  const { body } = await gateway.api.purchase({ pan: cardAnsweredWith('65') });
  expect((await gateway.api.lookUp(body.audit)).body.kvps).toMatchObject({
    [ADVICE]: 'try_another_card',
    'GATEWAY.RESPONSE.KVP.AUTHENTICATION_REQUIRED': 'true',
  });
  const held = await gateway.api.preauthorise({ pan: cardAnsweredWith('51') });
  expect(await advised(held.body.audit)).toBe('try_another_card');
  const refund = await gateway.api.standaloneRefund({ pan: cardAnsweredWith('51') });
  expect(await advised(refund.body.audit)).toBeUndefined();
});

test.each(['preauthorise', 'standaloneRefund'] as const)(
  '%s, each kind of response code → the same status as a purchase',
  async (operation) => {
    for (const code of [...APPROVALS, '05', '51', '54', '96']) {
      const { body } = await gateway.api[operation]({ pan: cardAnsweredWith(code) });
      const { gateway_status_code, transaction_status_code } = body.status;
      expect([code, gateway_status_code, transaction_status_code]).toEqual([code, ...expectedOf(code)]);
    }
  },
);

test('purchase, answered with 96 → error, and it can be neither refunded nor voided', async () => {
  const { body } = await gateway.api.purchase({ pan: cardAnsweredWith('96') });
  expect(Object.keys(body._links)).toEqual(['self']);
  expect((await gateway.api.refund(body.audit, 1)).code).toBe('target_not_refundable');
  expect((await gateway.api.void(body.audit)).code).toBe('target_not_voidable');
});

test.each(APPROVALS)(
  'completion, refund and void of what was approved with %s → approved with it too',
  async (code) => {
    const pan = cardAnsweredWith(code);
    const purchase = (await gateway.api.purchase({ pan })).body.audit;
    const refund = await gateway.api.refund(purchase, 100);
    const voiding = await gateway.api.void(refund.body.audit);
    const preauthorisation = (await gateway.api.preauthorise({ pan })).body.audit;
    const completion = await gateway.api.complete(preauthorisation, 100);
    for (const { body } of [refund, voiding, completion]) {
      expect(body.status).toMatchObject({
        transaction_status_code: 'approved',
        acquirer: { response_code: code },
      });
    }
  },
);

test.each(['0120', '2001'])(
  'purchase, a card that expired in January 2020, written %s → declined with 54',
  async (expiry) => {
    const { status, body } = await gateway.api.purchase({ expiry });
    expect(status).toBe(201);
    expect(body.status).toMatchObject({
      gateway_status_code: 0,
      transaction_status_code: 'declined',
      acquirer: { response_code: '54' },
    });
  },
);

test('purchase, a good card with its expiry written as YYMM → approved', async () => {
  const { body } = await gateway.api.purchase({ expiry: '3912' });
  expect(body.status.transaction_status_code).toBe('approved');
});

test('every response code → the acquirer has the same books', () => expectBooksToAgree(gateway));
