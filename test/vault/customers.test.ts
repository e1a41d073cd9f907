// Customers: created, found again by their reference, updated and deleted.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer, Client } from '../../testkit/client.js';
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

describe('creating', () => {
  test('create a customer → 201, its address in Location, and a lookup shows the same', async () => {
    const answer = await vault.addCustomer({ reference: 'reference-1', name: 'Ada Lovelace' });
    expect(answer.status).toBe(201);
    const { id } = answer.body;
    expect(answer.body).toEqual({
      id: expect.any(Number),
      name: 'Ada Lovelace',
      reference: 'reference-1',
      _links: { self: { href: `/v1/customers/${id}` }, tokens: { href: `/v1/customers/${id}/tokens` } },
    });
    expect(answer.headers.get('location')).toBe(`/v1/customers/${id}`);
    const found = await vault.lookUpCustomer(id);
    expect(found.status).toBe(200);
    expect(found.text).toBe(answer.text);
  });

  test('create with a reference that is taken → 200, the same customer, its name unchanged', async () => {
    const first = await vault.addCustomer({ name: 'The first name' });
    const { reference } = first.body;
    const second = await vault.addCustomer({ reference, name: 'Another name' });
    expect(second.status).toBe(200);
    expect(second.text).toBe(first.text);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect((await vault.lookUpCustomer(first.body.id)).text).toBe(first.text);
  });

  test('create with a taken reference in another case → another customer', async () => {
    const reference = `Case-${randomUUID()}`;
    const answers = [reference, reference.toUpperCase(), reference.toLowerCase()].map((one) =>
      vault.addCustomer({ reference: one }),
    );
    const created = await Promise.all(answers);
    expect(created.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(created.map(({ body }) => body.id)).size).toBe(3);
  });

  test('create twenty times at once with one reference → one 201, nineteen 200, one customer', async () => {
    for (let round = 0; round < 3; round += 1) {
      const reference = randomUUID();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => vault.addCustomer({ reference, name: `Name ${index}` })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      const found = await vault.searchCustomers({ reference });
      expect(found.body.results).toHaveLength(1);
    }
  });

  test('the same reference at two merchants and in another organisation → a customer each', async () => {
    const reference = randomUUID();
    const vaults = [vault, vaultOf(api, 2), vaultOf(gateway.as(gateway.stranger))];
    const answers = await Promise.all(
      vaults.map((one, at) => one.addCustomer({ reference, name: `Of ${at}` })),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    for (const [at, one] of vaults.entries()) {
      const found = await one.addCustomer({ reference, name: 'ignored' });
      expect([found.status, found.body.name]).toEqual([200, `Of ${at}`]);
    }
  });

  test('create with unknown members and query parameters → ignored', async () => {
    const reference = randomUUID();
    const answer = await api.post('/customers?unknown=1&limit=0', {
      reference,
      name: 'Ada',
      id: 99,
      _links: 'x',
      extra: { deep: [1] },
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ reference, name: 'Ada' });
    expect(Object.keys(answer.body)).toEqual(['id', 'name', 'reference', '_links']);
  });

  test('two creations under one correlation ID → both happen: it does not make them idempotent', async () => {
    const correlationId = randomUUID();
    const first = await api.post('/customers', { reference: randomUUID(), name: 'One' }, correlationId);
    const second = await api.post('/customers', { reference: randomUUID(), name: 'Two' }, correlationId);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body.id).not.toBe(first.body.id);
    expect(second.headers.get('x-correlation-id')).toBe(correlationId);
    // Nor does it take the ID away from a transaction.
    expect((await api.purchase({ correlationId })).status).toBe(201);
  });
});

describe('one customer', () => {
  test.each([
    ['0', 'field_out_of_range'],
    ['2147483648', 'field_out_of_range'],
    ['99999999999999999999', 'field_out_of_range'],
    ['-1', 'field_type'],
    ['1.5', 'field_type'],
    ['1e3', 'field_type'],
    ['abc', 'field_type'],
    ['%31%27', 'field_type'],
  ])('look up, update or delete customer %s → 422 %s', async (id, code) => {
    for (const [method, body] of [['GET'], ['PATCH', {}], ['DELETE']] as const) {
      const answer = await api.call(`/customers/${id}`, { method, body });
      expect([answer.status, ...answer.errors]).toEqual([422, `${code} path/customer_id`]);
    }
  });

  test.each([2147483647, 1_000_000])(
    'look up, update or delete customer %i, which was never created → 404',
    async (id) => {
      for (const answer of [
        await vault.lookUpCustomer(id),
        await vault.changeCustomer(id, { name: 'New' }),
        await vault.deleteCustomer(id),
      ]) {
        expect([answer.status, ...answer.errors]).toEqual([404, 'customer_not_found path/customer_id']);
      }
    },
  );

  test.each([
    ['name', { name: 'New name' }],
    ['reference', { reference: 'new-reference-1' }],
    ['both', { name: 'New name', reference: 'new-reference-2' }],
    ['neither', {}],
    ['unknown members', { id: 5, nickname: 'x' }],
  ])('update %s → 200, the current customer, the rest unchanged', async (_what, change) => {
    const before = (await vault.addCustomer()).body;
    const answer = await vault.changeCustomer(before.id, change);
    expect(answer.status).toBe(200);
    const { name = before.name, reference = before.reference } = change as {
      name?: string;
      reference?: string;
    };
    expect(answer.body).toEqual({ ...before, name, reference });
    expect((await vault.lookUpCustomer(before.id)).text).toBe(answer.text);
  });

  test("update to another customer's reference → 422 reference_in_use, nothing changed", async () => {
    const [taken, mine] = [(await vault.addCustomer()).body, (await vault.addCustomer()).body];
    const answer = await vault.changeCustomer(mine.id, { reference: taken.reference, name: 'New' });
    expect([answer.status, ...answer.errors]).toEqual([422, 'reference_in_use body/reference']);
    expect((await vault.lookUpCustomer(mine.id)).body).toEqual(mine);
  });

  test('update to its own reference, and to that of another merchant’s customer → 200', async () => {
    const mine = (await vault.addCustomer()).body;
    const theirs = (await vaultOf(api, 2).addCustomer()).body;
    expect((await vault.changeCustomer(mine.id, { reference: mine.reference })).status).toBe(200);
    expect((await vault.changeCustomer(mine.id, { reference: theirs.reference })).status).toBe(200);
  });

  test('ten customers updated at once to one reference → exactly one of them gets it', async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, () => vault.newCustomer()));
    const reference = randomUUID();
    const answers = await Promise.all(ids.map((id) => vault.changeCustomer(id, { reference })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(422)]);
    expect((await vault.searchCustomers({ reference })).body.results).toHaveLength(1);
  });

  test('a reference released by an update → free for a new customer', async () => {
    const { id, reference } = (await vault.addCustomer()).body;
    await vault.changeCustomer(id, { reference: randomUUID() });
    const answer = await vault.addCustomer({ reference });
    expect(answer.status).toBe(201);
    expect(answer.body.id).not.toBe(id);
  });
});

describe('deleting', () => {
  test('delete a customer → 204 without a body, and it is gone', async () => {
    const { id, reference } = (await vault.addCustomer()).body;
    const answer = await vault.deleteCustomer(id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers.get('content-type')).toBeNull();
    expect((await vault.lookUpCustomer(id)).code).toBe('customer_not_found');
    expect((await vault.deleteCustomer(id)).code).toBe('customer_not_found');
    expect((await vault.searchCustomers({ reference })).body.results).toEqual([]);
  });

  test('delete with a content type and no body → 204 all the same', async () => {
    const answer = await api.call(`/customers/${await vault.newCustomer()}`, {
      method: 'DELETE',
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(204);
  });

  test('the reference of a deleted customer → a new customer with a new ID', async () => {
    const { id, reference } = (await vault.addCustomer()).body;
    await vault.deleteCustomer(id);
    const again = await vault.addCustomer({ reference });
    expect(again.status).toBe(201);
    expect(again.body.id).not.toBe(id);
  });

  test('ten deletions of one customer at once → one 204, nine 404', async () => {
    const id = await vault.newCustomer();
    const answers = await Promise.all(Array.from({ length: 10 }, () => vault.deleteCustomer(id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(9).fill(404)]);
  });

  // catches(deleted customer: its tokens go too)
  test('delete a customer with tokens → the tokens are deleted too, the transactions stay', async () => {
    const { customerId, id, virtualPan } = await vault.newToken();
    const other = await vault.newToken({ preferred_name: 'Other' }, customerId);
    const purchase = await api.purchase({ pan: virtualPan, amount: 500 });
    expect((await vault.deleteCustomer(customerId)).status).toBe(204);

    for (const answer of [
      await vault.lookUpToken(customerId, id),
      await vault.changeToken(customerId, id, { active: true }),
      await vault.deleteToken(customerId, id),
      await vault.listTokens(customerId),
      await vault.addToken(customerId),
    ]) {
      expect([answer.status, answer.code]).toEqual([404, 'customer_not_found']);
    }
    for (const pan of [virtualPan, other.virtualPan]) {
      expect((await api.purchase({ pan })).code).toBe('token_not_usable');
    }
    const stored = await gateway.sql(
      'SELECT sealed, shown, preferred_name FROM token WHERE customer_id = $1 AND organisation_id = 1',
      [customerId],
    );
    expect(stored).toEqual(Array(2).fill({ sealed: null, shown: null, preferred_name: null }));
    expect((await api.lookUp(purchase.body.audit)).body.status.transaction_status_code).toBe('approved');
    expect((await api.refund(purchase.body.audit, 500)).body.status.transaction_status_code).toBe('approved');
  });

  test('tokens created while their customer is deleted → none of them outlives it', async () => {
    for (let round = 0; round < 5; round += 1) {
      const customerId = await vault.newCustomer();
      const adding = Array.from({ length: 8 }, () => vault.addToken(customerId));
      const [deleted, ...added] = (await Promise.all([vault.deleteCustomer(customerId), ...adding])) as [
        Answer,
        ...Answer[],
      ];
      expect(deleted.status).toBe(204);
      for (const { status, code } of added)
        if (status !== 201) expect([status, code]).toEqual([404, 'customer_not_found']);
      const alive = await gateway.sql(
        'SELECT id FROM token WHERE customer_id = $1 AND organisation_id = 1 AND deleted_at IS NULL',
        [customerId],
      );
      expect(alive).toEqual([]);
    }
  });
});
