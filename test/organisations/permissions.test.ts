// What a user may do, from where and until when, through HTTP.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/api/operations/operations.js';
import { resumeMerchant, suspendMerchant } from '../../src/organisations/merchants.js';
import { PERMISSIONS, type Permission } from '../../src/organisations/users/permissions.js';
import {
  addUser,
  limitUser,
  type NewUser,
  rotateSecret,
  type UserWithSecret,
  ungrantMerchant,
} from '../../src/organisations/users/users.js';
import type { Database } from '../../src/postgres/database.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import type { Answer, Client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ANY_BODY } from '../../testkit/requests.js';

const OPERATOR = 'operator:test';
const SOON = { timeout: 300_000 };

let gateway: TestGateway;
let database: Database;
beforeAll(async () => {
  gateway = await testGateway({ settings: { TRUSTED_PROXIES: '127.0.0.1', CHECKOUT_PORT: '0' } });
  database = operatorsDatabase(gateway);
});
afterAll(async () => {
  await database.close();
  await gateway.close();
});

/** What each permission stands for; the vault's is for all that concerns customers and tokens. */
const OPERATIONS_OF: Readonly<Record<Permission, readonly string[]>> = {
  payments: [
    'createPurchase',
    'createPreauthorisation',
    'createCompletion',
    'voidTransaction',
    'createCheckout',
    'cancelCheckout',
    'createSchedule',
    'changeSchedule',
    'pauseSchedule',
    'resumeSchedule',
    'cancelSchedule',
  ],
  refunds: ['createRefund'],
  'standalone-refunds': ['createStandaloneRefund'],
  read: [
    'lookUpTransaction',
    'searchTransactions',
    'listTransactions',
    'settlementOfDay',
    'listEvents',
    'lookUpCheckout',
    'searchCheckouts',
    'lookUpSchedule',
    'listSchedules',
  ],
  vault: OPERATIONS.filter(({ tag }) => tag === 'Customers' || tag === 'Tokens').map(({ id }) => id),
};

let users = 0;
function user(limits: Partial<NewUser> = {}): Promise<UserWithSecret> {
  users += 1;
  const wish = { merchant: 1, ...limits };
  return addUser(database, OPERATOR, gateway.credentialKey, `limited${users}`, wish);
}

/** A request for each operation: what it needs beside the permission is there or not, and never matters. */
function ask(api: Client, { method, route }: (typeof OPERATIONS)[number]): Promise<Answer> {
  const path = route.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'date' ? '2026-11-16' : '2147483647'));
  if (method === 'GET') return api.get(path);
  return api.call(path, { method, ...(method !== 'DELETE' && { body: ANY_BODY }) });
}

describe('permissions', () => {
  // catches(operations: only with the permission for it)
  test.each(PERMISSIONS)('a user that may %s → exactly its operations', async (permission) => {
    const api = gateway.as(await user({ allow: [permission] }));
    const allowed = OPERATIONS_OF[permission];
    for (const operation of OPERATIONS) {
      const { status, errors } = await ask(api, operation);
      if (allowed.includes(operation.id)) {
        expect([operation.id, status]).not.toEqual([operation.id, 401]);
        expect(errors).not.toContain('operation_not_permitted ');
      } else {
        expect([operation.id, status, errors]).toEqual([operation.id, 403, ['operation_not_permitted ']]);
      }
    }
  });

  test('no permission named → all of them', async () => {
    const api = gateway.as(await user());
    for (const operation of OPERATIONS)
      expect((await ask(api, operation)).code).not.toBe('operation_not_permitted');
  });

  test('refused → no audit, the correlation ID is free; but a used one is still 409', async () => {
    const limited = await user({ allow: ['read', 'payments'] });
    const api = gateway.as(limited);
    const bought = await api.purchase({ amount: 500, correlationId: 'limited-purchase' });
    expect(bought.status).toBe(201);
    const refund = (correlationId: string) =>
      api.post(
        `/transactions/${bought.body.audit}/refund`,
        {
          merchant: { id: 1 },
          transaction: { reference: 'r', amount_details: { total_amount: '1', currency: 'AUD' } },
        },
        correlationId,
      );
    expect((await refund('limited-refund')).code).toBe('operation_not_permitted');
    expect((await api.search('limited-refund')).body.results).toEqual([]);
    // Its first try may have been allowed.
    const repeated = await refund('limited-purchase');
    expect([repeated.status, repeated.code]).toEqual([409, 'correlation_id_already_used']);
  });

  test('changed → applied soon', async () => {
    const limited = await user({ allow: ['read'] });
    const api = gateway.as(limited);
    expect((await api.purchase()).code).toBe('operation_not_permitted');
    const allow: Permission[] = ['payments'];
    await limitUser(database, OPERATOR, gateway.credentialKey, limited.username, { allow });
    await expect.poll(async () => (await api.purchase()).status, SOON).toBe(201);
    expect((await api.search('x')).code).toBe('operation_not_permitted');
  });
});

describe('addresses', () => {
  const from = (api: Client, address: string) =>
    api.call('/transactions/2147483647', { headers: { 'x-forwarded-for': address } });

  // catches(callers: only from networks that they were given)
  test('from an allowed network → served; from elsewhere → 403, and a line in the log', async () => {
    const limited = await user({ fromAddresses: ['203.0.113.0/24', '2001:db8::/32'] });
    const api = gateway.as(limited);
    // The first is not known yet, the second is.
    for (const address of ['198.51.100.7', '203.0.113.9', '203.0.114.9', '2001:db8::7', '2001:db9::7']) {
      const { status, code } = await from(api, address);
      const allowed = address.startsWith('203.0.113.') || address.startsWith('2001:db8:');
      expect([address, status, code]).toEqual(
        allowed ? [address, 404, 'transaction_not_found'] : [address, 403, 'operation_not_permitted'],
      );
    }
    await expect
      .poll(() => gateway.logged())
      .toMatch(
        new RegExp(
          `"username":"${limited.username}","address":"198.51.100.7","count":1,"msg":"a user called from`,
        ),
      );
  });

  test('an invalid network → refused when it is set', async () => {
    await expect(user({ fromAddresses: ['203.0.113.0/33'] })).rejects.toMatchObject({
      code: 'network_unreadable',
    });
  });
});

describe('expiry', () => {
  // catches(credentials: a user ends when it was said to)
  test('an expired user → 401 as for an unknown one, even if cached; extended → served again', async () => {
    const limited = await user({ expires: new Date(Date.now() + 1_500) });
    const api = gateway.as(limited);
    const first = await api.purchase();
    // Unless the machine was too slow for it to be served at all.
    expect([201, 401]).toContain(first.status);
    await expect.poll(async () => (await api.search('x')).status, SOON).toBe(401);
    const expires = new Date(Date.now() + 3_600_000);
    await limitUser(database, OPERATOR, gateway.credentialKey, limited.username, { expires });
    await expect.poll(async () => (await api.search('x')).status, SOON).toBe(200);
  });

  test('in the past → refused when it is set', async () => {
    await expect(user({ expires: new Date(Date.now() - 1) })).rejects.toMatchObject({
      code: 'expiry_in_the_past',
    });
  });
});

describe('rotation with an overlap', () => {
  // catches(credentials: the secret before ends when it was said to)
  test('both secrets work; when it is over, only the new one', async () => {
    const before = await user();
    expect((await gateway.as(before).search('x')).status).toBe(200);
    const rotate = (overlapMs: number) =>
      rotateSecret(database, OPERATOR, gateway.credentialKey, before.username, { overlapMs });
    const after = await rotate(3_600_000);
    expect((await gateway.as(after).purchase()).status).toBe(201);
    expect((await gateway.as(before).purchase()).status).toBe(201);
    // A second rotation: the overlap is that of the secret before it.
    const last = await rotate(1_000);
    await expect.poll(async () => (await gateway.as(before).search('x')).status, SOON).toBe(401);
    await expect.poll(async () => (await gateway.as(after).search('x')).status, SOON).toBe(401);
    expect((await gateway.as(last).purchase()).status).toBe(201);
  });

  test('without an overlap, while an earlier one lasts → neither old secret works', async () => {
    const before = await user();
    const key = gateway.credentialKey;
    const after = await rotateSecret(database, OPERATOR, key, before.username, { overlapMs: 3_600_000 });
    const last = await rotateSecret(database, OPERATOR, key, before.username);
    expect((await gateway.as(last).search('x')).status).toBe(200);
    expect((await gateway.as(before).search('x')).status).toBe(401);
    expect((await gateway.as(after).search('x')).status).toBe(401);
  });
});

describe('merchants', () => {
  test('one that is ungranted → 403 as for an unknown one; the assigned merchant cannot be', async () => {
    const granted = await user({ grants: [2] });
    const api = gateway.as(granted);
    expect((await api.purchase({ merchant: 2 })).status).toBe(201);
    const key = gateway.credentialKey;
    await ungrantMerchant(database, OPERATOR, key, granted.username, 2);
    await expect
      .poll(async () => (await api.purchase({ merchant: 2 })).code, SOON)
      .toBe('merchant_not_permitted');
    await expect(ungrantMerchant(database, OPERATOR, key, granted.username, 1)).rejects.toMatchObject({
      code: 'merchant_assigned',
    });
    const told = await gateway.sql(
      `SELECT merchant_id, detail FROM journal WHERE action = 'user.ungranted' AND detail = $1`,
      [granted.username],
    );
    expect(told).toEqual([{ merchant_id: 2, detail: granted.username }]);
  });

  // catches(merchants: nothing is created for one that is suspended) slow
  test('a suspended one → nothing is created or changed, everything can be looked up; resumed → as before', async () => {
    const { body: bought } = await gateway.api.purchase({ merchant: 2, correlationId: 'before-suspension' });
    const customer = await gateway.api.call('/customers?merchant_id=2', {
      body: { reference: 'suspended', name: 'Ada' },
    });
    await suspendMerchant(database, OPERATOR, 2);
    const pay = () => gateway.api.purchase({ merchant: 2 });
    await expect
      .poll(async () => (await pay()).errors, SOON)
      .toEqual(['merchant_suspended body/merchant/id']);
    expect((await gateway.api.refund(bought.audit, 1, { merchant: 2 })).code).toBe('merchant_suspended');
    expect((await gateway.api.purchase({ merchant: 2, correlationId: 'before-suspension' })).status).toBe(
      409,
    );
    expect((await gateway.api.lookUp(bought.audit)).status).toBe(200);
    expect((await gateway.api.search('before-suspension', 2)).body.results).toHaveLength(1);
    const path = `/customers/${customer.body.id}?merchant_id=2`;
    expect((await gateway.api.get(path)).status).toBe(200);
    for (const method of ['PATCH', 'DELETE']) {
      const { errors } = await gateway.api.call(path, {
        method,
        ...(method === 'PATCH' && { body: { name: 'Eve' } }),
      });
      expect(errors).toEqual(['merchant_suspended query/merchant_id']);
    }
    // The others go on.
    expect((await gateway.api.purchase({ merchant: 1 })).status).toBe(201);
    await resumeMerchant(database, OPERATOR, 2);
    await expect.poll(async () => (await pay()).status, SOON).toBe(201);
  });
});
