// The fields of a payment apart from its card: what each may hold, and how a mistake in it is refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Json, paymentBody } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ABSENT, bodyWith, PAYMENTS, refusedWithoutTrace, TARGETED } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

const REFERENCE = 'transaction.reference';
const AMOUNT = 'transaction.amount_details.total_amount';
const CURRENCY = 'transaction.amount_details.currency';
const CARD = 'transaction.payment_method.creditcard';

const purchase = (path: string, value: unknown) =>
  gateway.api.post('/transactions/purchase', bodyWith(path, value));

describe('reference', () => {
  test('1 to 128 characters → accepted, and shown by the lookup', () =>
    expectEach([1, 2, 127, 128], async (length) => {
      const answer = await purchase(REFERENCE, 'r'.repeat(length));
      expect(answer.status).toBe(201);
      const found = await gateway.api.lookUp(answer.body.audit);
      expect(found.body.transaction.reference).toBe('r'.repeat(length));
    }));

  test('absent, of another length, or not a string → 422', () =>
    expectEach(
      [
        ['', 'field_too_short'],
        ['r'.repeat(129), 'field_too_long'],
        [ABSENT, 'field_missing'],
        [null, 'field_type'],
        [1, 'field_type'],
        [['r'], 'field_type'],
        [{ r: 1 }, 'field_type'],
        [true, 'field_type'],
      ],
      ([value, code]) =>
        refusedWithoutTrace(gateway, () => purchase(REFERENCE, value), [
          `${code} body/transaction/reference`,
        ]),
    ));

  test.each(TARGETED)('of a %s is checked like that of a purchase', (operation) =>
    refusedWithoutTrace(
      gateway,
      () => gateway.api.post(`/transactions/1/${operation}`, bodyWith(REFERENCE, 'r'.repeat(129))),
      ['field_too_long body/transaction/reference'],
    ),
  );
});

describe('total_amount', () => {
  test('1 to 12 digits → accepted, and shown by the lookup', () =>
    expectEach(['1', '10', '999999999999'], async (amount) => {
      const answer = await purchase(AMOUNT, amount);
      expect(answer.status).toBe(201);
      const found = await gateway.api.lookUp(answer.body.audit);
      expect(found.body.transaction.amount_details).toEqual({ total_amount: amount, currency: 'AUD' });
    }));

  test('anything else → 422', () =>
    expectEach(
      [
        ['1000000000000', 'field_format'],
        ['0', 'field_format'],
        ['-1', 'field_format'],
        ['+1', 'field_format'],
        ['1.00', 'field_format'],
        ['1,00', 'field_format'],
        ['1e3', 'field_format'],
        ['0x10', 'field_format'],
        ['01', 'field_format'],
        [' 1', 'field_format'],
        ['1 ', 'field_format'],
        ['1\n', 'field_format'],
        ['', 'field_format'],
        ['١', 'field_format'],
        [ABSENT, 'field_missing'],
        [100, 'field_type'],
        [null, 'field_type'],
      ],
      ([value, code]) =>
        refusedWithoutTrace(gateway, () => purchase(AMOUNT, value), [
          `${code} body/transaction/amount_details/total_amount`,
        ]),
    ));

  test.each(['completion', 'refund'])('of a %s is checked like that of a purchase', (operation) =>
    refusedWithoutTrace(
      gateway,
      () => gateway.api.post(`/transactions/1/${operation}`, bodyWith(AMOUNT, '0')),
      ['field_format body/transaction/amount_details/total_amount'],
    ),
  );
});

describe('currency', () => {
  test('a current currency → accepted', () =>
    expectEach(['AUD', 'NZD', 'USD', 'EUR', 'JPY', 'KWD'], async (currency) => {
      const answer = await purchase(CURRENCY, currency);
      expect(answer.status).toBe(201);
      const found = await gateway.api.lookUp(answer.body.audit);
      expect(found.body.transaction.amount_details.currency).toBe(currency);
    }));

  test('a currency that is not used for payments, or an unknown code → 422', () =>
    expectEach(
      [
        ['ZZZ', 'currency_unknown'],
        ['XXX', 'currency_unknown'],
        ['DEM', 'currency_unknown'],
        ['aud', 'field_format'],
        ['Aud', 'field_format'],
        ['AU', 'field_format'],
        ['AUDD', 'field_format'],
        ['036', 'field_format'],
        ['', 'field_format'],
        ['AUD\n', 'field_format'],
        [36, 'field_type'],
        [null, 'field_type'],
        [ABSENT, 'field_missing'],
      ],
      ([value, code]) =>
        refusedWithoutTrace(gateway, () => purchase(CURRENCY, value), [
          `${code} body/transaction/amount_details/currency`,
        ]),
    ));
});

describe('merchant.id', () => {
  test('anything but a positive four-byte integer → 422', () =>
    expectEach(
      [
        [0, 'field_out_of_range'],
        [-1, 'field_out_of_range'],
        [2_147_483_648, 'field_out_of_range'],
        [1e300, 'field_out_of_range'],
        ['1', 'field_type'],
        ['', 'field_type'],
        [1.5, 'field_type'],
        [true, 'field_type'],
        [null, 'field_type'],
        [[1], 'field_type'],
        [ABSENT, 'field_missing'],
      ],
      ([value, code]) =>
        refusedWithoutTrace(gateway, () => purchase('merchant.id', value), [`${code} body/merchant/id`]),
    ));

  test.each([1, 2_147_483_647])('%i is within the range → not 422', async (id) => {
    expect((await purchase('merchant.id', id)).status).not.toBe(422);
  });

  test.each(['1e400', '-1e400'])('%s, too large for a number → 422', async (literal) => {
    const raw = JSON.stringify(paymentBody()).replace('"id":1', `"id":${literal}`);
    const answer = await gateway.api.call('/transactions/purchase', { raw });
    expect({ status: answer.status, errors: answer.errors }).toEqual({
      status: 422,
      errors: ['field_type body/merchant/id'],
    });
  });
});

describe('objects of the body', () => {
  test.each([
    ['merchant', 'body/merchant'],
    ['transaction', 'body/transaction'],
    ['transaction.amount_details', 'body/transaction/amount_details'],
    ['transaction.payment_method', 'body/transaction/payment_method'],
    [CARD, 'body/transaction/payment_method/creditcard'],
  ])('%s absent → field_missing; null, text, number or array → field_type', async (path, location) => {
    await refusedWithoutTrace(gateway, () => purchase(path, ABSENT), [`field_missing ${location}`]);
    for (const value of [null, 'text', 1, [1], true]) {
      await refusedWithoutTrace(gateway, () => purchase(path, value), [`field_type ${location}`]);
    }
  });

  test.each(PAYMENTS)('%s of an empty object → lists the missing fields', (operation) =>
    refusedWithoutTrace(gateway, () => gateway.api.post(`/transactions/${operation}`, {}), [
      'field_missing body/merchant',
      'field_missing body/transaction',
    ]),
  );

  test.each([
    ['completion', ['reference', 'amount_details']],
    ['refund', ['reference', 'amount_details']],
    ['void', ['reference']],
  ])('%s of an empty transaction → %j missing', (operation, missing) =>
    refusedWithoutTrace(
      gateway,
      () => gateway.api.post(`/transactions/1/${operation}`, { merchant: { id: 1 }, transaction: {} }),
      missing.map((name) => `field_missing body/transaction/${name}`),
    ),
  );

  test('unknown members anywhere, and unknown query parameters → ignored', async () => {
    const body = paymentBody();
    Object.assign(body, { surprise: 1, [`long${'g'.repeat(500)}`]: { deep: [null] } });
    Object.assign(body.merchant, { name: 'Ours' });
    Object.assign(body.transaction, { preauthorisation_code: 'PA1', note: 'é' });
    Object.assign(body.transaction.amount_details, { tip: 1 });
    Object.assign(body.transaction.payment_method.creditcard, { holder: 'A "Customer"' });
    const answer = await gateway.api.post('/transactions/purchase?surprise=1&merchant_id=abc', body);
    expect(answer.status).toBe(201);
    expect((await gateway.api.get(`/transactions/${answer.body.audit}?surprise=%00`)).status).toBe(200);
  });

  test('completion with a preauthorisation code → the code is ignored', async () => {
    const { body } = await gateway.api.preauthorise();
    const answer = await gateway.api.post(`/transactions/${body.audit}/completion`, {
      merchant: { id: 1 },
      transaction: {
        reference: 'order-1',
        preauthorisation_code: 'of another one',
        amount_details: { total_amount: '10000', currency: 'AUD' },
      },
    });
    expect(answer.body.status.transaction_status_code).toBe('approved');
  });
});

describe('the message of an error → says what the field must look like', () => {
  const said = async (path: string, value: unknown) =>
    (await purchase(path, value)).body.errors.map(({ error_message: message }: Json) => message);

  test.each([
    [
      AMOUNT,
      '19.95',
      'This field must be cents as digits: 1 to 12 of them, without a leading zero, such as 1995.',
    ],
    [
      AMOUNT,
      1995,
      'This field must be of type string: cents as digits: 1 to 12 of them, without a leading zero, such as 1995.',
    ],
    [`${CARD}.expiry_date`, '12/30', 'This field must be MMYY: month and year as four digits, such as 1230.'],
    [`${CARD}.expiry_date`, '1313', 'This field must be MMYY: month and year as four digits, such as 1230.'],
    [`${CARD}.cvv`, '12', 'This field must be 3 to 4 digits.'],
    [`${CARD}.pan`, '4111 1111 1111 1111', 'This field must be 12 to 19 digits.'],
    [CURRENCY, 'aud', 'This field must be a currency of ISO 4217: three upper-case letters, such as AUD.'],
    [
      REFERENCE,
      'señor',
      'This field takes only letters, digits, spaces and ASCII punctuation other than ", \' and \\.',
    ],
  ])('%s: %j → %s', async (path, value, message) => {
    expect(await said(path, value)).toEqual([message]);
  });

  test.each([
    ['last_four=12', 'This field must be exactly 4 digits.'],
    [
      'status=done',
      'This field must be one of "unknown", "approved", "declined", "pending", "error", "voided".',
    ],
    ['settlement_date=2026-02-30', 'This field must be a day of the calendar, such as 2026-11-15.'],
  ])('a list with %s → %s', async (query, message) => {
    const { body } = await gateway.api.get(`/transactions/history?${query}`);
    expect(body.errors.map(({ error_message: text }: Json) => text)).toEqual([message]);
  });
});
