// The card of a payment: card number, expiry date and CVV, and how a mistake in them is refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { luhnDigit } from '../../src/values/card.js';
import { paymentBody } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ABSENT, bodyWith, refusedWithoutTrace } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

const CARD = 'transaction.payment_method.creditcard';
const PAN = `${CARD}.pan`;
const EXPIRY = `${CARD}.expiry_date`;
const CVV = `${CARD}.cvv`;

/** A valid number of this length that belongs to no scheme. */
const numberOf = (length: number) => {
  const without = '7'.padEnd(length - 1, '0');
  return without + luhnDigit(without);
};
const VIRTUAL_PAN = '9111111111111110';

const purchase = (path: string, value: unknown) =>
  gateway.api.post('/transactions/purchase', bodyWith(path, value));

describe('pan', () => {
  test('12 to 19 digits with a valid check digit → accepted', () =>
    expectEach([12, 13, 14, 15, 16, 17, 18, 19], async (length) => {
      const pan = numberOf(length);
      const answer = await purchase(PAN, pan);
      expect(answer.status).toBe(201);
      const found = await gateway.api.lookUp(answer.body.audit);
      expect(found.body.transaction.payment_method).toEqual({
        creditcard: { pan: `${pan.slice(0, 6)}${'*'.repeat(length - 10)}${pan.slice(-4)}`, type: '' },
      });
    }));

  test('a card of each scheme → shown masked, with its type', () =>
    expectEach(
      [
        ['4111111111111111', '411111******1111', 'visa'],
        ['5555555555554444', '555555******4444', 'mastercard'],
        ['2223003122003222', '222300******3222', 'mastercard'],
        ['378282246310005', '378282*****0005', 'amex'],
        ['30569309025904', '305693****5904', 'diners'],
        ['6011111111111117', '601111******1117', 'discover'],
        ['3530111333300000', '353011******0000', 'jcb'],
        ['6250946000000016', '625094******0016', 'unionpay'],
        ['5602540000000006', '560254******0006', 'eftpos'],
      ],
      async ([pan, mask, type]) => {
        const { body } = await purchase(PAN, pan);
        const { transaction } = (await gateway.api.lookUp(body.audit)).body;
        expect(transaction.payment_method.creditcard).toEqual({ pan: mask, type });
      },
    ));

  test('another length, a wrong check digit, or no digits → 422', () =>
    expectEach(
      [
        ['4111111111111112', 'card_number_invalid'],
        ['4111111111111121', 'card_number_invalid'],
        [numberOf(11), 'field_format'],
        [numberOf(20), 'field_format'],
        ['4111 1111 1111 1111', 'field_format'],
        ['4111-1111-1111-1111', 'field_format'],
        [' 4111111111111111', 'field_format'],
        ['4111111111111111\n', 'field_format'],
        ['４１１１１１１１１１１１１１１１', 'field_format'],
        ['411111******1111', 'field_format'],
        ['', 'field_format'],
        [4111111111111111, 'field_type'],
        [null, 'field_type'],
        [ABSENT, 'field_missing'],
      ],
      ([value, code]) =>
        refusedWithoutTrace(gateway, () => purchase(PAN, value), [
          `${code} body/transaction/payment_method/creditcard/pan`,
        ]),
    ));

  test('unknown virtual PAN → 422 token_not_usable', () =>
    refusedWithoutTrace(gateway, () => purchase(PAN, VIRTUAL_PAN), [
      'token_not_usable body/transaction/payment_method/creditcard/pan',
    ]));
});

describe('expiry_date', () => {
  test('MMYY or YYMM → accepted', () =>
    expectEach(
      [
        ['0139', 'approved'],
        ['1239', 'approved'],
        ['1299', 'approved'],
        ['3901', 'approved'],
        ['3912', 'approved'],
        ['9912', 'approved'],
      ],
      async ([expiry, status]) => {
        const answer = await purchase(EXPIRY, expiry);
        expect(answer.body.status.transaction_status_code).toBe(status);
      },
    ));

  test('a past expiry date → a valid request, declined by the acquirer with 54', () =>
    expectEach(['0120', '1220', '0112', '1301', '2012'], async (expiry) => {
      const answer = await purchase(EXPIRY, expiry);
      expect(answer.status).toBe(201);
      expect(answer.body.status).toMatchObject({
        gateway_status_code: 0,
        transaction_status_code: 'declined',
        acquirer: { response_code: '54' },
      });
    }));

  test('an invalid expiry date, with a card number → 422', () =>
    expectEach(
      [
        ['1300', 'field_format'],
        ['0013', 'field_format'],
        ['0000', 'field_format'],
        ['1313', 'field_format'],
        ['9999', 'field_format'],
        ['123', 'field_format'],
        ['12345', 'field_format'],
        ['12/39', 'field_format'],
        ['1 39', 'field_format'],
        ['', 'field_format'],
        [1239, 'field_type'],
        [null, 'field_type'],
        [ABSENT, 'field_missing'],
      ],
      ([value, code]) =>
        refusedWithoutTrace(gateway, () => purchase(EXPIRY, value), [
          `${code} body/transaction/payment_method/creditcard/expiry_date`,
        ]),
    ));

  test('anything, with a virtual PAN → ignored: only the virtual PAN is reported', () =>
    expectEach([ABSENT, '1239', '0000', 'abcd', 1239, null], (expiry) =>
      refusedWithoutTrace(
        gateway,
        () =>
          gateway.api.post(
            '/transactions/purchase',
            bodyWith(EXPIRY, expiry, paymentBody({ pan: VIRTUAL_PAN })),
          ),
        ['token_not_usable body/transaction/payment_method/creditcard/pan'],
      ),
    ));
});

describe('cvv', () => {
  test('three or four digits, or none → accepted', () =>
    expectEach(['000', '123', '1234', ABSENT], async (cvv) => {
      expect((await purchase(CVV, cvv)).status).toBe(201);
    }));

  test('anything else → 422', () =>
    expectEach(
      [
        ['12', 'field_format'],
        ['12345', 'field_format'],
        ['12a', 'field_format'],
        [' 123', 'field_format'],
        ['', 'field_format'],
        [123, 'field_type'],
        [null, 'field_type'],
      ],
      ([value, code]) =>
        refusedWithoutTrace(gateway, () => purchase(CVV, value), [
          `${code} body/transaction/payment_method/creditcard/cvv`,
        ]),
    ));
});
