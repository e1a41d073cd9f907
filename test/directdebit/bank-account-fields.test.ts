// What a request with a bank account may look like, and how each mistake in one is told.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setSurcharges } from '../../src/organisations/surcharges.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { type Answer, BANK_ACCOUNT, type Json, paymentBody } from '../../testkit/client.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { bankAccount, cardAccount, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
  const database = operatorsDatabase(gateway);
  await setSurcharges(database, 'operator:test', 2, [{ scope: 'method:bankaccount', thousandths: 1_500 }]);
  await database.close();
});
afterAll(() => gateway.close());

const METHOD = 'body/transaction/payment_method';
const AT = `${METHOD}/bankaccount`;
const AMOUNT = 'body/transaction/amount_details';

async function shown({ status, text, body }: Answer): Promise<Json> {
  if (status !== 201) throw new Error(`not created: ${text}`);
  expect(body.status.transaction_status_code).toBe('pending');
  return (await gateway.api.lookUp(body.audit)).body.transaction;
}

async function expectRefused(sending: Promise<Answer>, ...errors: string[]): Promise<void> {
  const answer = await sending;
  expect([answer.status, ...answer.errors].sort()).toEqual([422, ...errors].sort());
}

/** Every payment that takes a bank account, with this body. */
async function expectBothRefused(body: Json, ...errors: string[]): Promise<void> {
  for (const path of ['/transactions/purchase', '/transactions/refund']) {
    await expectRefused(gateway.api.post(path, body), ...errors);
  }
}

/** A purchase's body with this in the place of its payment method. */
function withMethod(payment_method: Json): Json {
  const body = paymentBody();
  body.transaction.payment_method = payment_method;
  return body;
}

describe('a bank account that is taken', () => {
  test('any spelling → shown in one form', () =>
    expectEach(
      [
        [{ bsb: '062-000' }, { bsb: '062-000' }],
        [{ bsb: '062000' }, { bsb: '062-000' }],
        [{ account_number: '12' }, { account_number: '**' }],
        [{ account_number: '999999999' }, { account_number: '******999' }],
        [{ account_number: '000000001' }, { account_number: '******001' }],
        [{ account_number: ' 12-34 56 - 78 ' }, { account_number: '*****678' }],
        [{ account_name: 'x' }, { account_name: 'x' }],
        [{ account_name: 'x'.repeat(32) }, { account_name: 'x'.repeat(32) }],
      ],
      async ([change, expected]) => {
        const { payment_method } = await shown(await gateway.api.purchase({ bankAccount: change }));
        expect(payment_method).toEqual({
          bankaccount: {
            bsb: '062-000',
            account_number: '******789',
            account_name: 'A Customer',
            ...expected,
          },
        });
      },
    ));

  test('a name with every character that banks accept → shown as it was sent', async () => {
    for (const account_name of ['AZaz09 !#$%&()*+,-./:;=?@[]^_', 'x[y]^_ (z) #1']) {
      const { payment_method } = await shown(await gateway.api.purchase({ bankAccount: { account_name } }));
      expect(payment_method.bankaccount.account_name).toBe(account_name);
    }
  });

  test('unknown members → ignored', async () => {
    const method = { bankaccount: { ...BANK_ACCOUNT, type: 'savings' }, cash: true };
    const { payment_method } = await shown(
      await gateway.api.post('/transactions/purchase', withMethod(method)),
    );
    expect(payment_method).toEqual({ bankaccount: { ...BANK_ACCOUNT, account_number: '******789' } });
  });
});

describe('a bank account that is refused', () => {
  test('a name with a character that banks do not accept → field_charset', () =>
    expectEach([...'<>`{|}~\'"\\é\t'], (character) =>
      expectBothRefused(
        paymentBody({ bankAccount: { account_name: `A${character}B` } }),
        `field_charset ${AT}/account_name`,
      ),
    ));

  test('any wrong field → 422, purchase and standalone refund', () =>
    expectEach<[string, Json, string]>(
      [
        ['a BSB of five digits', { bsb: '06200' }, `field_format ${AT}/bsb`],
        ['a BSB of seven digits', { bsb: '0620000' }, `field_format ${AT}/bsb`],
        ['a BSB with a misplaced hyphen', { bsb: '06-2000' }, `field_format ${AT}/bsb`],
        ['a BSB with a space', { bsb: '062 000' }, `field_format ${AT}/bsb`],
        ['a number for a BSB', { bsb: 62_000 }, `field_type ${AT}/bsb`],
        ['no BSB', { bsb: undefined }, `field_missing ${AT}/bsb`],
        ['an account number of one digit', { account_number: '1' }, `field_format ${AT}/account_number`],
        [
          'an account number of ten digits',
          { account_number: '1234567890' },
          `field_format ${AT}/account_number`,
        ],
        ['an account number of noughts', { account_number: '000-000' }, `field_format ${AT}/account_number`],
        ['an account number with a letter', { account_number: '12x4' }, `field_format ${AT}/account_number`],
        ['no account number', { account_number: undefined }, `field_missing ${AT}/account_number`],
        ['a number for an account number', { account_number: 1_234 }, `field_type ${AT}/account_number`],
        [
          'an account number with too many gaps',
          { account_number: `12${' '.repeat(31)}` },
          `field_too_long ${AT}/account_number`,
        ],
        ['an empty name', { account_name: '' }, `field_too_short ${AT}/account_name`],
        ['a blank name', { account_name: '   ' }, `field_charset ${AT}/account_name`],
        ['a name of 33 characters', { account_name: 'x'.repeat(33) }, `field_too_long ${AT}/account_name`],
        ['no name', { account_name: undefined }, `field_missing ${AT}/account_name`],
        [
          'a card number for a name',
          { account_name: '4111111111111111' },
          `card_number_misplaced ${AT}/account_name`,
        ],
      ],
      ([_, change, error]) => expectBothRefused(paymentBody({ bankAccount: change }), error),
    ));

  test('everything wrong at once → every problem with its location, and no audit', async () => {
    const before = await gateway.sql('SELECT max(audit) FROM transaction');
    const body = paymentBody({
      amount: '10000000000',
      currency: 'USD',
      bankAccount: { bsb: '1', account_number: '1', account_name: '~'.repeat(33) },
      reference: '',
    });
    await expectBothRefused(
      body,
      'field_too_short body/transaction/reference',
      `field_out_of_range ${AMOUNT}/total_amount`,
      `field_out_of_range ${AMOUNT}/currency`,
      `field_format ${AT}/bsb`,
      `field_format ${AT}/account_number`,
      `field_too_long ${AT}/account_name`,
      `field_charset ${AT}/account_name`,
    );
    expect(await gateway.sql('SELECT max(audit) FROM transaction')).toEqual(before);
  });
});

describe('exactly one payment method', () => {
  const creditcard = { pan: '4111111111111111', expiry_date: '1239' };

  test('none, or two → 422', () =>
    expectEach<[string, Json, string[]]>(
      [
        ['a card and a bank account', { creditcard, bankaccount: BANK_ACCOUNT }, [`field_format ${METHOD}`]],
        [
          'both, and both of them wrong',
          { creditcard: { pan: '4111111111111112' }, bankaccount: { ...BANK_ACCOUNT, bsb: '1' } },
          [
            `card_number_invalid ${METHOD}/creditcard/pan`,
            `field_missing ${METHOD}/creditcard/expiry_date`,
            `field_format ${METHOD}`,
            `field_format ${AT}/bsb`,
          ],
        ],
        ['neither', {}, [`field_missing ${METHOD}/creditcard`]],
        ['null for a bank account', { bankaccount: null }, [`field_type ${AT}`]],
        ['a text for a bank account', { bankaccount: '062-000 12' }, [`field_type ${AT}`]],
        ['a list for a payment method', [BANK_ACCOUNT], [`field_type ${METHOD}`]],
        ['nothing for a payment method', undefined, [`field_missing ${METHOD}`]],
      ],
      ([_, method, errors]) => expectBothRefused(withMethod(method), ...errors),
    ));
});

describe('preauthorisation', () => {
  test('with a bank account → 422, reported together with other problems', async () => {
    await expectRefused(gateway.api.preauthorise({ bankAccount: {} }), `field_format ${AT}`);
    await expectRefused(
      gateway.api.preauthorise({ bankAccount: { bsb: '1' }, currency: 'USD' }),
      `field_format ${AT}`,
      `field_out_of_range ${AMOUNT}/currency`,
    );
  });

  test('with the virtual PAN of a bank account → 422 token_not_usable, and the token is not opened', async () => {
    const { virtualPan, id } = await vaultOf(gateway.api).newToken({ account: bankAccount() });
    await expectRefused(
      gateway.api.preauthorise({ pan: virtualPan }),
      `token_not_usable ${METHOD}/creditcard/pan`,
    );
    const opened = `SELECT action FROM journal WHERE action = 'token.opened' AND token_id = $1`;
    expect(await gateway.sql(opened, [id])).toEqual([]);
    await shown(await gateway.api.purchase({ pan: virtualPan }));
    expect(await gateway.sql(opened, [id])).toHaveLength(1);
  });
});

describe('amount and currency', () => {
  test('an amount of nested arrays → 422, and no more', async () => {
    const nested = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
    const raw = JSON.stringify(paymentBody({ bankAccount: {}, amount: 1995 })).replace('"1995"', nested);
    const answer = await gateway.api.call('/transactions/purchase', { raw });
    expect([answer.status, ...answer.errors]).toEqual([422, `field_type ${AMOUNT}/total_amount`]);
  });

  const amountAt = `field_out_of_range ${AMOUNT}/total_amount`;
  const currencyAt = `field_out_of_range ${AMOUNT}/currency`;

  test('ten digits → accepted; eleven → 422', async () => {
    const most = await shown(await gateway.api.purchase({ bankAccount: {}, amount: '9999999999' }));
    expect(most.amount_details).toEqual({ total_amount: '9999999999', currency: 'AUD' });
    await expectBothRefused(paymentBody({ bankAccount: {}, amount: '10000000000' }), amountAt);
  });

  test('ten digits that become eleven with the surcharge → 422; a standalone refund has no surcharge → accepted', async () => {
    const change = { merchant: 2, bankAccount: {}, amount: '9900000000' };
    await expectRefused(gateway.api.purchase(change), amountAt);
    await shown(await gateway.api.standaloneRefund(change));
    await shown(await gateway.api.purchase({ ...change, amount: '9800000000' }));
  });

  test.each(['USD', 'NZD', 'JPY'])('%s → 422, with an account or a virtual PAN', async (currency) => {
    await expectBothRefused(paymentBody({ bankAccount: {}, currency }), currencyAt);
    const { virtualPan } = await vaultOf(gateway.api).newToken({ account: bankAccount() });
    const byToken = paymentBody({ pan: virtualPan, currency, amount: '10000000000' });
    await expectBothRefused(byToken, currencyAt, amountAt);
  });

  test('an unknown currency → reported once', () =>
    expectBothRefused(
      paymentBody({ bankAccount: {}, currency: 'XXZ' }),
      `currency_unknown ${AMOUNT}/currency`,
    ));

  test('a card in another currency, or with twelve digits → not limited by the bank rules', async () => {
    const { status } = await gateway.api.purchase({ currency: 'USD', amount: '100000000000' });
    expect(status).toBe(201);
  });
});

describe('virtual PAN of a bank account', () => {
  test('inactive or deleted, or at another merchant or one without the vault → 422 token_not_usable', async () => {
    const vault = vaultOf(gateway.api);
    const refused = (change: Json) =>
      expectRefused(gateway.api.purchase(change), `token_not_usable ${METHOD}/creditcard/pan`);
    const token = await vault.newToken({ account: bankAccount() });
    const pan = token.virtualPan;
    await refused({ pan, merchant: 2 });
    await refused({ pan, merchant: 3 });
    await vault.changeToken(token.customerId, token.id, { active: false });
    await refused({ pan });
    await vault.changeToken(token.customerId, token.id, { active: true });
    await shown(await gateway.api.purchase({ pan }));
    await vault.deleteToken(token.customerId, token.id);
    await refused({ pan });
  });

  test('a token changed to a card, or to a bank account → used as what it is at that time', async () => {
    const vault = vaultOf(gateway.api);
    const token = await vault.newToken({ account: bankAccount() });
    await vault.changeToken(token.customerId, token.id, { account: cardAccount() });
    const card = await gateway.api.purchase({ pan: token.virtualPan });
    expect(card.body.status.transaction_status_code).toBe('approved');
    await vault.changeToken(token.customerId, token.id, { account: bankAccount() });
    await shown(await gateway.api.purchase({ pan: token.virtualPan }));
  });

  test('given as an account number → 422', async () => {
    const { virtualPan } = await vaultOf(gateway.api).newToken({ account: bankAccount() });
    await expectBothRefused(
      paymentBody({ bankAccount: { account_number: virtualPan } }),
      `field_format ${AT}/account_number`,
    );
  });
});
