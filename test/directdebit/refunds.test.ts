// Refunds by audit of direct debits: credits to the account that was debited, never more than it was debited with.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type BankDay, bankDayOf } from '../../testkit/bank-day.js';
import { type DirectEntryFile, type Item, itemOf, returnsFile } from '../../testkit/bank-file-layout.js';
import { expectBooksToAgree, expectReservationsToBeHeld } from '../../testkit/books-agree.js';
import { type Answer, type Client, type Json, TEST_MODE } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker, waitingForLocks } from '../../testkit/locks.js';
import { bankAccount, vaultOf } from '../../testkit/vault-client.js';

const REFUNDABLE = 'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT';
const RACES = 30;

let gateway: TestGateway;
let second: TestGateway;
let bank: BankDay;
let api: Client;

/** Debits of 10,000 that have cleared, one for each test; and what the simulated bank makes of some refunds. */
const cleared = new Map<string, number>();
const names = [
  'one refund',
  'the sum',
  'another currency',
  'returned',
  'returned by two',
  'returned in part',
];

function debit(name: string): number {
  return cleared.get(name) as number;
}

beforeAll(async () => {
  gateway = await testGateway();
  second = await testGateway({ shareWith: gateway });
  api = gateway.api;
  bank = bankDayOf(gateway);
  await Promise.all(
    [...names, ...Array.from({ length: RACES }, (_, number) => `race ${number}`)].map(async (name) => {
      const { body } = await api.purchase({ bankAccount: { account_name: name.toUpperCase() } });
      cleared.set(name, body.audit);
    }),
  );
  const vault = vaultOf(api);
  const token = await vault.newToken({ account: bankAccount({ 'BANK.ACCOUNT_NAME': 'BY TOKEN' }) });
  cleared.set('by token', (await api.purchase({ pan: token.virtualPan })).body.audit);
  await vault.deleteCustomer(token.customerId);
  await gateway.advance('12d');
});
afterAll(async () => {
  await bank.close();
  await second.close();
  await gateway.close();
});

async function lookedUp(audit: number): Promise<Json> {
  return (await api.lookUp(audit)).body;
}

async function left(audit: number): Promise<string | undefined> {
  return (await lookedUp(audit)).kvps[REFUNDABLE];
}

test('refund of a cleared debit → a pending credit, with its target, to the debited account', async () => {
  const audit = debit('one refund');
  const { status, headers, body } = await api.refund(audit, 4_000, { reference: 'sorry' });
  expect(status).toBe(201);
  expect(headers.get('location')).toBe(`/v1/transactions/${body.audit}`);
  const self = `/v1/transactions/${body.audit}`;
  const pending = {
    gateway_status_code: 0,
    gateway_status_message: 'Processed',
    transaction_status_code: 'pending',
    acquirer: {},
  };
  const _links = {
    self: { href: self },
    target: { href: `/v1/transactions/${audit}` },
    void: { href: `${self}/void` },
  };
  const common = { audit: body.audit, gateway_timestamp: expect.any(String), merchant: { id: 1 } };
  expect(body).toEqual({ ...common, kvps: TEST_MODE, status: pending, _links });
  expect(await lookedUp(body.audit)).toEqual({
    ...common,
    kvps: { ...TEST_MODE, 'GATEWAY.RESPONSE.KVP.VOIDABLE_UNTIL': expect.stringContaining('T18:00:00.000') },
    transaction: {
      reference: 'sorry',
      transaction_type: 'refund',
      target_audit: audit,
      amount_details: { total_amount: '4000', currency: 'AUD' },
      payment_method: {
        bankaccount: { bsb: '062-000', account_number: '******789', account_name: 'ONE REFUND' },
      },
      directdebit_mode: 'credit',
    },
    status: pending,
    _links,
  });
  expect(await left(audit)).toBe('6000');
});

test('several refunds → up to the amount of the debit, with pending ones counted', async () => {
  const audit = debit('the sum');
  expect((await api.refund(audit, 10_001)).errors).toEqual([
    'refund_exceeds_original body/transaction/amount_details/total_amount',
  ]);
  expect((await api.refund(audit, 6_000)).status).toBe(201);
  expect((await api.refund(audit, 4_001)).code).toBe('refund_exceeds_original');
  expect((await api.refund(audit, 4_000)).status).toBe(201);
  const full = await api.refund(audit, 1);
  expect([full.status, full.code]).toEqual([422, 'refund_exceeds_original']);
  expect(Object.keys((await lookedUp(audit))._links)).toEqual(['self']);
});

test('refund in another currency → 422', async () => {
  const { status, errors } = await api.refund(debit('another currency'), 1, { currency: 'USD' });
  expect([status, errors]).toEqual([422, ['target_not_refundable body/transaction/amount_details/currency']]);
});

test('two refunds of 6,000 at once, to two processes → exactly one is accepted, every time', async () => {
  const outcome = ({ status, code, body }: Answer) =>
    `${status} ${code ?? body.status.transaction_status_code}`;
  const results = await Promise.all(
    Array.from({ length: RACES }, async (_, number) => {
      const audit = debit(`race ${number}`);
      const both = await Promise.all([api.refund(audit, 6_000), second.api.refund(audit, 6_000)]);
      return both.map(outcome).sort().join(', ');
    }),
  );
  expect(new Set(results)).toEqual(new Set(['201 pending, 422 refund_exceeds_original']));
  for (let number = 0; number < RACES; number += 1) expect(await left(debit(`race ${number}`))).toBe('4000');
  await expectReservationsToBeHeld(gateway);
});

describe('refund of anything but a cleared debit', () => {
  test.each<[string, () => Promise<number>]>([
    ['a pending debit', async () => (await api.purchase({ bankAccount: {} })).body.audit],
    ['a pending credit', async () => (await api.standaloneRefund({ bankAccount: {} })).body.audit],
    [
      'a voided debit',
      async () => {
        const { audit } = (await api.purchase({ bankAccount: {} })).body;
        await api.void(audit);
        return audit;
      },
    ],
    ['a refund', async () => (await api.refund(debit('another currency'), 10)).body.audit],
  ])('%s → 422 target_not_refundable, and no link to it', async (_, make) => {
    const audit = await make();
    const { status, errors } = await api.refund(audit, 1);
    expect([status, errors]).toEqual([422, ['target_not_refundable path/audit']]);
    expect(Object.keys((await lookedUp(audit))._links)).not.toContain('refund');
  });
});

// catches(return of a refund: gives its amount back)
test('a credit that the bank returns → declined, and its amount can be refunded again, once', async () => {
  const audit = debit('returned');
  const refund = (await api.refund(audit, 7_000)).body.audit;
  expect(await left(audit)).toBe('3000');
  const file = (await bank.export(1)) as DirectEntryFile;
  const item = itemOf(file, 'RETURNED');
  expect([item.code, item.cents, item.accountNumber]).toEqual(['50', 7_000, '123456789']);
  const returned = returnsFile(file.header, [{ item, returnCode: 5 }]);
  expect(await bank.importReturns(returned)).toMatchObject({ items: 1, returned: 1, late: 0, unmatched: [] });
  expect((await lookedUp(refund)).status).toMatchObject({
    transaction_status_code: 'declined',
    acquirer: { response_code: '5' },
  });
  expect(await left(audit)).toBe('10000');
  expect(await bank.importReturns(returned)).toMatchObject({ items: 1, returned: 0, returnedAlready: 1 });
  expect(await left(audit)).toBe('10000');
  expect((await api.refund(audit, 10_000)).status).toBe(201);
});

test('a credit twice in one returns file → declined once, and its amount released once', async () => {
  const target = debit('returned in part');
  const refund = async (amount: number) => (await api.refund(target, amount)).body.audit as number;
  const [twice, once] = [await refund(1_000), await refund(2_000)];
  const file = (await bank.export(1)) as DirectEntryFile;
  const item = file.items.find(({ cents }) => cents === 1_000) as Item;
  const text = returnsFile(file.header, [
    { item, returnCode: 3 },
    { item, returnCode: 3 },
  ]);
  expect(await bank.importReturns(text)).toMatchObject({ items: 2, returned: 1, unmatched: [] });
  const statusOf = async (audit: number) => (await lookedUp(audit)).status.transaction_status_code;
  expect([await statusOf(twice), await statusOf(once)]).toEqual(['declined', 'pending']);
  expect(await left(target)).toBe('8000');
  await expectReservationsToBeHeld(gateway);
});

// catches(return: by two files at once, with the first one’s code)
test('two files at once return a credit with different codes → the first code counts, and the amount is released once', async () => {
  const audit = debit('returned by two');
  const refund = (await api.refund(audit, 7_000)).body.audit;
  const file = (await bank.export(1)) as DirectEntryFile;
  const item = itemOf(file, 'RETURNED BY TWO');
  const textOf = (returnCode: number) => returnsFile(file.header, [{ item, returnCode }]);
  const lock = await locker(gateway);
  await lock.query('SELECT FROM directdebit_item WHERE audit = $1 FOR UPDATE', [refund]);
  // Each has seen by now that nobody has returned it.
  const imports: ReturnType<BankDay['importReturns']>[] = [];
  for (const code of [5, 3]) {
    imports.push(bank.importReturns(textOf(code)));
    const allWait = async () => (await waitingForLocks(gateway)).length === imports.length;
    await vi.waitUntil(allWait, { timeout: 300_000 });
  }
  await lock.rollback();
  expect(await Promise.all(imports)).toMatchObject([
    { returned: 1, returnedAlready: 0 },
    { returned: 0, returnedAlready: 1 },
  ]);
  expect((await lookedUp(refund)).status.acquirer.response_code).toBe('5');
  expect(await left(audit)).toBe('10000');
  expect(await bank.importReturns(textOf(5))).toMatchObject({ returned: 0, returnedAlready: 1 });
  await expect(bank.importReturns(textOf(3))).rejects.toThrow('returned with another code');
});

test('a debit by virtual PAN whose customer was deleted → the credit goes to the debited account', async () => {
  const { status, body } = await api.refund(debit('by token'), 5);
  expect([status, body.status.transaction_status_code]).toEqual([201, 'pending']);
  const file = (await bank.export(1)) as DirectEntryFile;
  expect(itemOf(file, 'BY TOKEN')).toMatchObject({
    code: '50',
    cents: 5,
    bsb: '062-000',
    accountNumber: '123456789',
  });
});

test('refunds on the simulated bank, days later → approved, or declined and refundable again, and the books agree', async () => {
  const own = await testGateway();
  const make = async (account_number: string) =>
    (await own.api.purchase({ bankAccount: { account_number } })).body.audit as number;
  const [good, bad, unrefunded] = [await make('16'), await make('900002'), await make('17')];
  await own.advance('12d');
  const declined = await own.api.refund(bad, 1);
  expect([declined.status, declined.errors]).toEqual([422, ['target_not_refundable path/audit']]);
  const refunds = [
    (await own.api.refund(good, 2_500)).body.audit,
    (await own.api.refund(good, 7_500)).body.audit,
  ];
  await own.advance('12d');
  for (const audit of refunds) {
    const { status, _links, kvps } = (await own.api.lookUp(audit)).body;
    expect(status).toMatchObject({ transaction_status_code: 'approved', acquirer: { response_code: '00' } });
    expect([Object.keys(_links), kvps]).toEqual([['self', 'target'], TEST_MODE]);
  }
  expect((await own.api.refund(good, 1)).code).toBe('refund_exceeds_original');
  expect((await own.api.lookUp(unrefunded)).body.kvps[REFUNDABLE]).toBe('10000');
  await expectBooksToAgree(own);
});
