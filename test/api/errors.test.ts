// Error answers: each code with its status and its place, and all problems of a request together.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROBLEMS, type ProblemCode } from '../../src/api/problems.js';
import { type Answer, CARD, paymentBody } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { bodyWith, storedRows, withoutChance } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

const CVV = '7391';
const SECRET_BODY = paymentBody({ cvv: CVV });

function expectError(answer: Answer, code: ProblemCode, location: string[]): void {
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.status).toBe(PROBLEMS[code].status);
  expect(answer.body.errors).toEqual([
    { error_code: code, error_message: expect.stringMatching(/^[A-Z].*\.$/), location },
  ]);
}

/** In whatever order. */
function expectErrors(answer: Answer, errors: string[]): void {
  expect(answer.status).toBe(422);
  expect(answer.errors.toSorted()).toEqual(errors.toSorted());
}

/** A decided purchase of 10000 cents, and a preauthorisation of as much. */
async function targets(): Promise<{ purchase: number; preauthorisation: number }> {
  const [purchase, preauthorisation] = await Promise.all([
    gateway.api.purchase(),
    gateway.api.preauthorise(),
  ]);
  return { purchase: purchase.body.audit, preauthorisation: preauthorisation.body.audit };
}

const AMOUNT = ['body', 'transaction', 'amount_details', 'total_amount'];
const REFERENCE = ['body', 'transaction', 'reference'];

describe('every error code of the transaction operations has its status and its location', () => {
  const cases: [ProblemCode, string[], () => Promise<Answer>][] = [
    ['malformed_json', ['body'], () => gateway.api.call('/transactions/purchase', { raw: '{"merchant":' })],
    [
      'unauthenticated',
      ['header', 'Authorization'],
      () => gateway.as({ username: 'nobody', password: 'x' }).purchase(),
    ],
    ['merchant_not_permitted', ['body', 'merchant', 'id'], () => gateway.api.purchase({ merchant: 4 })],
    ['merchant_not_permitted', ['query', 'merchant_id'], () => gateway.api.search('some-id', 4)],
    ['route_not_found', [], () => gateway.api.get('/nowhere')],
    ['transaction_not_found', ['path', 'audit'], () => gateway.api.lookUp(2_147_483_647)],
    ['transaction_not_found', ['path', 'audit'], () => gateway.api.refund(2_147_483_647, 1)],
    ['method_not_allowed', [], () => gateway.api.call('/transactions/1', { method: 'DELETE' })],
    [
      'correlation_id_already_used',
      ['header', 'X-Correlation-Id'],
      async () => {
        await gateway.api.purchase({ correlationId: 'used' });
        return gateway.api.purchase({ correlationId: 'used' });
      },
    ],
    ['body_too_large', [], () => gateway.api.call('/transactions/purchase', { raw: ' '.repeat(131_073) })],
    [
      'unsupported_media_type',
      [],
      () =>
        gateway.api.call('/transactions/purchase', { raw: 'a=1', headers: { 'content-type': 'text/plain' } }),
    ],
    [
      'field_missing',
      ['body', 'merchant'],
      () => gateway.api.post('/transactions/1/void', bodyWith('merchant', undefined)),
    ],
    [
      'field_type',
      REFERENCE,
      () => gateway.api.post('/transactions/1/void', bodyWith('transaction.reference', 5)),
    ],
    ['field_too_short', REFERENCE, () => gateway.api.purchase({ reference: '' })],
    ['field_too_long', REFERENCE, () => gateway.api.purchase({ reference: 'r'.repeat(129) })],
    ['field_out_of_range', ['body', 'merchant', 'id'], () => gateway.api.purchase({ merchant: 0 })],
    ['field_format', AMOUNT, () => gateway.api.purchase({ amount: '1.00' })],
    ['field_charset', REFERENCE, () => gateway.api.purchase({ reference: 'é' })],
    [
      'card_number_invalid',
      ['body', 'transaction', 'payment_method', 'creditcard', 'pan'],
      () => gateway.api.purchase({ pan: '4111111111111112' }),
    ],
    ['card_number_misplaced', REFERENCE, () => gateway.api.purchase({ reference: CARD })],
    [
      'currency_unknown',
      ['body', 'transaction', 'amount_details', 'currency'],
      () => gateway.api.purchase({ currency: 'ZZZ' }),
    ],
    [
      'target_not_completable',
      ['path', 'audit'],
      async () => gateway.api.complete((await targets()).purchase, 1),
    ],
    [
      'target_not_refundable',
      ['path', 'audit'],
      async () => gateway.api.refund((await targets()).preauthorisation, 1),
    ],
    [
      'target_not_voidable',
      ['path', 'audit'],
      async () => {
        const { body } = await gateway.api.void((await targets()).purchase);
        return gateway.api.void(body.audit);
      },
    ],
    [
      'completion_exceeds_preauthorisation',
      AMOUNT,
      async () => gateway.api.complete((await targets()).preauthorisation, 10_001),
    ],
    ['refund_exceeds_original', AMOUNT, async () => gateway.api.refund((await targets()).purchase, 10_001)],
  ];
  test.each(cases)('%s at %j', async (code, location, provoke) => {
    expectError(await provoke(), code, location);
  });

  test.each([
    ['acquirer_answer_unreadable', '4200000000000059', '20000'],
    ['acquirer_timeout', '4200000000000034', '300'],
  ] as const)(
    '%s → Location and _links name the transaction, which the search finds',
    async (code, pan, deadline) => {
      const { api } = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: deadline } });
      const answer = await api.purchase({ pan, correlationId: code });
      expectError(answer, code, []);
      const [found] = (await api.search(code)).body.results;
      expect(answer.headers.get('location')).toBe(`/v1/transactions/${found.audit}`);
      expect(answer.body._links).toEqual({ transaction: { href: `/v1/transactions/${found.audit}` } });
    },
  );

  test('internal_error: the table is gone → 500 without details, and a log line with them', async () => {
    const broken = await testGateway();
    await broken.sql('ALTER TABLE transaction RENAME TO elsewhere');
    const answer = await broken.api.post('/transactions/purchase', SECRET_BODY, 'breaks');
    expectError(answer, 'internal_error', []);
    expect(answer.headers.get('x-correlation-id')).toBe('breaks');
    expect(answer.text).not.toMatch(/relation|elsewhere|node_modules|\bat /);
    const line = broken
      .logged()
      .split('\n')
      .find((text) => text.includes('internal error'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ level: 50, correlation_id: 'breaks', code: '42P01' });
    const logged = withoutChance(broken.logged());
    for (const secret of [CARD, CVV, broken.owner.password]) expect(logged).not.toContain(secret);
    await broken.sql('ALTER TABLE elsewhere RENAME TO transaction');
  });
});

describe('all problems of a request are reported together', () => {
  test('header, path and body of a refund → all of them, each at its exact location', async () => {
    const before = await storedRows(gateway);
    const answer = await gateway.api.call('/transactions/0/refund', {
      correlationId: 'not well formed',
      body: {
        merchant: { id: '1' },
        kvps: { fine: 'x', 'not-fine': 'x', wrong: 7, 'quo.te': '"' },
        transaction: { reference: '', amount_details: { total_amount: 100, currency: 'aud' } },
      },
    });
    expectErrors(answer, [
      'field_charset header/X-Correlation-Id',
      'field_out_of_range path/audit',
      'field_type body/merchant/id',
      'field_charset body/kvps/not-fine',
      'field_type body/kvps/wrong',
      'field_charset body/kvps/quo.te',
      'field_too_short body/transaction/reference',
      'field_type body/transaction/amount_details/total_amount',
      'field_format body/transaction/amount_details/currency',
    ]);
    expect(await storedRows(gateway)).toBe(before);
  });

  test('header and query of a search → all of them', async () => {
    const answer = await gateway.api.call('/transactions?merchant_id=1.0&correlation_id_lookup=', {
      correlationId: 'x'.repeat(129),
    });
    expect(answer.errors).toEqual([
      'field_too_long header/X-Correlation-Id',
      'field_type query/merchant_id',
      'field_too_short query/correlation_id_lookup',
    ]);
  });

  test('header and path of a lookup → both', async () => {
    const answer = await gateway.api.call('/transactions/abc', { correlationId: '(' });
    expect(answer.errors).toEqual(['field_charset header/X-Correlation-Id', 'field_type path/audit']);
  });

  test('header of a request without a body → both', async () => {
    const answer = await gateway.api.call('/transactions/purchase', { method: 'POST', correlationId: null });
    expect(answer.errors).toEqual(['field_missing header/X-Correlation-Id', 'field_missing body']);
  });

  test('every field of a purchase wrong at once, and some in several ways → each is named', async () => {
    const answer = await gateway.api.post('/transactions/purchase', {
      merchant: { id: 2_147_483_648 },
      kvps: { a: null, b: `${CARD} \u00e9` },
      transaction: {
        reference: 'é'.repeat(129),
        amount_details: { total_amount: '0', currency: 'ZZZ' },
        payment_method: { creditcard: { pan: '4111111111111112', expiry_date: '1300', cvv: '12' } },
      },
    });
    expectErrors(answer, [
      'field_out_of_range body/merchant/id',
      'field_type body/kvps/a',
      'field_charset body/kvps/b',
      'card_number_misplaced body/kvps/b',
      'field_too_long body/transaction/reference',
      'field_charset body/transaction/reference',
      'field_format body/transaction/amount_details/total_amount',
      'currency_unknown body/transaction/amount_details/currency',
      'card_number_invalid body/transaction/payment_method/creditcard/pan',
      'field_format body/transaction/payment_method/creditcard/expiry_date',
      'field_format body/transaction/payment_method/creditcard/cvv',
    ]);
  });

  test('a hundred bad KVPs → a hundred problems, and those after them', async () => {
    const kvps = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`key${index}`, index]));
    const answer = await gateway.api.post('/transactions/purchase', {
      ...paymentBody({ reference: '' }),
      kvps,
    });
    expect(answer.errors).toEqual([
      ...Object.keys(kvps).map((key) => `field_type body/kvps/${key}`),
      'field_too_short body/transaction/reference',
    ]);
  });
});
