// Customers and tokens on the console: found by what an operator knows of them, masked, and only within their organisation.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../testkit/client.js';
import { type ConsoleClient, signedIn } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type NewToken, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let ours: ConsoleClient;
let theirs: ConsoleClient;
let token: NewToken;

beforeAll(async () => {
  gateway = await testGateway();
  token = await vaultOf(gateway.api).newToken();
  ours = await signedIn(gateway, { role: 'viewer', organisation: 1 });
  theirs = await signedIn(gateway, { role: 'viewer', organisation: 2 });
});
afterAll(() => gateway.close());

async function nameOfCustomer(): Promise<string> {
  const [row] = await gateway.sql<{ name: string }>('SELECT name FROM customer WHERE id = $1', [
    token.customerId,
  ]);
  return row?.name as string;
}

describe('customers', () => {
  test('by a part of a name, a number, a virtual PAN → the customer, and its tokens masked', async () => {
    const name = await nameOfCustomer();
    for (const q of [name.slice(1, 6), String(token.customerId), token.virtualPan]) {
      const { body, text } = await ours.get(`/customers?q=${encodeURIComponent(q)}`);
      expect(body.results, text).toEqual([
        expect.objectContaining({ organisation: 1, id: token.customerId, name }),
      ]);
    }
    const { body, text } = await ours.get(`/customers/1/${token.customerId}`);
    expect(body.tokens).toEqual([
      expect.objectContaining({
        id: token.id,
        virtual_pan: token.virtualPan,
        account: '411111******1111',
        active: true,
      }),
    ]);
    expect(body.journal.map(({ action }: Json) => action)).toEqual(['token.created', 'customer.created']);
    expect(text).not.toContain('4111111111111111');
  });

  // catches(console: customers of an operator keep within the organisation)
  test('customers of another organisation → not found; a card number → refused', async () => {
    expect((await theirs.get('/customers')).body).toEqual({ results: [], next: null });
    expect((await theirs.get(`/tokens?virtual_pan=${token.virtualPan}`)).body).toEqual([]);
    expect((await ours.get(`/tokens?virtual_pan=${token.virtualPan}`)).body).toHaveLength(1);
    expect((await ours.get('/customers?q=4111111111111111')).body.error_code).toBe('card_number_misplaced');
  });

  test('page by page → each customer once, in the order of their names', async () => {
    const vault = vaultOf(gateway.api);
    for (const name of ['Bea', 'Ada', 'Cyd']) await vault.addCustomer({ name });
    const seen: string[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const { body } = await ours.get(`/customers?limit=1${after === '' ? '' : `&after=${after}`}`);
      seen.push(...body.results.map(({ name }: Json) => name));
      after = body.next;
    }
    expect(seen).toEqual(seen.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)));
    expect(seen).toEqual(expect.arrayContaining(['Ada', 'Bea', 'Cyd']));
  });
});
