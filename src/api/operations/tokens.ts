// The token operations of the API.
import { BankAccount } from '../../values/bank-account.js';
import { CardNumber, isVirtualPan, parseExpiry } from '../../values/card.js';
import type { CustomerId } from '../../values/ids.js';
import { type Account, eraseSecrets } from '../../vault/account.js';
import type { Token } from '../../vault/tokens.js';
import { PAGE_LIMIT } from '../limits.js';
import { operation } from '../operation.js';
import { decodeEnd, listLinks } from '../pages.js';
import { type Problem, problem } from '../problems.js';
import { TOKEN } from './examples.js';
import { BASE_PATH } from './hal.js';
import {
  type Access,
  accessOf,
  accessToChange,
  customerPath,
  OF_CHANGING_VAULT,
  OF_VAULT,
  tokenPath,
  type VaultServices,
} from './vault-access.js';
import {
  type AccountWish,
  CustomerPath,
  MerchantQuery,
  NewToken,
  TokenChange,
  TokenList,
  TokenObject,
  TokenPath,
  TokenQuery,
} from './vault-schemas.js';

function tokenObject(token: Token, customerId: CustomerId, { suffix }: Access): TokenObject {
  return {
    id: token.id,
    virtual_pan: token.virtualPan,
    preferred_name: token.preferredName,
    active: token.active,
    account: { [token.accountType]: token.shown },
    _links: {
      self: { href: tokenPath(customerId, token.id) + suffix },
      customer: { href: customerPath(customerId) + suffix },
    },
  };
}

/** Exactly one account type, and a real card: a virtual PAN cannot be stored again. */
function reviewAccount(body: unknown, problems: Problem[]): Problem[] {
  return [...problems, ...accountProblems(body)];
}

function accountProblems(body: unknown): Problem[] {
  const account = (body as { account?: unknown } | null | undefined)?.account;
  if (typeof account !== 'object' || account === null || Array.isArray(account)) return [];
  const { general_creditcard: card, general_bankaccount: bank } = account as Partial<AccountWish>;
  if ((card === undefined) === (bank === undefined)) {
    const code = card === undefined ? 'field_missing' : 'field_format';
    return [
      problem(
        code,
        ['body', 'account'],
        'Exactly one of general_creditcard and general_bankaccount is needed.',
      ),
    ];
  }
  const pan = (card as { 'CARD.PAN'?: unknown } | null | undefined)?.['CARD.PAN'];
  const virtual = typeof pan === 'string' && isVirtualPan(pan);
  return virtual
    ? [problem('card_number_invalid', ['body', 'account', 'general_creditcard', 'CARD.PAN'])]
    : [];
}

function accountOf({ general_creditcard: card, general_bankaccount: bank }: AccountWish): Account {
  if (card !== undefined) {
    const expiry = parseExpiry(card['CARD.EXPIRY']);
    if (expiry === undefined) throw new Error('the expiry date was not checked');
    const number = new CardNumber(card['CARD.PAN']);
    // Masked, because the request keeps its body until it is answered.
    card['CARD.PAN'] = number.mask;
    return { type: 'general_creditcard', number, expiry, name: card['CARD.NAME'] };
  }
  if (bank === undefined) throw new Error('the account was not checked');
  const { 'BANK.BSB': bsb, 'BANK.ACCOUNT_NUMBER': number, 'BANK.ACCOUNT_NAME': name } = bank;
  return { type: 'general_bankaccount', bankAccount: new BankAccount(bsb, number, name) };
}

const EXAMPLE = {
  preferred_name: 'Everyday card',
  active: true,
  account: {
    general_creditcard: {
      'CARD.PAN': '4111111111111111',
      'CARD.EXPIRY': '1230',
      'CARD.NAME': 'Ada Lovelace',
    },
  },
};

export const TOKEN_OPERATIONS = [
  operation({
    id: 'listTokens',
    tag: 'Tokens',
    method: 'GET',
    route: '/customers/{customer_id}/tokens',
    summary: "List a customer's tokens",
    description: 'In the order of their IDs. Follow `_links.next` until it is absent.',
    permission: 'vault',
    path: CustomerPath,
    query: TokenQuery,
    success: { status: 200, description: 'A page of tokens.', schema: TokenList },
    problems: [...OF_VAULT, 'customer_not_found'],
    exampleAnswer: { _links: { first: { href: `${BASE_PATH}/customers/1/tokens` } }, results: [TOKEN] },
    async handle(request, { tokens }: VaultServices) {
      const access = accessOf(request);
      const { customer_id: customerId } = request.path;
      const { limit = PAGE_LIMIT, offset = 0, after } = request.query;
      const page = await tokens.list(access, customerId, { limit, offset, after: decodeEnd(after)?.id });
      return {
        status: 200,
        merchantId: access.merchantId,
        body: {
          _links: listLinks(`${customerPath(customerId)}/tokens`, request.query, page.end, {
            offset: offset + limit,
          }),
          results: page.items.map((token) => tokenObject(token, customerId, access)),
        },
      };
    },
  }),
  operation({
    id: 'createToken',
    tag: 'Tokens',
    method: 'POST',
    route: '/customers/{customer_id}/tokens',
    summary: 'Create a token',
    description: 'Stores a card or a bank account, and hands out a virtual PAN that stands for it.',
    permission: 'vault',
    path: CustomerPath,
    query: MerchantQuery,
    body: NewToken,
    reviewBody: reviewAccount,
    example: EXAMPLE,
    success: { status: 201, description: 'Created.', schema: TokenObject, located: true },
    problems: [...OF_CHANGING_VAULT, 'customer_not_found', 'preferred_name_in_use'],
    exampleAnswer: TOKEN,
    async handle(request, { tokens }: VaultServices) {
      const access = accessToChange(request);
      const { customer_id: customerId } = request.path;
      const { preferred_name: preferredName, active } = request.body;
      const account = accountOf(request.body.account);
      const token = await tokens
        .create(access, customerId, { preferredName, active, account })
        .finally(() => eraseSecrets(account));
      const body = tokenObject(token, customerId, access);
      return { status: 201, merchantId: access.merchantId, body, location: body._links.self.href };
    },
  }),
  operation({
    id: 'lookUpToken',
    tag: 'Tokens',
    method: 'GET',
    route: '/customers/{customer_id}/tokens/{token_id}',
    summary: 'Look up a token',
    description: 'The token, with its payment details masked.',
    permission: 'vault',
    path: TokenPath,
    query: MerchantQuery,
    success: { status: 200, description: 'The token.', schema: TokenObject },
    problems: [...OF_VAULT, 'customer_not_found', 'token_not_found'],
    exampleAnswer: TOKEN,
    async handle(request, { tokens }: VaultServices) {
      const access = accessOf(request);
      const { customer_id: customerId, token_id: tokenId } = request.path;
      const token = await tokens.find(access, customerId, tokenId);
      return { status: 200, merchantId: access.merchantId, body: tokenObject(token, customerId, access) };
    },
  }),
  operation({
    id: 'updateToken',
    tag: 'Tokens',
    method: 'PATCH',
    route: '/customers/{customer_id}/tokens/{token_id}',
    summary: 'Update a token',
    description:
      'Each field alone or together. A new account replaces the payment details; id and virtual PAN stay.',
    permission: 'vault',
    path: TokenPath,
    query: MerchantQuery,
    body: TokenChange,
    reviewBody: reviewAccount,
    example: { active: false },
    success: { status: 200, description: 'The token as it is now.', schema: TokenObject },
    problems: [...OF_CHANGING_VAULT, 'customer_not_found', 'token_not_found', 'preferred_name_in_use'],
    exampleAnswer: TOKEN,
    async handle(request, { tokens }: VaultServices) {
      const access = accessToChange(request);
      const { customer_id: customerId, token_id: tokenId } = request.path;
      const { preferred_name: preferredName, active, account: wish } = request.body;
      const account = wish && accountOf(wish);
      const token = await tokens
        .update(access, customerId, tokenId, { preferredName, active, account })
        .finally(() => eraseSecrets(account));
      return { status: 200, merchantId: access.merchantId, body: tokenObject(token, customerId, access) };
    },
  }),
  operation({
    id: 'deleteToken',
    tag: 'Tokens',
    method: 'DELETE',
    route: '/customers/{customer_id}/tokens/{token_id}',
    summary: 'Delete a token',
    description: 'Its payment details are destroyed; its virtual PAN is never handed out again.',
    permission: 'vault',
    path: TokenPath,
    query: MerchantQuery,
    success: { status: 204, description: 'Deleted.' },
    problems: [...OF_CHANGING_VAULT, 'customer_not_found', 'token_not_found'],
    async handle(request, { tokens }: VaultServices) {
      const access = accessToChange(request);
      await tokens.delete(access, request.path.customer_id, request.path.token_id);
      return { status: 204, merchantId: access.merchantId };
    },
  }),
];
