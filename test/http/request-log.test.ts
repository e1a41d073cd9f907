// The log line of a request: which fields it has, and that it holds no secret.
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LoggedRequest, RequestLog } from '../../src/http/answers.js';
import { CARD, client, type Json, paymentBody } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { requestLines, withoutChance } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ settings: { ACQUIRER_DEADLINE_MS: '20000' } });
});
afterAll(() => gateway.close());

/** The lines of the request with this correlation ID. */
const linesOf = (correlationId: string): Json[] =>
  requestLines(gateway).filter((line) => line.correlation_id === correlationId);

const FIELDS = [
  'level',
  'time',
  'method',
  'route',
  'status',
  'address',
  'correlation_id',
  'user',
  'merchant',
  'audit',
  'outcome',
];

describe('one log line for each request', () => {
  test('purchase → method, route, status, correlation ID, user, merchant, audit, outcome and duration', async () => {
    const { body } = await gateway.api.purchase({ correlationId: 'logged', merchant: 2 });
    expect(linesOf('logged')).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        msg: 'request',
        method: 'POST',
        route: '/v1/transactions/purchase',
        status: 201,
        address: '127.0.0.1',
        correlation_id: 'logged',
        user: 'owner',
        merchant: 2,
        audit: body.audit,
        outcome: 'approved',
        duration_ms: expect.any(Number),
      },
    ]);
  });

  test.each([
    ['declined', '4100000000000514', 201, 'declined'],
    ['could not be sent', '4200000000000018', 201, 'error'],
    ['unreadable', '4200000000000059', 502, 'acquirer_answer_unreadable'],
  ])('purchase, %s → has its audit and outcome', async (_, pan, status, outcome) => {
    await gateway.api.purchase({ correlationId: `pan-${outcome}`, pan });
    const [found] = (await gateway.api.search(`pan-${outcome}`)).body.results;
    expect(linesOf(`pan-${outcome}`)).toMatchObject([{ status, outcome, audit: found.audit, user: 'owner' }]);
  });

  test('409 → has the audit that holds the correlation ID', async () => {
    const { body } = await gateway.api.purchase({ correlationId: 'twice' });
    await gateway.api.purchase({ correlationId: 'twice' });
    expect(linesOf('twice')).toMatchObject([
      { status: 201, audit: body.audit },
      { status: 409, audit: body.audit, outcome: 'correlation_id_already_used' },
    ]);
  });

  test('lookup, void and search → have the audit that they concern, and the pattern of the address', async () => {
    const { body } = await gateway.api.purchase({ correlationId: 'concerned' });
    await gateway.api.call(`/transactions/${body.audit}`, { correlationId: 'lookup' });
    await gateway.api.call('/transactions?merchant_id=1&correlation_id_lookup=concerned', {
      correlationId: 'search',
    });
    const voided = await gateway.api.void(body.audit, { correlationId: 'void' });
    expect(linesOf('lookup')).toMatchObject([
      { route: '/v1/transactions/:audit', audit: body.audit, merchant: 1 },
    ]);
    expect(linesOf('search')).toMatchObject([{ route: '/v1/transactions', audit: body.audit, merchant: 1 }]);
    expect(linesOf('void')).toMatchObject([
      { route: '/v1/transactions/:audit/void', audit: voided.body.audit },
    ]);
  });

  test('a generated correlation ID → the one that was returned', async () => {
    const { headers } = await gateway.api.call('/transactions/1', { correlationId: null });
    expect(linesOf(headers.get('x-correlation-id') as string)).toHaveLength(1);
  });

  test.each<[string, number, (correlationId: string) => Promise<unknown>]>([
    [
      'malformed_json',
      400,
      (correlationId) => gateway.api.call('/transactions/purchase', { raw: '{', correlationId }),
    ],
    ['malformed_request', 400, (correlationId) => gateway.api.call('/transactions/%zz', { correlationId })],
    [
      'unauthenticated',
      401,
      (correlationId) => client(gateway.baseUrl).call('/transactions/1', { correlationId }),
    ],
    ['merchant_not_permitted', 403, (correlationId) => gateway.api.purchase({ merchant: 4, correlationId })],
    ['route_not_found', 404, (correlationId) => gateway.api.call(`/${CARD}`, { correlationId })],
    ['transaction_not_found', 404, (correlationId) => gateway.api.void(2_147_483_647, { correlationId })],
    [
      'method_not_allowed',
      405,
      (correlationId) => gateway.api.call('/transactions/1', { method: 'PUT', correlationId }),
    ],
    [
      'body_too_large',
      413,
      (correlationId) =>
        gateway.api.call('/transactions/purchase', { raw: ' '.repeat(140_000), correlationId }),
    ],
    [
      'unsupported_media_type',
      415,
      (correlationId) =>
        gateway.api.call('/transactions/purchase', {
          raw: '{}',
          headers: { 'content-type': 'a/b' },
          correlationId,
        }),
    ],
    ['field_format', 422, (correlationId) => gateway.api.purchase({ amount: '0', correlationId })],
  ])('refused with %s (%i) → one line with that code', async (outcome, status, provoke) => {
    await provoke(`line-${outcome}`);
    expect(linesOf(`line-${outcome}`)).toMatchObject([{ status, outcome, duration_ms: expect.any(Number) }]);
  });

  test('a user that failed to authenticate → not named', async () => {
    await gateway
      .as({ username: 'owner', password: 'guess' })
      .call('/transactions/1', { correlationId: 'guess' });
    expect(linesOf('guess')[0]).not.toHaveProperty('user');
  });
});

test('no line has an unlisted field, and none holds a card number, a CVV, a secret or a body', async () => {
  const cvv = '9517';
  const pans = [
    '4111111111111111',
    '5555555555554444',
    '378282246310005',
    '4200000000000059',
    '4100000000000969',
  ];
  for (const pan of pans) {
    const change = { pan, cvv, reference: 'reference-in-body', kvps: { key: 'kvp-in-body' } };
    await gateway.api.purchase(change);
    const { body } = await gateway.api.preauthorise(change);
    if (body.audit !== undefined) await gateway.api.complete(body.audit, 1);
    await gateway.api.call('/transactions/purchase', { raw: `${JSON.stringify(paymentBody(change))}x` });
    await gateway.api.call(`/transactions/${pan}?pan=${pan}`, { correlationId: pan });
  }
  for (const line of requestLines(gateway)) {
    for (const name of Object.keys(line)) expect([...FIELDS, 'duration_ms', 'msg']).toContain(name);
  }
  const logged = withoutChance(gateway.logged());
  expect(logged).not.toContain('internal error');
  const secrets = [...pans, cvv, 'reference-in-body', 'kvp-in-body', '1239"', gateway.owner.password];
  for (const secret of secrets) expect(logged).not.toContain(secret);
  const { username, password } = gateway.owner;
  expect(logged).not.toContain(Buffer.from(`${username}:${password}`).toString('base64'));
});

describe('a line built by hand', () => {
  const written = (level: string, request: Partial<LoggedRequest>): string[] => {
    const lines: string[] = [];
    const log = pino({ level }, { write: (line: string) => void lines.push(line) });
    const least = { method: 'GET', route: '/v1', status: 200, address: 'unknown', correlationId: undefined };
    new RequestLog(log).note({ ...least, ...request });
    return lines;
  };

  test.each(['"', '\\', '\n{"level":"error"}', '\u0000', '\ud800', '\u2028', 'é', '€', ''])(
    'a member with %j → one line of JSON with that value',
    (text) => {
      const [line = '', ...others] = written('info', { correlationId: text, user: text, outcome: text });
      expect(others).toEqual([]);
      expect(line.split('\n')).toEqual([expect.any(String), '']);
      expect(JSON.parse(line)).toMatchObject({ correlation_id: text, user: text, outcome: text });
    },
  );

  test('log level warn → no line', () => {
    expect(written('warn', {})).toEqual([]);
  });
});
