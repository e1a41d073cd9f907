// Customers that are hard to search for, with the expected results and order.
import type { Answer, Json } from '../../testkit/client.js';
import type { TestGateway } from '../../testkit/gateway.js';
import { vaultOf } from '../../testkit/vault-client.js';

export interface Customer {
  readonly id: number;
  readonly name: string;
  readonly reference: string;
}

/** With ties in every key, mixed case, and wildcard characters. */
const NAMES: readonly (readonly [name: string, reference: string])[] = [
  ['Zoe', 'r-07'],
  ['ada', 'R-01'],
  ['Ada', 'r-02'],
  ['ADA', 'Z-99'],
  ['ada', 'a-1'],
  ['Grace Hopper', 'r-05'],
  ['grace hopper', 'R-06'],
  ['Barbara', 'b_1'],
  ['barbara', 'B-1'],
  ['100% Fun', 'p%q'],
  ['100 Fun', 'pxq'],
  ['under_score', 'u_s'],
  ['underXscore', 'uxs'],
  ['back`tick', 'b`t'],
  ['backtick', 'bt'],
  ['_', '_'],
  ['%', '%'],
  ['[a-z]', '[r]'],
  ['~tilde', '~t'],
  ['!first', '!f'],
  ['(brackets)', '(b)'],
  ['a+b & c', 'a+b'],
  ['x', 'x'],
];

/** Adds them to merchant 2, and others to other merchants, which must never appear. */
export async function addSearchedCustomers(gateway: TestGateway): Promise<Customer[]> {
  const vault = vaultOf(gateway.api, 2);
  const customers: Customer[] = [];
  for (const [name, reference] of NAMES) {
    const { body } = await vault.addCustomer({ name, reference });
    customers.push({ id: body.id, name, reference });
  }
  await vaultOf(gateway.api).addCustomer({ name: 'Ada of merchant 1', reference: 'r-1' });
  await vaultOf(gateway.as(gateway.stranger)).addCustomer({ name: 'Ada the stranger', reference: 'r-1' });
  return customers;
}

export const resultsOf = ({ body }: Answer): Customer[] =>
  body.results.map(({ id, name, reference }: Json) => ({ id, name, reference }));

/** In the order of the ordering: case-insensitive, ties by ID. */
export function inOrder(list: readonly Customer[], ordering: string): Customer[] {
  const key = (customer: Customer) =>
    ordering === 'customer_id' ? '' : customer[ordering as 'name' | 'reference'].toLowerCase();
  return [...list].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.id - b.id));
}
