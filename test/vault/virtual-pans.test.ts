// Virtual PANs: their format, payments with them, and which of them cannot be used.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isVirtualPan, luhnDigit } from '../../src/values/card.js';
import { type Answer, type Client, type Json, paymentBody } from '../../testkit/client.js';
import { type Credentials, type TestGateway, testGateway } from '../../testkit/gateway.js';
import { bankAccount, cardAccount, type NewToken, type Vault, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let api: Client;
let vault: Vault;

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  vault = vaultOf(api);
});
afterAll(() => gateway.close());

const PAYMENTS = ['purchase', 'preauthorisation', 'refund'] as const;
const MASTERCARD = cardAccount({ 'CARD.PAN': '5555555555554444' });

/** A payment with only a virtual PAN: no expiry, no CVV, unless given. */
function pay(operation: string, pan: string, options: { as?: Client; merchant?: number; more?: Json } = {}) {
  const body = paymentBody({ merchant: options.merchant ?? 1 });
  body.transaction.payment_method.creditcard = { pan, ...options.more };
  return (options.as ?? api).post(`/transactions/${operation}`, body);
}

async function storedRows(): Promise<number> {
  const [row] = await gateway.sql<{ count: string }>('SELECT count(*) FROM transaction');
  return Number(row?.count);
}

/** Refused, and nothing was stored or sent. */
async function expectRefused(paying: () => Promise<Answer>): Promise<void> {
  const [rows, entries] = [await storedRows(), (await gateway.ledger()).length];
  const answer = await paying();
  expect([answer.status, ...answer.errors]).toEqual([
    422,
    'token_not_usable body/transaction/payment_method/creditcard/pan',
  ]);
  expect(await storedRows()).toBe(rows);
  expect((await gateway.ledger()).length).toBe(entries);
  // Nothing is wrong with the vault, and no alarm is raised.
  expect(gateway.logged()).not.toContain('a seal does not open');
}

describe('format', () => {
  test('fifty tokens → fifty virtual PANs of 16 digits that begin with 9 and pass the Luhn check', async () => {
    const customerId = await vault.newCustomer();
    const tokens = await Promise.all(Array.from({ length: 50 }, () => vault.newToken({}, customerId)));
    const pans = tokens.map(({ virtualPan }) => virtualPan);
    for (const pan of pans) {
      expect(pan).toMatch(/^9[0-9]{15}$/);
      expect(pan.slice(-1)).toBe(luhnDigit(pan.slice(0, -1)));
    }
    expect(new Set(pans).size).toBe(50);
    // Random, not counted up: the digits in the middle spread.
    expect(new Set(pans.map((pan) => pan.slice(1, 4))).size).toBeGreaterThan(25);
  });

  test('the same card twice → two virtual PANs, neither derived from its digits', async () => {
    const pans = [(await vault.newToken()).virtualPan, (await vault.newToken()).virtualPan];
    expect(pans[0]).not.toBe(pans[1]);
    for (const pan of pans) expect(pan).not.toContain('1111111');
  });
});

describe('paying', () => {
  test.each(PAYMENTS)(
    '%s with a virtual PAN and no expiry → approved, shown as its card',
    async (operation) => {
      const { virtualPan } = await vault.newToken({ account: MASTERCARD });
      const answer = await pay(operation, virtualPan);
      expect(answer.status).toBe(201);
      expect(answer.body.status.transaction_status_code).toBe('approved');
      const found = await api.lookUp(answer.body.audit);
      expect(found.body.transaction.payment_method).toEqual({
        creditcard: { pan: '555555******4444', type: 'mastercard' },
      });
      expect(found.text + answer.text).not.toContain(virtualPan);
      const entry = (await gateway.ledger()).at(-1);
      expect(entry).toMatchObject({ operation: operation === 'refund' ? 'standalone_refund' : operation });
      expect(entry?.cardMask).toBe('555555******4444');
    },
  );

  test.each(['0120', '2001', '9999', '0013', '12/39', '', 'nonsense'])(
    'purchase with a virtual PAN and the expiry %j → ignored: the stored expiry counts',
    async (expiry_date) => {
      const { virtualPan } = await vault.newToken();
      const answer = await pay('purchase', virtualPan, { more: { expiry_date } });
      expect(answer.status).toBe(201);
      expect(answer.body.status.transaction_status_code).toBe('approved');
    },
  );

  test('purchase with a virtual PAN and an ill-formed CVV → 422', async () => {
    const { virtualPan } = await vault.newToken();
    const answer = await pay('purchase', virtualPan, { more: { cvv: '12' } });
    expect(answer.errors).toEqual(['field_format body/transaction/payment_method/creditcard/cvv']);
  });

  test('purchase with the virtual PAN of an expired card → declined by the acquirer, whatever expiry is sent', async () => {
    const { virtualPan } = await vault.newToken({ account: cardAccount({ 'CARD.EXPIRY': '0120' }) });
    const answer = await pay('purchase', virtualPan, { more: { expiry_date: '1239' } });
    expect(answer.status).toBe(201);
    expect(answer.body.status).toMatchObject({
      transaction_status_code: 'declined',
      acquirer: { response_code: '54' },
    });
  });

  test('purchase after the card was replaced → the new card is charged under the same virtual PAN', async () => {
    const { customerId, id, virtualPan } = await vault.newToken();
    const declined = cardAccount({ 'CARD.PAN': '4100000000000514' });
    await vault.changeToken(customerId, id, { account: declined });
    const answer = await pay('purchase', virtualPan);
    expect(answer.body.status.acquirer.response_code).toBe('51');
    const { body } = await api.lookUp(answer.body.audit);
    expect(body.transaction.payment_method.creditcard.pan).toBe('410000******0514');
  });

  test('purchase with the virtual PAN of a granted merchant → works for that merchant only', async () => {
    const { virtualPan } = await vaultOf(api, 2).newToken();
    const answer = await pay('purchase', virtualPan, { merchant: 2 });
    expect(answer.body.status.transaction_status_code).toBe('approved');
    await expectRefused(() => pay('purchase', virtualPan, { merchant: 1 }));
    const colleague = await pay('purchase', virtualPan, { merchant: 2, as: gateway.as(gateway.colleague) });
    expect(colleague.status).toBe(201);
  });

  test('fifty payments at once with fifty virtual PANs → each is charged to its own card', async () => {
    const customerId = await vault.newCustomer();
    const pans = Array.from({ length: 50 }, (_, index) => {
      const digits = `45000000000${String(index).padStart(4, '0')}`;
      return digits + luhnDigit(digits);
    });
    const tokens = await Promise.all(
      pans.map((pan) => vault.newToken({ account: cardAccount({ 'CARD.PAN': pan }) }, customerId)),
    );
    const answers = await Promise.all(tokens.map(({ virtualPan }) => pay('purchase', virtualPan)));
    const found = await Promise.all(answers.map(({ body }) => api.lookUp(body.audit)));
    expect(found.map(({ body }) => body.transaction.payment_method.creditcard.pan)).toEqual(
      pans.map((pan) => `450000******${pan.slice(-4)}`),
    );
  });
});

describe('not usable', () => {
  test.each(PAYMENTS)(
    // catches(payment by virtual PAN: only of active tokens)
    '%s with an inactive token → 422 and no row; active again → approved',
    async (operation) => {
      const { customerId, id, virtualPan } = await vault.newToken({ active: false });
      await expectRefused(() => pay(operation, virtualPan));
      await vault.changeToken(customerId, id, { active: true });
      expect((await pay(operation, virtualPan)).body.status.transaction_status_code).toBe('approved');
      await vault.changeToken(customerId, id, { active: false });
      await expectRefused(() => pay(operation, virtualPan));
    },
  );

  test.each(PAYMENTS)(
    // catches(deleted token: gone for payments)
    '%s with a deleted token, and with one that never was → 422 and no row',
    async (operation) => {
      const { customerId, id, virtualPan } = await vault.newToken();
      await vault.deleteToken(customerId, id);
      await expectRefused(() => pay(operation, virtualPan));
      const unknown = `912345678901234${luhnDigit('912345678901234')}`;
      expect(isVirtualPan(unknown)).toBe(true);
      await expectRefused(() => pay(operation, unknown));
      await expectRefused(() => pay(operation, unknown, { more: { expiry_date: '1239' } }));
    },
  );

  test.each<[string, (cast: TestGateway) => Credentials, number]>([
    ['another merchant of the same user', ({ owner }) => owner, 2],
    ['a colleague’s merchant', ({ colleague }) => colleague, 2],
    ['a merchant of another organisation', ({ stranger }) => stranger, 4],
    ['a merchant without the vault', ({ owner }) => owner, 3],
    // catches(payment by virtual PAN: only of this merchant’s tokens)
  ])('a virtual PAN used for %s → 422, nothing stored', async (_who, who, merchant) => {
    const { virtualPan } = await vault.newToken();
    for (const operation of PAYMENTS) {
      await expectRefused(() => pay(operation, virtualPan, { as: gateway.as(who(gateway)), merchant }));
    }
  });

  // catches(payment by virtual PAN: no preauthorisation of a bank account)
  test('preauthorisation with a virtual PAN of a bank account → 422, nothing stored', async () => {
    const { virtualPan } = await vault.newToken({ account: bankAccount() });
    await expectRefused(() => pay('preauthorisation', virtualPan));
  });

  // catches(payment by virtual PAN: only where the merchant has the vault)
  test('a merchant that lost the vault → its virtual PANs are refused; with the vault again they work', async () => {
    const stranger = gateway.as(gateway.stranger);
    const { virtualPan } = await vaultOf(stranger).newToken();
    const paying = () => pay('purchase', virtualPan, { as: stranger, merchant: 4 });
    const until = async (vault: boolean, status: number) => {
      await gateway.sqlSealed('UPDATE merchant SET vault = $1 WHERE id = 4', [vault]);
      // Merchants are cached for a moment.
      for (;;) {
        const answer = await paying();
        if (answer.status === status) return answer;
      }
    };
    expect((await until(false, 422)).code).toBe('token_not_usable');
    expect((await vaultOf(stranger).searchCustomers()).code).toBe('vault_not_enabled');
    expect((await until(true, 201)).body.status.transaction_status_code).toBe('approved');
  });

  test('sixteen digits with a 9 in front that fail the Luhn check → 422 card_number_invalid', async () => {
    const answer = await pay('purchase', '9000000000000000', { more: { expiry_date: '1239' } });
    expect(answer.errors).toEqual(['card_number_invalid body/transaction/payment_method/creditcard/pan']);
  });
});

describe('after the token was changed', () => {
  const gone: readonly [string, (token: NewToken) => Promise<Answer>][] = [
    ['deactivated', ({ customerId, id }) => vault.changeToken(customerId, id, { active: false })],
    ['deleted', ({ customerId, id }) => vault.deleteToken(customerId, id)],
    ['deleted with its customer', ({ customerId }) => vault.deleteCustomer(customerId)],
  ];

  test.each(gone)('token %s → completion, refund and void of what it paid still work', async (_how, end) => {
    const token = await vault.newToken();
    const [held, paid, voidable] = [
      await pay('preauthorisation', token.virtualPan),
      await pay('purchase', token.virtualPan),
      await pay('purchase', token.virtualPan),
    ];
    expect((await end(token)).status).toBeLessThan(300);
    const statuses = [
      await api.complete(held.body.audit, 10_000),
      await api.refund(paid.body.audit, 10_000),
      await api.void(voidable.body.audit),
    ].map(({ body }) => body.status.transaction_status_code);
    expect(statuses).toEqual(['approved', 'approved', 'approved']);
    for (const { body } of [held, paid, voidable]) {
      const found = await api.lookUp(body.audit);
      expect(found.body.transaction.payment_method.creditcard.pan).toBe('411111******1111');
    }
  });

  test.each(gone)(
    'token %s, and its payment sent again → 409, pointing to the payment',
    async (_how, end) => {
      const token = await vault.newToken();
      const correlationId = randomUUID();
      const first = await api.purchase({ pan: token.virtualPan, correlationId });
      await end(token);
      const rows = await storedRows();
      const again = await api.purchase({ pan: token.virtualPan, correlationId });
      expect([again.status, again.code]).toEqual([409, 'correlation_id_already_used']);
      expect(again.body._links.transaction.href).toBe(`/v1/transactions/${first.body.audit}`);
      expect(await storedRows()).toBe(rows);
    },
  );

  test('a payment refused because of its token → its correlation ID is free for another try', async () => {
    const { customerId, id, virtualPan } = await vault.newToken({ active: false });
    const correlationId = randomUUID();
    expect((await api.purchase({ pan: virtualPan, correlationId })).code).toBe('token_not_usable');
    await vault.changeToken(customerId, id, { active: true });
    expect((await api.purchase({ pan: virtualPan, correlationId })).status).toBe(201);
  });

  test('a token deleted during payments → each payment is either approved, or refused with nothing stored', async () => {
    const { customerId, id, virtualPan } = await vault.newToken();
    const rows = await storedRows();
    const paying = Array.from({ length: 20 }, () => pay('purchase', virtualPan));
    const [deleted, ...answers] = await Promise.all([vault.deleteToken(customerId, id), ...paying]);
    expect(deleted?.status).toBe(204);
    const approved = answers.filter(({ body }) => body.status?.transaction_status_code === 'approved');
    const refused = answers.filter(({ code }) => code === 'token_not_usable');
    expect(approved.length + refused.length).toBe(20);
    expect(await storedRows()).toBe(rows + approved.length);
    await expectRefused(() => pay('purchase', virtualPan));
  });
});
