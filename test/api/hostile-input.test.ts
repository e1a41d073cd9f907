// Bodies, sizes, media types, audits and queries that nobody sends by mistake.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, CARD, paymentBody, TEST_MODE } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { storedRows, withoutChance } from '../../testkit/requests.js';

const CVV = '8264';
const BODY = JSON.stringify(paymentBody({ cvv: CVV }));

let gateway: TestGateway;
let rowsBefore = 0;
let answers: Answer[] = [];
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

beforeEach(async () => {
  rowsBefore = await storedRows(gateway);
  answers = [];
});

/** Whatever was sent: no 5XX, no stack trace, nothing secret anywhere, and as many rows as were answered with 201. */
afterEach(async () => {
  expect(answers.length).toBeGreaterThan(0);
  for (const { status, text } of answers) {
    expect(status).toBeLessThan(500);
    expect(text).not.toMatch(/ {4}at |node_modules|\.[jt]s:\d/);
  }
  const created = answers.filter(({ status }) => status === 201).length;
  expect(await storedRows(gateway)).toBe(rowsBefore + created);
  const logged = withoutChance(gateway.logged());
  for (const secret of [CARD, CVV, gateway.owner.password]) expect(logged).not.toContain(secret);
  expect(logged).not.toContain('internal error');
});

async function send(raw: string | Uint8Array, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await gateway.api.call('/transactions/purchase', { method: 'POST', raw, headers });
  answers.push(answer);
  return answer;
}

async function get(path: string, options: { method?: string; correlationId?: string } = {}): Promise<Answer> {
  const answer = await gateway.api.call(path, options);
  answers.push(answer);
  return answer;
}

const nested = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels);
const withMember = (member: string) => BODY.replace('{', `{${member},`);
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

describe('bodies that are not JSON → 400 malformed_json', () => {
  test('nothing, half of a body, another encoding, and others', () =>
    expectEach<[string, string | Uint8Array]>(
      [
        ['nothing', ''],
        ['spaces', '   '],
        ['half of a body', BODY.slice(0, 100)],
        ['a body with something behind it', `${BODY}x`],
        ['two bodies', BODY + BODY],
        ['single quotes', BODY.replaceAll('"', "'")],
        ['a trailing comma', BODY.replace(/\}$/, ',}')],
        ['a comment', `/* */${BODY}`],
        ['NaN', BODY.replace('"id":1', '"id":NaN')],
        ['a leading zero', BODY.replace('"id":1', '"id":01')],
        ['hexadecimal', BODY.replace('"id":1', '"id":0x1')],
        ['a raw control character in a text', BODY.replace('order-1', 'order\u0001')],
        ['a raw NUL', `${BODY}\u0000`],
        ['a byte order mark', `\ufeff${BODY}`],
        ['UTF-16', Buffer.from(BODY, 'utf16le')],
        ['a form', `pan=${CARD}&cvv=${CVV}`],
        ['XML', `<pan>${CARD}</pan>`],
        ['compressed bytes', Uint8Array.of(0x1f, 0x8b, 0x08, 0x00, 0x00)],
        ['brackets without end', '['.repeat(60_000)],
        ['objects without end', '{"a":'.repeat(10_000)],
      ],
      async ([_, raw]) => {
        const answer = await send(raw);
        expect({ status: answer.status, errors: answer.errors }).toEqual({
          status: 400,
          errors: ['malformed_json body'],
        });
      },
    ));
});

describe('bodies that are JSON but not a request → 422', () => {
  test('values, lists, and fields of another type', () =>
    expectEach<[string, string | Uint8Array, string]>(
      [
        ['null', 'null', 'field_type body'],
        ['a number', '1', 'field_type body'],
        ['a text', JSON.stringify(CARD), 'field_type body'],
        ['an array', `[${BODY}]`, 'field_type body'],
        ['30,000 arrays inside each other', nested(30_000, '[', ']'), 'field_type body'],
        [
          '30,000 arrays as a KVP value',
          withMember(`"kvps":{"a":${nested(30_000, '[', ']')}}`),
          'field_type body/kvps/a',
        ],
        [
          '9,000 objects as the merchant',
          `{"merchant":${'{"id":'.repeat(9_000)}1${'}'.repeat(9_000)},${BODY.slice(BODY.indexOf('"transaction"'))}`,
          'field_type body/merchant/id',
        ],
        [
          'an array of 30,000 as the reference',
          BODY.replace('"order-1"', `[${'1,'.repeat(30_000)}1]`),
          'field_type body/transaction/reference',
        ],
        [
          'bytes that are no UTF-8',
          bytes(
            BODY.slice(0, BODY.indexOf('order-1')),
            [0xff, 0xc0, 0x80],
            BODY.slice(BODY.indexOf('order-1')),
          ),
          'field_charset body/transaction/reference',
        ],
        [
          'a surrogate out of place',
          BODY.replace('order-1', '\\ud800'),
          'field_charset body/transaction/reference',
        ],
        ['an escaped NUL', BODY.replace('order-1', '\\u0000'), 'field_charset body/transaction/reference'],
        [
          'a reference of 60,000 characters',
          BODY.replace('order-1', 'x'.repeat(60_000)),
          'field_too_long body/transaction/reference',
        ],
        [
          'an amount of 60,000 digits',
          BODY.replace('10000', '1'.repeat(60_000)),
          'field_format body/transaction/amount_details/total_amount',
        ],
        [
          'a card number of 60,000 digits',
          BODY.replace(CARD, '4'.repeat(60_000)),
          'field_format body/transaction/payment_method/creditcard/pan',
        ],
        [
          'a prototype instead of members',
          '{"__proto__":{"merchant":{"id":1},"transaction":{}}}',
          'field_missing body/merchant',
        ],
        [
          'a constructor instead of members',
          '{"constructor":{"prototype":{"merchant":{"id":1}}}}',
          'field_missing body/merchant',
        ],
      ],
      async ([_, raw, error]) => {
        const answer = await send(raw);
        expect(answer.status).toBe(422);
        expect(answer.errors).toContain(error);
      },
    ));

  test('5,000 wrong KVPs → 422, and the response stays small', async () => {
    const kvps = Array.from({ length: 5_000 }, (_, index) => `"k${index}":1`).join(',');
    const answer = await send(withMember(`"kvps":{${kvps}}`));
    expect(answer.status).toBe(422);
    expect(answer.text.length).toBeLessThan(256 * 1024);
  });

  test('no body and no media type → 422', async () => {
    const answer = await get('/transactions/purchase', { method: 'POST' });
    expect(answer.errors).toEqual(['field_missing body']);
  });
});

describe('unusual bodies that are valid requests → 201', () => {
  test('spaces, escapes, unknown members, and others', () =>
    expectEach<[string, string]>(
      [
        ['spaces and lines around it', `\r\n\t ${BODY} \n`],
        ['escaped letters', BODY.replace('order-1', '\\u006frder-1')],
        ['escaped names', BODY.replace('"merchant"', '"m\\u0065rchant"')],
        ['an exponent that is a whole number', BODY.replace('"id":1', '"id":10e-1')],
        ['30,000 arrays in an unknown member', withMember(`"unknown":${nested(30_000, '[', ']')}`)],
        ['an own __proto__ member', withMember('"__proto__":{"kvps":{"a":1}}')],
        ['one name in several objects', withMember('"unknown":[{"a":{"a":1}},{"a":{"a":1}}]')],
        [
          'what looks like members in strings',
          withMember('"unknown":["\\"a\\":1,\\"a\\":1","{\\\\",":","\\\\\\":"]'),
        ],
      ],
      async ([_, raw]) => {
        const answer = await send(raw);
        expect(answer.status).toBe(201);
        expect(answer.body.kvps).toEqual(TEST_MODE);
      },
    ));
});

describe('size', () => {
  test('131,072 bytes → 201; one more → 413 body_too_large', async () => {
    expect((await send(BODY.padEnd(131_072))).status).toBe(201);
    const answer = await send(BODY.padEnd(131_073));
    expect({ status: answer.status, code: answer.code }).toEqual({ status: 413, code: 'body_too_large' });
  });

  test('bytes are counted, not characters', async () => {
    const answer = await send(withMember(`"unknown":"${'é'.repeat(65_536)}"`));
    expect(answer.status).toBe(413);
  });

  test('a megabyte → 413', async () => {
    expect((await send(' '.repeat(1_048_576))).status).toBe(413);
  });
});

describe('media type', () => {
  test('any other than JSON → 415 unsupported_media_type', () =>
    expectEach(
      [
        'text/plain',
        'text/json',
        'application/x-www-form-urlencoded',
        'application/jsonp',
        'application/xml',
        'multipart/form-data; boundary=x',
        'application/vnd.api+json',
        'json',
        '*/*',
        ';',
      ],
      async (type) => {
        const answer = await send(BODY, { 'content-type': type });
        expect({ status: answer.status, code: answer.code }).toEqual({
          status: 415,
          code: 'unsupported_media_type',
        });
      },
    ));

  test('none → 415', async () => {
    const { username, password } = gateway.owner;
    const response = await fetch(`${gateway.baseUrl}/transactions/purchase`, {
      method: 'POST',
      headers: {
        'x-correlation-id': 'no-type',
        authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
      },
      // Bytes, unlike a text, bring no media type of their own.
      body: Buffer.from(BODY),
    });
    const text = await response.text();
    answers.push({ status: response.status, text } as Answer);
    expect(response.status).toBe(415);
  });

  test('JSON, in any case and with any parameters → accepted', () =>
    expectEach(
      [
        'application/json',
        'APPLICATION/JSON',
        'application/json; charset=utf-8',
        'application/json;charset=UTF-8',
      ],
      async (type) => {
        expect((await send(BODY, { 'content-type': type })).status).toBe(201);
      },
    ));
});

describe('audits', () => {
  const refused: [string, number, string][] = [
    ['0', 422, 'field_out_of_range path/audit'],
    ['2147483648', 422, 'field_out_of_range path/audit'],
    ['99999999999999999999', 422, 'field_out_of_range path/audit'],
    ['9'.repeat(5_000), 422, 'field_out_of_range path/audit'],
    ['-1', 422, 'field_type path/audit'],
    ['1.5', 422, 'field_type path/audit'],
    ['1e3', 422, 'field_type path/audit'],
    ['0x1', 422, 'field_type path/audit'],
    ['+1', 422, 'field_type path/audit'],
    ['abc', 422, 'field_type path/audit'],
    ['a'.repeat(10_000), 422, 'field_type path/audit'],
    ['%20', 422, 'field_type path/audit'],
    ['%00', 422, 'field_type path/audit'],
    ['1%00', 422, 'field_type path/audit'],
    ['1%0A', 422, 'field_type path/audit'],
    ['%D9%A1', 422, 'field_type path/audit'],
    ["1'--", 422, 'field_type path/audit'],
    ['1;drop', 422, 'field_type path/audit'],
    ['..%2F1', 422, 'field_type path/audit'],
    ['%zz', 400, 'malformed_request '],
    ['%', 400, 'malformed_request '],
    ['%E0%A4%A', 400, 'malformed_request '],
    ['%ff', 400, 'malformed_request '],
    ['2147483647', 404, 'transaction_not_found path/audit'],
  ];
  const cases = refused.map(([audit, ...rest]) => [audit.slice(0, 30), audit, ...rest] as const);
  test('an invalid audit → the same refusal for a lookup and for a void', () =>
    expectEach(cases, async ([_, audit, status, error]) => {
      const found = await get(`/transactions/${audit}`);
      expect({ status: found.status, errors: found.errors }).toEqual({ status, errors: [error] });
      const voided = await gateway.api.call(`/transactions/${audit}/void`, { body: paymentBody() });
      answers.push(voided);
      expect({ status: voided.status, errors: voided.errors }).toEqual({ status, errors: [error] });
    }));
});

describe('queries', () => {
  test('an invalid query → 422', () =>
    expectEach(
      [
        ['empty', '?'],
        ['only separators', '?&&&==='],
        ['no value', '?merchant_id'],
        ['brackets', '?merchant_id[]=1&correlation_id_lookup[a]=1'],
        ['names of prototypes', '?__proto__=1&constructor=2&merchant_id=1'],
        ['bad percent-encoding', '?merchant_id=%zz&correlation_id_lookup=%ff%fe'],
        ['2,000 parameters', `?${'a=1&'.repeat(2_000)}`],
        ['1,000 NULs', `?correlation_id_lookup=${'%00'.repeat(1_000)}`],
        ['5,000 digits', `?merchant_id=${'9'.repeat(5_000)}`],
      ],
      async ([_, query]) => {
        expect((await get(`/transactions${query}`)).status).toBe(422);
      },
    ));
});
