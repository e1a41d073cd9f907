// The fields of a token: what each may hold, and how a mistake in it is refused.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client, Json } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { bankAccount, cardAccount, type Vault, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let api: Client;
let vault: Vault;
let customerId: number;

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  vault = vaultOf(api);
  customerId = await vault.newCustomer();
});
afterAll(() => gateway.close());

const card = (change: Json) => ({ account: cardAccount(change) });
const bank = (change: Json) => ({ account: bankAccount(change) });
const CARD_AT = 'body/account/general_creditcard';
const BANK_AT = 'body/account/general_bankaccount';

test('create and update with a wrong field → 422 with its location', () =>
  expectEach<[string, Json, string]>(
    [
      ['an empty preferred_name', { preferred_name: '' }, 'field_too_short body/preferred_name'],
      ['too long a preferred_name', { preferred_name: 'x'.repeat(51) }, 'field_too_long body/preferred_name'],
      ['a number for preferred_name', { preferred_name: 1 }, 'field_type body/preferred_name'],
      ['null for preferred_name', { preferred_name: null }, 'field_type body/preferred_name'],
      ['a quote in preferred_name', { preferred_name: "Ada's" }, 'field_charset body/preferred_name'],
      [
        'a card in preferred_name',
        { preferred_name: 'my 4111 1111 1111 1111' },
        'card_number_misplaced body/preferred_name',
      ],
      ['a text for active', { active: 'true' }, 'field_type body/active'],
      ['a number for active', { active: 1 }, 'field_type body/active'],
      ['null for active', { active: null }, 'field_type body/active'],
      ['a text for account', { account: 'x' }, 'field_type body/account'],
      ['null for account', { account: null }, 'field_type body/account'],
      ['a list for account', { account: [] }, 'field_type body/account'],
      ['no account type', { account: {} }, 'field_missing body/account'],
      ['an account type nobody knows', { account: { general_wallet: {} } }, 'field_missing body/account'],
      [
        'both account types',
        { account: { ...cardAccount(), ...bankAccount() } },
        'field_format body/account',
      ],
      ['null for a card', { account: { general_creditcard: null } }, `field_type ${CARD_AT}`],
      [
        'a PAN that fails Luhn',
        card({ 'CARD.PAN': '4111111111111112' }),
        `card_number_invalid ${CARD_AT}/CARD.PAN`,
      ],
      [
        'a virtual PAN for a PAN',
        card({ 'CARD.PAN': '9000000000000001' }),
        `card_number_invalid ${CARD_AT}/CARD.PAN`,
      ],
      ['a PAN of 11 digits', card({ 'CARD.PAN': '41111111111' }), `field_format ${CARD_AT}/CARD.PAN`],
      [
        'a PAN of 20 digits',
        card({ 'CARD.PAN': '41111111111111111111' }),
        `field_format ${CARD_AT}/CARD.PAN`,
      ],
      ['a PAN with spaces', card({ 'CARD.PAN': '4111 1111 1111 1111' }), `field_format ${CARD_AT}/CARD.PAN`],
      ['a number for a PAN', card({ 'CARD.PAN': 4111111111111111 }), `field_type ${CARD_AT}/CARD.PAN`],
      ['an expiry of three digits', card({ 'CARD.EXPIRY': '123' }), `field_format ${CARD_AT}/CARD.EXPIRY`],
      ['an expiry with a slash', card({ 'CARD.EXPIRY': '12/39' }), `field_format ${CARD_AT}/CARD.EXPIRY`],
      ['an expiry without a month', card({ 'CARD.EXPIRY': '0013' }), `field_format ${CARD_AT}/CARD.EXPIRY`],
      ['a masked expiry', card({ 'CARD.EXPIRY': '****' }), `field_format ${CARD_AT}/CARD.EXPIRY`],
      ['a number for an expiry', card({ 'CARD.EXPIRY': 1239 }), `field_type ${CARD_AT}/CARD.EXPIRY`],
      ['an empty CARD.NAME', card({ 'CARD.NAME': '' }), `field_too_short ${CARD_AT}/CARD.NAME`],
      ['too long a CARD.NAME', card({ 'CARD.NAME': 'x'.repeat(61) }), `field_too_long ${CARD_AT}/CARD.NAME`],
      ['an accent in CARD.NAME', card({ 'CARD.NAME': 'Andr\u00e9' }), `field_charset ${CARD_AT}/CARD.NAME`],
      [
        'a card in CARD.NAME',
        card({ 'CARD.NAME': '4111111111111111' }),
        `card_number_misplaced ${CARD_AT}/CARD.NAME`,
      ],
      ['a BSB of five digits', bank({ 'BANK.BSB': '06200' }), `field_format ${BANK_AT}/BANK.BSB`],
      ['a BSB with a misplaced hyphen', bank({ 'BANK.BSB': '06-2000' }), `field_format ${BANK_AT}/BANK.BSB`],
      ['a number for a BSB', bank({ 'BANK.BSB': 62000 }), `field_type ${BANK_AT}/BANK.BSB`],
      [
        'an account number of one digit',
        bank({ 'BANK.ACCOUNT_NUMBER': '1' }),
        `field_format ${BANK_AT}/BANK.ACCOUNT_NUMBER`,
      ],
      [
        'an account number of ten digits',
        bank({ 'BANK.ACCOUNT_NUMBER': '1234567890' }),
        `field_format ${BANK_AT}/BANK.ACCOUNT_NUMBER`,
      ],
      [
        'an account number with a letter',
        bank({ 'BANK.ACCOUNT_NUMBER': '12x4' }),
        `field_format ${BANK_AT}/BANK.ACCOUNT_NUMBER`,
      ],
      [
        'an empty account name',
        bank({ 'BANK.ACCOUNT_NAME': '' }),
        `field_too_short ${BANK_AT}/BANK.ACCOUNT_NAME`,
      ],
      [
        'too long an account name',
        bank({ 'BANK.ACCOUNT_NAME': 'x'.repeat(33) }),
        `field_too_long ${BANK_AT}/BANK.ACCOUNT_NAME`,
      ],
    ],
    async ([_what, change, error]) => {
      const { id } = await vault.newToken({}, customerId);
      const before = (await vault.lookUpToken(customerId, id)).text;
      for (const answer of [
        await vault.addToken(customerId, change),
        await vault.changeToken(customerId, id, change),
      ]) {
        expect([answer.status, ...answer.errors]).toEqual([422, error]);
        expect(answer.text).not.toMatch(/[0-9]{11}/);
      }
      expect((await vault.lookUpToken(customerId, id)).text).toBe(before);
    },
  ));

test('create with fields at their limits → 201', () =>
  expectEach(
    [
      ['preferred_name of 1 character', { preferred_name: 'x' }],
      ['preferred_name of 50 characters', { preferred_name: 'y'.repeat(50) }],
      ['every mark in preferred_name', { preferred_name: ' !#$%&()*+,-./:;<=>?@[]^_`{|}~' }],
      ['CARD.NAME of 1 character', card({ 'CARD.NAME': 'x' })],
      ['CARD.NAME of 60 characters', card({ 'CARD.NAME': 'x'.repeat(60) })],
      ['an account name of 32 characters', bank({ 'BANK.ACCOUNT_NAME': 'x'.repeat(32) })],
    ],
    async ([_what, change]) => {
      const answer = await vault.addToken(customerId, change);
      expect(answer.status).toBe(201);
      if ('preferred_name' in change) expect(answer.body.preferred_name).toBe(change.preferred_name);
    },
  ));

test('create with an empty body → every missing field, all together', async () => {
  const answer = await api.call(`/customers/${customerId}/tokens`, { body: {}, correlationId: null });
  expect(answer.status).toBe(422);
  expect(answer.errors.sort()).toEqual([
    'field_missing body/account',
    'field_missing body/active',
    'field_missing body/preferred_name',
    'field_missing header/X-Correlation-Id',
  ]);
});

test('create with everything wrong → every problem with its location, all together', async () => {
  const account = cardAccount({
    'CARD.PAN': '4111111111111112',
    'CARD.EXPIRY': '1',
    'CARD.NAME': '"'.repeat(61),
  });
  const answer = await api.call('/customers/x/tokens?merchant_id=2147483648', {
    body: { preferred_name: '', active: 'yes', account },
    correlationId: 'a b',
  });
  expect(answer.status).toBe(422);
  expect(answer.errors.sort()).toEqual(
    [
      `card_number_invalid ${CARD_AT}/CARD.PAN`,
      `field_charset ${CARD_AT}/CARD.NAME`,
      'field_charset header/X-Correlation-Id',
      `field_format ${CARD_AT}/CARD.EXPIRY`,
      'field_out_of_range query/merchant_id',
      `field_too_long ${CARD_AT}/CARD.NAME`,
      'field_too_short body/preferred_name',
      'field_type body/active',
      'field_type path/customer_id',
    ].sort(),
  );
});

test.each(['CARD.PAN', 'CARD.EXPIRY', 'CARD.NAME'])(
  'create a card token without %s → 422 field_missing',
  async (field) => {
    const account = cardAccount();
    delete account.general_creditcard[field];
    const answer = await vault.addToken(customerId, { account });
    expect([answer.status, ...answer.errors]).toEqual([422, `field_missing ${CARD_AT}/${field}`]);
  },
);

test.each(['BANK.BSB', 'BANK.ACCOUNT_NUMBER', 'BANK.ACCOUNT_NAME'])(
  'create a bank account token without %s → 422 field_missing',
  async (field) => {
    const account = bankAccount();
    delete account.general_bankaccount[field];
    const answer = await vault.addToken(customerId, { account });
    expect([answer.status, ...answer.errors]).toEqual([422, `field_missing ${BANK_AT}/${field}`]);
  },
);

test('look up, update or delete an invalid token ID → 422', () =>
  expectEach(
    [
      ['0', 'field_out_of_range'],
      ['2147483648', 'field_out_of_range'],
      ['x', 'field_type'],
      ['-1', 'field_type'],
    ],
    async ([id, code]) => {
      for (const [method, body] of [['GET'], ['PATCH', {}], ['DELETE']] as const) {
        const answer = await api.call(`/customers/${customerId}/tokens/${id}`, { method, body });
        expect([answer.status, ...answer.errors]).toEqual([422, `${code} path/token_id`]);
      }
    },
  ));
