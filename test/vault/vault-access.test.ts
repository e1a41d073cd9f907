// Who may use a vault, for each of its operations: credentials, merchants and correlation IDs.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, client } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type NewToken, VAULT_OPERATIONS, type Vault, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let api: Client;
let vault: Vault;
let token: NewToken;

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  vault = vaultOf(api);
  token = await vault.newToken();
});
afterAll(() => gateway.close());

const CHANGING = VAULT_OPERATIONS.filter(({ changes }) => changes);
const READING = VAULT_OPERATIONS.filter(({ changes }) => !changes);

/** A valid request for a customer and a token that were created for it. */
async function properRequest(operation: (typeof VAULT_OPERATIONS)[number], of = vault) {
  const { customerId, id } = await of.newToken();
  return operation.request(customerId, id);
}

/** A valid request that will be refused, so any customer and token will do. */
const refusedRequest = (operation: (typeof VAULT_OPERATIONS)[number]) =>
  operation.request(token.customerId, token.id);

test('there are five operations for customers and five for tokens', () => {
  expect(VAULT_OPERATIONS.map(({ method, route }) => `${method} ${route}`).sort()).toEqual([
    'DELETE /customers/{customer_id}',
    'DELETE /customers/{customer_id}/tokens/{token_id}',
    'GET /customers',
    'GET /customers/{customer_id}',
    'GET /customers/{customer_id}/tokens',
    'GET /customers/{customer_id}/tokens/{token_id}',
    'PATCH /customers/{customer_id}',
    'PATCH /customers/{customer_id}/tokens/{token_id}',
    'POST /customers',
    'POST /customers/{customer_id}/tokens',
  ]);
});

describe('every operation of the vault', () => {
  test('a valid request → success, and the correlation ID is returned', () =>
    expectEach(VAULT_OPERATIONS, async (operation) => {
      const correlationId = randomUUID();
      const { path, ...request } = await properRequest(operation);
      const answer = await api.call(path, { ...request, correlationId });
      expect(answer.status).toBe({ GET: 200, POST: 201, PATCH: 200, DELETE: 204 }[operation.method]);
      expect(answer.headers.get('x-correlation-id')).toBe(correlationId);
    }));

  test('without credentials, or with wrong ones → 401, and the correlation ID is returned', () =>
    expectEach(VAULT_OPERATIONS, async (operation) => {
      const correlationId = randomUUID();
      const { path, ...request } = refusedRequest(operation);
      const wrong = { username: 'owner', password: 'wrong' };
      for (const credentials of [undefined, wrong, { ...wrong, username: 'nobody' }]) {
        const answer = await client(gateway.baseUrl, credentials).call(path, { ...request, correlationId });
        expect([answer.status, answer.code]).toEqual([401, 'unauthenticated']);
        expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
        expect(answer.headers.get('x-correlation-id')).toBe(correlationId);
      }
    }));

  test('an invalid merchant_id → 422', () =>
    expectEach(VAULT_OPERATIONS, (operation) =>
      expectEach(
        [
          ['0', 'field_out_of_range'],
          ['2147483648', 'field_out_of_range'],
          ['abc', 'field_type'],
          ['', 'field_type'],
          ['-1', 'field_type'],
          ['1.0', 'field_type'],
        ],
        async ([merchantId, code]) => {
          const { path, ...request } = refusedRequest(operation);
          const answer = await api.call(`${path}?merchant_id=${merchantId}`, request);
          expect([answer.status, ...answer.errors]).toEqual([422, `${code} query/merchant_id`]);
        },
      ),
    ));

  test('merchant_id twice → 422', () =>
    expectEach(VAULT_OPERATIONS, async (operation) => {
      const { path, ...request } = refusedRequest(operation);
      const answer = await api.call(`${path}?merchant_id=1&merchant_id=1`, request);
      expect([answer.status, ...answer.errors]).toEqual([422, 'field_type query/merchant_id']);
    }));

  test('merchant_id of the assigned merchant → the same as without it', () =>
    expectEach(VAULT_OPERATIONS, async (operation) => {
      const { path, ...request } = await properRequest(operation);
      const answer = await api.call(`${path}?merchant_id=1`, request);
      expect(answer.status).toBeLessThan(300);
      expect(answer.headers.get('location') ?? '').not.toContain('merchant_id');
    }));

  test('merchant_id of a granted merchant → that vault, and every link stays in it', () =>
    expectEach(VAULT_OPERATIONS, async (operation) => {
      const granted = vaultOf(api, 2);
      const { path, ...request } = await properRequest(operation, granted);
      const answer = await api.call(`${path}?merchant_id=2`, request);
      expect(answer.status).toBeLessThan(300);
      const hrefs = [...answer.text.matchAll(/"href":"([^"]+)"/g)].map(([, href]) => href as string);
      const location = answer.headers.get('location');
      if (location !== null) hrefs.push(location);
      for (const href of hrefs) {
        expect(href).toMatch(/^\/v1\/customers.*[?&]merchant_id=2(&|$)/);
        expect((await api.get(href.replace('/v1', ''))).status).toBe(200);
      }
      expect(hrefs.length > 0).toBe(answer.status !== 204);
    }));

  test('a merchant without the vault → 403 vault_not_enabled', () =>
    expectEach(VAULT_OPERATIONS, async (operation) => {
      const { path, ...request } = refusedRequest(operation);
      const answer = await api.call(`${path}?merchant_id=3`, request);
      expect([answer.status, ...answer.errors]).toEqual([403, 'vault_not_enabled query/merchant_id']);
    }));

  test('a foreign merchant, and one that does not exist → the same 403', () =>
    expectEach(VAULT_OPERATIONS, async (operation) => {
      const { path, ...request } = refusedRequest(operation);
      const answers = [];
      for (const merchantId of [4, 5, 2147483647]) {
        answers.push(await api.call(`${path}?merchant_id=${merchantId}`, request));
      }
      for (const answer of answers) {
        expect([answer.status, ...answer.errors]).toEqual([403, 'merchant_not_permitted query/merchant_id']);
        expect(answer.text).toBe(answers[0]?.text);
      }
    }));
});

describe('every operation that changes something', () => {
  test('no valid correlation ID → 422 and nothing happens', () =>
    expectEach(CHANGING, (operation) =>
      expectEach<[string, string | null, string]>(
        [
          ['no correlation ID', null, 'field_missing'],
          ['an empty one', '', 'field_too_short'],
          ['one of 129 characters', 'x'.repeat(129), 'field_too_long'],
          ['one with a space', 'a b', 'field_charset'],
          ['one with a slash', 'a/b', 'field_charset'],
          ['one that holds a card number', '4111111111111111', 'card_number_misplaced'],
        ],
        async ([_what, correlationId, code]) => {
          const before = (await vault.listTokens(token.customerId)).text;
          const { path, ...request } = refusedRequest(operation);
          const answer = await api.call(path, { ...request, correlationId });
          expect([answer.status, ...answer.errors]).toEqual([422, `${code} header/X-Correlation-Id`]);
          expect(answer.headers.get('x-correlation-id')).toBeNull();
          expect((await vault.listTokens(token.customerId)).text).toBe(before);
        },
      ),
    ));

  test('a correlation ID of 1 or 128 characters → accepted', () =>
    expectEach(CHANGING, async (operation) => {
      for (const correlationId of ['x', `${'aZ09+-_:.,'.repeat(12)}12345678`]) {
        const { path, ...request } = await properRequest(operation);
        const answer = await api.call(path, { ...request, correlationId });
        expect(answer.status).toBeLessThan(300);
        expect(answer.headers.get('x-correlation-id')).toBe(correlationId);
      }
    }));

  test('the correlation ID of a payment, and a used one → accepted: the vault does not check for repetition', () =>
    expectEach(CHANGING, async (operation) => {
      const correlationId = randomUUID();
      expect((await api.purchase({ correlationId })).status).toBe(201);
      for (let time = 0; time < 2; time += 1) {
        const { path, ...request } = await properRequest(operation);
        expect((await api.call(path, { ...request, correlationId })).status).toBeLessThan(300);
      }
    }));
});

describe('every operation that reads', () => {
  test('no correlation ID → 200, and a new one is generated each time', () =>
    expectEach(READING, async (operation) => {
      const { path } = operation.request(token.customerId, token.id);
      const madeUp = [];
      for (let time = 0; time < 2; time += 1) {
        const answer = await api.call(path, { correlationId: null });
        expect(answer.status).toBe(200);
        madeUp.push(answer.headers.get('x-correlation-id'));
      }
      expect(new Set(madeUp).size).toBe(2);
      for (const made of madeUp) expect(made).toMatch(/^[a-zA-Z0-9+\-_:.,]{1,128}$/);
    }));

  test('an ill-formed correlation ID → 422', () =>
    expectEach(READING, async (operation) => {
      const { path } = operation.request(token.customerId, token.id);
      const answer = await api.call(path, { correlationId: 'a b' });
      expect([answer.status, ...answer.errors]).toEqual([422, 'field_charset header/X-Correlation-Id']);
    }));
});

test('an unsupported method → 405, and Allow names the supported ones', () =>
  expectEach(
    [
      ['/customers', 'PUT', ['GET', 'HEAD', 'POST']],
      ['/customers', 'DELETE', ['GET', 'HEAD', 'POST']],
      ['/customers/1', 'POST', ['DELETE', 'GET', 'HEAD', 'PATCH']],
      ['/customers/1/tokens', 'PATCH', ['GET', 'HEAD', 'POST']],
      ['/customers/1/tokens/1', 'PUT', ['DELETE', 'GET', 'HEAD', 'PATCH']],
    ],
    async ([path, method, allowed]) => {
      const answer = await api.call(path, { method });
      expect([answer.status, answer.code]).toEqual([405, 'method_not_allowed']);
      expect(answer.headers.get('allow')?.split(', ').sort()).toEqual(allowed);
    },
  ));

test('an unknown address in the vault → 404 route_not_found', () =>
  expectEach(
    ['/customers/1/cards', '/customers/1/tokens/1/account', '/tokens', '/tokens/1'],
    async (path) => {
      expect((await api.get(path)).code).toBe('route_not_found');
    },
  ));

test('create a customer with a content type other than JSON → 415', () =>
  expectEach(
    [
      ['text/plain', 415, 'unsupported_media_type'],
      ['application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
    ],
    async ([contentType, status, code]) => {
      const answer = await api.call('/customers', { raw: '{}', headers: { 'content-type': contentType } });
      expect([answer.status, answer.code]).toEqual([status, code]);
    },
  ));

test('create a customer with a body of more than 128 KiB → 413', async () => {
  const answer = await api.post('/customers', { reference: 'x', name: 'y', more: 'z'.repeat(140_000) });
  expect([answer.status, answer.code]).toEqual([413, 'body_too_large']);
});
