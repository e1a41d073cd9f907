// The fields of a customer: what each may hold, and how a mistake in it is refused.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type Vault, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let api: Client;
let vault: Vault;

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  vault = vaultOf(api);
});
afterAll(() => gateway.close());

const CARDS = ['4111111111111111', 'card 4111 1111 1111 1111!', '3782-822463-10005'];
const UNFIT = ['"', "'", '\\', '\u00e9', '\n', '\t', '\u0000', '\u007f', '\u{1f600}'];
/** Every character of the restricted set. */
const FIT = [
  'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX',
  'YZ0123456789 !#$%&()*+,-./:;<=>?@[]^_`{|}~',
] as const;

const POST = (body: unknown) => api.post('/customers', body);

describe('fields', () => {
  test('name and reference of allowed characters → stored unchanged', () =>
    expectEach(FIT, async (text) => {
      const answer = await vault.addCustomer({ reference: text, name: text });
      expect(answer.status).toBe(201);
      const found = await vault.lookUpCustomer(answer.body.id);
      expect([found.body.reference, found.body.name]).toEqual([text, text]);
    }));

  test.each([
    ['name', 1],
    ['name', 60],
    ['reference', 1],
    ['reference', 50],
  ])('%s of %i characters → accepted', async (field, length) => {
    const text = `${field.slice(0, 1)}${'x'.repeat(length - 1)}`;
    const answer = await POST({ reference: randomUUID(), name: 'Ada', [field]: text });
    expect(answer.status).toBe(201);
    expect(answer.body[field]).toBe(text);
    const changed = await vault.changeCustomer(await vault.newCustomer(), {
      [field]: `X${'y'.repeat(length - 1)}`,
    });
    expect(changed.status).toBe(200);
    expect(changed.body[field]).toHaveLength(length);
  });

  test('create and update with an invalid name or reference → 422', () =>
    expectEach<[string, unknown, string]>(
      [
        ['name', '', 'field_too_short'],
        ['name', 'x'.repeat(61), 'field_too_long'],
        ['reference', '', 'field_too_short'],
        ['reference', 'x'.repeat(51), 'field_too_long'],
        ...['name', 'reference'].flatMap((field): [string, unknown, string][] => [
          ...[1, true, null, ['x'], { x: 1 }].map((value): [string, unknown, string] => [
            field,
            value,
            'field_type',
          ]),
          ...UNFIT.map((character): [string, unknown, string] => [field, `a${character}b`, 'field_charset']),
          ...CARDS.map((card): [string, unknown, string] => [field, card, 'card_number_misplaced']),
        ]),
      ],
      async ([field, value, code]) => {
        const id = await vault.newCustomer();
        const before = (await vault.lookUpCustomer(id)).text;
        const created = await POST({ reference: randomUUID(), name: 'Ada', [field]: value });
        const changed = await vault.changeCustomer(id, { [field]: value });
        for (const answer of [created, changed]) {
          expect(answer.status).toBe(422);
          expect(answer.errors).toEqual([`${code} body/${field}`]);
          if (typeof value === 'string' && value !== '') expect(answer.text).not.toContain(value);
        }
        expect((await vault.lookUpCustomer(id)).text).toBe(before);
      },
    ));

  test('numbers that are not card numbers → accepted in names and references', async () => {
    const answer = await vault.addCustomer({
      reference: '4111111111111112',
      name: 'Order 20261115123456789',
    });
    expect(answer.status).toBe(201);
  });

  test('create without name or reference → both are named', async () => {
    const answer = await POST({});
    expect([answer.status, answer.errors.sort()]).toEqual([
      422,
      ['field_missing body/name', 'field_missing body/reference'],
    ]);
  });

  test('create with everything wrong → every problem with its location, all together', async () => {
    const answer = await api.call('/customers?merchant_id=0', {
      body: { reference: 'x'.repeat(51), name: 7 },
      correlationId: 'not allowed',
    });
    expect(answer.status).toBe(422);
    expect(answer.errors.sort()).toEqual([
      'field_charset header/X-Correlation-Id',
      'field_out_of_range query/merchant_id',
      'field_too_long body/reference',
      'field_type body/name',
    ]);
  });

  test('update with everything wrong → every problem with its location, all together', async () => {
    const answer = await api.call('/customers/0?merchant_id=x', {
      method: 'PATCH',
      body: { reference: '"\u00e9"'.repeat(20), name: '' },
      correlationId: null,
    });
    expect(answer.status).toBe(422);
    expect(answer.errors.sort()).toEqual([
      'field_charset body/reference',
      'field_missing header/X-Correlation-Id',
      'field_out_of_range path/customer_id',
      'field_too_long body/reference',
      'field_too_short body/name',
      'field_type query/merchant_id',
    ]);
  });

  test('create and update with an invalid body → refused', () =>
    expectEach(
      [
        ['null', 422, 'field_type body'],
        ['[]', 422, 'field_type body'],
        ['"text"', 422, 'field_type body'],
        ['{"reference":', 400, 'malformed_json body'],
      ],
      async ([raw, status, error]) => {
        const id = await vault.newCustomer();
        for (const [path, method] of [
          ['/customers', 'POST'],
          [`/customers/${id}`, 'PATCH'],
        ] as const) {
          const answer = await api.call(path, { method, raw });
          expect([answer.status, ...answer.errors]).toEqual([status, error]);
        }
      },
    ));

  test('create without a body → 422, the body is missing', async () => {
    const answer = await api.call('/customers', { method: 'POST' });
    expect([answer.status, ...answer.errors]).toEqual([422, 'field_missing body']);
  });
});
