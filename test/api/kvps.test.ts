// KVPs: which keys and values are accepted, and what comes back.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CARD, paymentBody, TEST_MODE } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { bodyWith, storedRows } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

const PREFIX = 'GATEWAY.REQUEST.KVP.';

const purchase = (kvps: unknown) => gateway.api.post('/transactions/purchase', bodyWith('kvps', kvps));

/** Only those that the request brought, as a lookup shows them. */
async function lookedUpKvps(audit: number): Promise<Record<string, string>> {
  const { body } = await gateway.api.lookUp(audit);
  return Object.fromEntries(Object.entries<string>(body.kvps).filter(([key]) => key.startsWith(PREFIX)));
}

async function expectEcho(kvps: Record<string, string>, echoed: Record<string, string>): Promise<void> {
  const answer = await purchase(kvps);
  expect(answer.status).toBe(201);
  expect(answer.body.kvps).toEqual({ ...TEST_MODE, ...echoed });
  expect(await lookedUpKvps(answer.body.audit)).toEqual(echoed);
}

async function expectRefusal(kvps: unknown, errors: string[]): Promise<void> {
  const before = await storedRows(gateway);
  const answer = await purchase(kvps);
  expect({ status: answer.status, errors: answer.errors }).toEqual({ status: 422, errors });
  expect(await storedRows(gateway)).toBe(before);
}

const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, `value ${index}`]));

describe('kvps', () => {
  test('absent or empty → none are returned', async () => {
    expect((await gateway.api.purchase()).body.kvps).toEqual(TEST_MODE);
    await expectEcho({}, {});
  });

  test.each([1, 100])('%i entries → all are returned with the prefix', async (count) => {
    const sent = entries(count);
    const echoed = Object.fromEntries(Object.entries(sent).map(([key, value]) => [PREFIX + key, value]));
    await expectEcho(sent, echoed);
  });

  test('100 entries of full length, with and without the prefix → all are returned', async () => {
    const sent = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [
        `${index % 2 === 0 ? PREFIX : ''}${String(index).padStart(64, 'k')}`,
        'v'.repeat(1024),
      ]),
    );
    const echoed = Object.fromEntries(
      Object.entries(sent).map(([key, value]) => [PREFIX + key.replace(PREFIX, ''), value]),
    );
    await expectEcho(sent, echoed);
  });

  test('101 entries → 422 field_too_long', () => expectRefusal(entries(101), ['field_too_long body/kvps']));

  test.each<[string, (index: number) => [string, unknown]]>([
    ['keys that are none', (index) => [`-${index}`, 'v']],
    ['card numbers as keys', (index) => [`${CARD} ${index}`, 'v']],
    ['values that are none', (index) => [`key${index}`, 1]],
    ['neither keys nor values', (index) => [`-${index}`, {}]],
  ])('2,000 entries with %s → refused for their number, and nothing is stored', (_, entry) =>
    expectRefusal(Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => entry(index))), [
      'field_too_long body/kvps',
    ]),
  );

  test('2,000 entries and another wrong field → both are named', async () => {
    const body = { ...paymentBody({ currency: 'aud' }), kvps: entries(2_000) };
    const answer = await gateway.api.post('/transactions/purchase', body);
    expect(answer.errors.toSorted()).toEqual([
      'field_format body/transaction/amount_details/currency',
      'field_too_long body/kvps',
    ]);
  });

  test('anything but an object → 422 field_type', () =>
    expectEach([[null], ['text'], [1], [true], [[]], [['a', 'b']]], ([kvps]) =>
      expectRefusal(kvps, ['field_type body/kvps']),
    ));

  test('a completion, a refund and a void bring KVPs of their own', async () => {
    const send = (path: string, key: string) =>
      gateway.api.post(path, { ...paymentBody(), kvps: { [key]: 'of its own' } });
    const preauthorisation = await send('/transactions/preauthorisation', 'hold');
    const completion = await send(`/transactions/${preauthorisation.body.audit}/completion`, 'take');
    const refund = await send(`/transactions/${completion.body.audit}/refund`, 'give_back');
    const voided = await send(`/transactions/${refund.body.audit}/void`, 'undo');
    for (const [answer, key] of [
      [preauthorisation, 'hold'],
      [completion, 'take'],
      [refund, 'give_back'],
      [voided, 'undo'],
    ] as const) {
      expect(answer.body.kvps).toEqual({ ...TEST_MODE, [PREFIX + key]: 'of its own' });
      expect(await lookedUpKvps(answer.body.audit)).toEqual({ [PREFIX + key]: 'of its own' });
    }
  });
});

describe('KVP keys', () => {
  test('letters, digits, periods and underscores → returned with the prefix', () =>
    expectEach(['k', 'k'.repeat(64), 'a.b_C.9', '.', '_', '1', '007'], (key) =>
      expectEcho({ [key]: 'value' }, { [PREFIX + key]: 'value' }),
    ));

  test.each(['k', 'k'.repeat(64)])('%s with the prefix → returned with the prefix once', (key) =>
    expectEcho({ [PREFIX + key]: 'value' }, { [PREFIX + key]: 'value' }),
  );

  test('with the prefix twice → the same key, returned with the prefix once', () =>
    expectEcho({ [`${PREFIX}${PREFIX}key`]: 'value' }, { [`${PREFIX}key`]: 'value' }));

  test.each([
    ['without and with the prefix', 'key', `${PREFIX}key`],
    ['with the prefix once and twice', `${PREFIX}key`, `${PREFIX}${PREFIX}key`],
  ])('one key in two spellings, %s → 422 at the second', (_, first, second) =>
    expectRefusal({ [first]: 'value', other: '', [second]: 'value' }, [`field_format body/kvps/${second}`]),
  );

  test('one key in two spellings, the prefixed one first → 422 at the second', () =>
    expectRefusal({ [`${PREFIX}key`]: '', key: '' }, [`field_format body/kvps/${PREFIX}key`]));

  test.each(['completion', 'refund', 'void'])('one key in two spellings of a %s → 422', async (operation) => {
    const { body } = await gateway.api.preauthorise();
    const kvps = { key: 'a', [`${PREFIX}key`]: 'b' };
    const answer = await gateway.api.post(`/transactions/${body.audit}/${operation}`, {
      ...paymentBody(),
      kvps,
    });
    expect([answer.status, answer.errors]).toEqual([422, [`field_format body/kvps/${PREFIX}key`]]);
  });

  test('a name that JavaScript reserves → an ordinary key', () =>
    expectEach(
      ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__', 'prototype'],
      async (key) => {
        const raw = JSON.stringify(paymentBody()).replace('{', `{"kvps":{"${key}":"mine","other":"too"},`);
        const answer = await gateway.api.call('/transactions/purchase', { raw });
        const echoed = [
          [PREFIX + key, 'mine'],
          [`${PREFIX}other`, 'too'],
        ];
        expect(answer.status).toBe(201);
        expect(Object.entries(answer.body.kvps)).toEqual([...echoed, ...Object.entries(TEST_MODE)]);
        expect(Object.entries(await lookedUpKvps(answer.body.audit))).toEqual(echoed);
        expect(({} as Record<string, unknown>)[key]).not.toBe('mine');
      },
    ));

  test('an invalid key → 422 at the key', () =>
    expectEach(
      [
        ['', 'field_too_short'],
        [PREFIX, 'field_too_short'],
        [PREFIX + PREFIX, 'field_too_short'],
        ['k'.repeat(65), 'field_too_long'],
        [PREFIX + 'k'.repeat(65), 'field_too_long'],
        ['a-b', 'field_charset'],
        ['a b', 'field_charset'],
        ['a/b', 'field_charset'],
        ['a~b', 'field_charset'],
        ['é', 'field_charset'],
        ['\u0000', 'field_charset'],
        ['\ud800', 'field_charset'],
      ],
      ([key, code]) => expectRefusal({ [key]: 'value' }, [`${code} body/kvps/${key}`]),
    ));

  test.each(['4111111111111111', 'card.4111111111111111', `${PREFIX}4111_1111_1111_1111`])(
    '%s → 422 card_number_misplaced at the key, without its digits',
    (key) =>
      expectRefusal({ [key]: 'value' }, [`card_number_misplaced body/kvps/${key.replaceAll(/[0-9]/g, '*')}`]),
  );

  test('several bad keys, one with a bad value too → each is named at its own location', () =>
    expectRefusal({ 'a-b': '', 'c-d': 'é', '': '', fine: '' }, [
      'field_charset body/kvps/c-d',
      'field_charset body/kvps/a-b',
      'field_too_short body/kvps/',
    ]));

  test('a key of 100,000 characters → the error repeats only its beginning', () =>
    expectRefusal({ ['k'.repeat(100_000)]: '' }, [`field_too_long body/kvps/${'k'.repeat(128)}...`]));
});

describe('KVP values', () => {
  test('up to 1,024 allowed characters → returned unchanged', () =>
    expectEach(
      [
        ['no character', ''],
        ['a space', ' '],
        ['one character', 'v'],
        ['1024 characters', 'v'.repeat(1024)],
        ['punctuation', '{a: [1, 2]}'],
      ],
      ([_, value]) => expectEcho({ key: value }, { [`${PREFIX}key`]: value }),
    ));

  test('anything else → 422 at the key', () =>
    expectEach(
      [
        ['1025 characters', 'field_too_long', 'v'.repeat(1025)],
        ['a quote', 'field_charset', '"'],
        ['two lines', 'field_charset', 'line\nline'],
        ['a number', 'field_type', 1],
        ['null', 'field_type', null],
        ['a boolean', 'field_type', true],
        ['an array', 'field_type', ['v']],
        ['an object', 'field_type', { v: 'v' }],
      ],
      ([_, code, value]) => expectRefusal({ key: value }, [`${code} body/kvps/key`]),
    ));

  test('bad values under several keys → every one is named', () =>
    expectRefusal({ a: 1, 'b.c': 'é', d: 'fine', __e: 'v'.repeat(1025) }, [
      'field_type body/kvps/a',
      'field_charset body/kvps/b.c',
      'field_too_long body/kvps/__e',
    ]));
});

describe('a card number in the wrong place', () => {
  const CARDS = [
    '4111111111111111',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '4111.1111.1111.1111',
    '4111_1111_1111_1111',
    '4111:1111:1111:1111',
    '4111,1111,1111,1111',
    '4111+1111+1111+1111',
    '4111/1111/1111/1111',
    '4111 - 1111 - 1111 - 1111',
    '4111, 1111 1111-1111',
    '411111 1111111111',
    '41 11 11 11 11 11 11 11',
    '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1',
    'card 5555555555554444, thanks',
    'x378282246310005y',
    '(30569309025904)',
  ];
  test('in a KVP value → 422, and no digit of it in the response or the log', () =>
    expectEach(CARDS, async (text) => {
      await expectRefusal({ key: text }, ['card_number_misplaced body/kvps/key']);
      expect(gateway.logged()).not.toContain(text);
    }));

  test('in the reference → 422', () =>
    expectEach(CARDS, async (text) => {
      const answer = await gateway.api.purchase({ reference: text });
      expect({ status: answer.status, errors: answer.errors }).toEqual({
        status: 422,
        errors: ['card_number_misplaced body/transaction/reference'],
      });
      expect(answer.text).not.toContain(text);
    }));

  test('digits that are not a card number → accepted in a KVP value and in the reference', () =>
    expectEach(
      [
        '4111111111111112',
        '1234567890123456',
        '94111111111111111',
        '411111******1111',
        '9111111111111110',
        '20260101000000000',
        '6f1f3d3c-4111-4111-8111-111111111111',
        'invoice 411111111111',
        'order_aaaa4111-1111-1111-1111-aaaaaaaaaaaa',
        'aaaaaaaa4111111111111111aaaaaaaa',
      ],
      async (text) => {
        const answer = await gateway.api.purchase({ reference: text, kvps: { key: text } });
        expect(answer.status).toBe(201);
        expect(answer.body.kvps).toEqual({ ...TEST_MODE, [`${PREFIX}key`]: text });
        expect((await gateway.api.lookUp(answer.body.audit)).body.transaction.reference).toBe(text);
      },
    ));
});
