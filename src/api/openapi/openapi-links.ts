// Where an answer leads: by the links of the OpenAPI document a tool finds its way from one operation to the next.

export interface OpenApiLink {
  readonly operationId: string;
  readonly parameters: Readonly<Record<string, string>>;
}

type Parameters = OpenApiLink['parameters'];

/** Where a request named no merchant, there is nothing to take along, and a tool leaves the parameter out. */
const IN_THE_SAME_VAULT = { merchant_id: '$request.query.merchant_id' };
const TRANSACTION = { audit: '$response.body#/audit' };
const CUSTOMER = { customer_id: '$response.body#/id', ...IN_THE_SAME_VAULT };
const TOKEN = {
  customer_id: '$request.path.customer_id',
  token_id: '$response.body#/id',
  ...IN_THE_SAME_VAULT,
};
const CUSTOMER_OF_TOKEN = { customer_id: '$request.path.customer_id', ...IN_THE_SAME_VAULT };

const FROM_TRANSACTION = (...operations: string[]) => to(TRANSACTION, 'lookUpTransaction', ...operations);
const FROM_CUSTOMER = to(
  CUSTOMER,
  'lookUpCustomer',
  'updateCustomer',
  'deleteCustomer',
  'listTokens',
  'createToken',
);
const FROM_TOKEN = {
  ...to(TOKEN, 'lookUpToken', 'updateToken', 'deleteToken'),
  ...to(CUSTOMER_OF_TOKEN, 'lookUpCustomer'),
};

/** By the operation that was answered: what may follow, whether this very answer allows it or not. */
const LINKS: Readonly<Record<string, Readonly<Record<string, OpenApiLink>>>> = {
  createPurchase: FROM_TRANSACTION('createRefund', 'voidTransaction'),
  createPreauthorisation: FROM_TRANSACTION('createCompletion', 'voidTransaction'),
  createCompletion: FROM_TRANSACTION('createRefund', 'voidTransaction'),
  createRefund: FROM_TRANSACTION('voidTransaction'),
  createStandaloneRefund: FROM_TRANSACTION('voidTransaction'),
  voidTransaction: FROM_TRANSACTION(),
  lookUpTransaction: to(TRANSACTION, 'createCompletion', 'createRefund', 'voidTransaction'),
  findOrCreateCustomer: FROM_CUSTOMER,
  lookUpCustomer: FROM_CUSTOMER,
  updateCustomer: FROM_CUSTOMER,
  createToken: FROM_TOKEN,
  lookUpToken: FROM_TOKEN,
  updateToken: FROM_TOKEN,
};

function to(parameters: Parameters, ...operations: readonly string[]): Record<string, OpenApiLink> {
  return Object.fromEntries(operations.map((operationId) => [operationId, { operationId, parameters }]));
}

export function linksOf(operationId: string): Record<string, OpenApiLink> | undefined {
  return LINKS[operationId];
}
