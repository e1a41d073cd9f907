// The customer operations of the API.
import type { Customer } from '../../vault/customers.js';
import { PAGE_LIMIT } from '../limits.js';
import { operation } from '../operation.js';
import { decodeEnd, listLinks } from '../pages.js';
import { CUSTOMER } from './examples.js';
import { BASE_PATH } from './hal.js';
import {
  type Access,
  accessOf,
  accessToChange,
  customerPath,
  OF_CHANGING_VAULT,
  OF_VAULT,
  type VaultServices,
} from './vault-access.js';
import {
  CustomerChange,
  CustomerList,
  CustomerObject,
  CustomerPath,
  CustomerQuery,
  MerchantQuery,
  NewCustomer,
} from './vault-schemas.js';

function customerObject({ id, name, reference }: Customer, { suffix }: Access): CustomerObject {
  const self = customerPath(id);
  return {
    id,
    name,
    reference,
    _links: { self: { href: self + suffix }, tokens: { href: `${self}/tokens${suffix}` } },
  };
}

const EXAMPLE = { reference: 'customer-42', name: 'Ada Lovelace' };

export const CUSTOMER_OPERATIONS = [
  operation({
    id: 'searchCustomers',
    tag: 'Customers',
    method: 'GET',
    route: '/customers',
    summary: 'Search customers',
    description: 'Partial matches, in any case. Follow `_links.next` until it is absent.',
    permission: 'vault',
    query: CustomerQuery,
    success: { status: 200, description: 'A page of customers.', schema: CustomerList },
    problems: OF_VAULT,
    exampleAnswer: { _links: { first: { href: `${BASE_PATH}/customers` } }, results: [CUSTOMER] },
    async handle(request, { customers }: VaultServices) {
      const access = accessOf(request);
      const { query } = request;
      const { ordering = 'name', name, reference, limit = PAGE_LIMIT, offset = 0 } = query;
      const page = await customers.search(access, {
        ordering,
        name,
        reference,
        limit,
        offset,
        after: decodeEnd(query.after),
      });
      return {
        status: 200,
        merchantId: access.merchantId,
        body: {
          _links: listLinks('/v1/customers', query, page.end, { offset: offset + limit }),
          results: page.items.map((customer) => customerObject(customer, access)),
        },
      };
    },
  }),
  operation({
    id: 'findOrCreateCustomer',
    tag: 'Customers',
    method: 'POST',
    route: '/customers',
    summary: 'Look up or create a customer',
    description:
      'When the reference matches an existing customer, that one is returned (200) and keeps its name.',
    permission: 'vault',
    query: MerchantQuery,
    body: NewCustomer,
    example: EXAMPLE,
    success: { status: 201, description: 'Created.', schema: CustomerObject, located: true },
    alsoSuccess: { status: 200, description: 'There already.', schema: CustomerObject, located: true },
    problems: OF_CHANGING_VAULT,
    exampleAnswer: CUSTOMER,
    async handle(request, { customers }: VaultServices) {
      const access = accessToChange(request);
      const { customer, created } = await customers.findOrCreate(
        access,
        request.body.reference,
        request.body.name,
      );
      const body = customerObject(customer, access);
      return {
        status: created ? 201 : 200,
        merchantId: access.merchantId,
        body,
        location: body._links.self.href,
      };
    },
  }),
  operation({
    id: 'lookUpCustomer',
    tag: 'Customers',
    method: 'GET',
    route: '/customers/{customer_id}',
    summary: 'Look up a customer',
    description: 'The customer, with a link to its tokens.',
    permission: 'vault',
    path: CustomerPath,
    query: MerchantQuery,
    success: { status: 200, description: 'The customer.', schema: CustomerObject },
    problems: [...OF_VAULT, 'customer_not_found'],
    exampleAnswer: CUSTOMER,
    async handle(request, { customers }: VaultServices) {
      const access = accessOf(request);
      const customer = await customers.find(access, request.path.customer_id);
      return { status: 200, merchantId: access.merchantId, body: customerObject(customer, access) };
    },
  }),
  operation({
    id: 'updateCustomer',
    tag: 'Customers',
    method: 'PATCH',
    route: '/customers/{customer_id}',
    summary: 'Update a customer',
    description: 'Each field alone or together.',
    permission: 'vault',
    path: CustomerPath,
    query: MerchantQuery,
    body: CustomerChange,
    example: { name: EXAMPLE.name },
    success: { status: 200, description: 'The customer as it is now.', schema: CustomerObject },
    problems: [...OF_CHANGING_VAULT, 'customer_not_found', 'reference_in_use'],
    exampleAnswer: CUSTOMER,
    async handle(request, { customers }: VaultServices) {
      const access = accessToChange(request);
      const { reference, name } = request.body;
      const customer = await customers.update(access, request.path.customer_id, {
        ...(reference !== undefined && { reference }),
        ...(name !== undefined && { name }),
      });
      return { status: 200, merchantId: access.merchantId, body: customerObject(customer, access) };
    },
  }),
  operation({
    id: 'deleteCustomer',
    tag: 'Customers',
    method: 'DELETE',
    route: '/customers/{customer_id}',
    summary: 'Delete a customer',
    description: 'Its tokens go too, and their payment details are destroyed. Transactions stay.',
    permission: 'vault',
    path: CustomerPath,
    query: MerchantQuery,
    success: { status: 204, description: 'Deleted.' },
    problems: [...OF_CHANGING_VAULT, 'customer_not_found'],
    async handle(request, { customers }: VaultServices) {
      const access = accessToChange(request);
      await customers.delete(access, request.path.customer_id);
      return { status: 204, merchantId: access.merchantId };
    },
  }),
];
