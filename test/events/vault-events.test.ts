// Events of customers and tokens: written with each change, and showing what a look-up answered then.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addUser } from '../../src/organisations/users/users.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import type { Client, Json } from '../../testkit/client.js';
import { everyEvent, nextOf, toldOf } from '../../testkit/event-feed.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type Vault, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let vault: Vault;
beforeAll(async () => {
  gateway = await testGateway();
  vault = vaultOf(gateway.api);
});
afterAll(() => gateway.close());

/** Where the feed ends now. */
async function end(): Promise<string> {
  return (await everyEvent(gateway.api)).next;
}

async function since(next: string): Promise<Json[]> {
  return (await everyEvent(gateway.api, next)).events;
}

test('customer created, changed and deleted with its token → an event each, with what a look-up showed then', async () => {
  const from = await end();
  const { id } = (await vault.addCustomer({ reference: 'told', name: 'Ada' })).body;
  const created = (await vault.lookUpCustomer(id)).body;
  await vault.changeCustomer(id, { name: 'Ada {Countess} Lovelace' });
  const updated = (await vault.lookUpCustomer(id)).body;
  const token = await vault.newToken({ preferred_name: 'First' }, id);
  await vault.changeToken(id, token.id, { active: false, preferred_name: 'Second' });
  await vault.deleteCustomer(id);
  const told = await since(from);
  const customer = `/v1/customers/${id}`;
  const self = `${customer}/tokens/${token.id}`;
  expect(toldOf(told, customer)).toEqual(['customer.created 1', 'customer.updated 2', 'customer.deleted 3']);
  expect(toldOf(told, self)).toEqual(['token.created 1', 'token.updated 2', 'token.deleted 3']);
  const links = {
    self: { href: `${customer}?merchant_id=1` },
    tokens: { href: `${customer}/tokens?merchant_id=1` },
  };
  const dataOf = (type: string) => told.find((event) => event.type === type)?.data;
  expect(dataOf('customer.created')).toEqual({ ...created, _links: links });
  expect(dataOf('customer.updated')).toEqual({ ...updated, _links: links });
  expect(dataOf('customer.deleted')).toEqual({ ...updated, _links: links });
  const tokenData = (preferred_name: string, active: boolean) => ({
    id: token.id,
    virtual_pan: token.virtualPan,
    preferred_name,
    active,
    _links: { self: { href: `${self}?merchant_id=1` }, customer: { href: `${customer}?merchant_id=1` } },
  });
  expect(dataOf('token.created')).toEqual(tokenData('First', true));
  expect(dataOf('token.updated')).toEqual(tokenData('Second', false));
  expect(dataOf('token.deleted')).toEqual(tokenData('Second', false));
});

test('token deleted; customer found again; refused changes → one event for the first, none for the others', async () => {
  const { customerId, id } = await vault.newToken({ preferred_name: 'Only' });
  const { reference, name } = (await vault.lookUpCustomer(customerId)).body;
  const other = (await vault.addCustomer()).body;
  const from = await end();
  expect((await vault.addCustomer({ reference, name })).status).toBe(200);
  expect((await vault.changeCustomer(customerId, { reference: other.reference })).status).toBe(422);
  expect((await vault.addToken(customerId, { preferred_name: 'Only' })).status).toBe(422);
  await vault.deleteToken(customerId, id);
  expect((await vault.deleteToken(customerId, id)).status).toBe(404);
  expect((await since(from)).map(({ type, version }) => [type, version])).toEqual([['token.deleted', 2]]);
});

test('names of maximum length → fit into an event', async () => {
  const from = await end();
  const [name, reference, preferred_name] = ['{'.repeat(60), '&'.repeat(50), '`'.repeat(50)];
  const { id } = (await vault.addCustomer({ name, reference })).body;
  expect((await vault.addToken(id, { preferred_name })).status).toBe(201);
  const [made, token] = await since(from);
  expect([made.data.name, made.data.reference, token.data.preferred_name]).toEqual([
    name,
    reference,
    preferred_name,
  ]);
});

/** A user that may read transactions, and nothing of the vault. */
async function reader(username: string): Promise<Client> {
  const database = operatorsDatabase(gateway);
  try {
    const wish = { merchant: 1, allow: ['read' as const] };
    return gateway.as(await addUser(database, 'operator:test', gateway.credentialKey, username, wish));
  } finally {
    await database.close();
  }
}

// catches(events: those of the vault are for users with the permission vault)
test('user without the permission vault → gets events of transactions only, each once, whatever comes between', async () => {
  const api = await reader('reads-pages');
  const from = await end();
  await vault.newToken({ preferred_name: 'Before' });
  const first = (await gateway.api.purchase()).body.audit;
  const { customerId, id } = await vault.newToken({ preferred_name: 'Between' });
  await vault.changeToken(customerId, id, { active: false });
  const second = (await gateway.api.purchase()).body.audit;
  await vault.deleteCustomer(customerId);
  expect((await since(from)).map(({ type }) => type)).toContain('token.deleted');
  for (const limit of [1, 2, 100]) {
    const { events } = await everyEvent(api, from.replace('limit=100', `limit=${limit}`));
    expect(events.map(({ type, data }) => [type, data.audit])).toEqual([
      ['transaction.approved', first],
      ['transaction.approved', second],
    ]);
  }
  const all = await everyEvent(api);
  expect(new Set(all.events.map(({ type }) => type.split('.')[0]))).toEqual(new Set(['transaction']));
  // Events that were not shown are behind the cursor too: they are not scanned again.
  expect(await since(all.next)).toEqual([]);
});

// catches(events: whoever waits is not told of what it may not see)
test('user without the permission vault that waits → a customer’s event does not end the wait, the next purchase does', async () => {
  const api = await reader('reads-waiting');
  const { next } = await everyEvent(api);
  const told = api.get(`${next}&wait=30`);
  await vault.addCustomer({ reference: 'not-shown', name: 'Not Shown' });
  // A caller that may see the event gets it: waiting requests have been woken.
  const owners = await gateway.api.get(`${next}&wait=30`);
  expect(owners.body.results.map((event: Json) => event.type)).toEqual(['customer.created']);
  const { audit } = (await gateway.api.purchase()).body;
  const { body } = await told;
  expect(body.results.map((event: Json) => [event.type, event.data.audit])).toEqual([
    ['transaction.approved', audit],
  ]);
  expect(await since(nextOf(body))).toEqual([]);
});
