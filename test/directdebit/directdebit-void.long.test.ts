// Voids of direct debits and credits: until a file for the bank carries them, and not a moment longer.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BankDay, bankDayOf, moveClock } from '../../testkit/bank-day.js';
import { itemOf } from '../../testkit/bank-file-layout.js';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import { type Answer, type Client, type Json, TEST_MODE } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

const UNTIL = 'GATEWAY.RESPONSE.KVP.VOIDABLE_UNTIL';
const REFUNDABLE = 'GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT';
const REAL = 2;

/** Merchant 2 has a real bank, whose files the operator makes; merchant 1 has the simulated one. */
let gateway: TestGateway;
let bank: BankDay;
let api: Client;
beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  bank = bankDayOf(gateway);
  await bank.setDirectEntry(REAL);
});
afterAll(async () => {
  await bank.close();
  await gateway.close();
});

let serial = 0;
const MAKERS = {
  purchase: (account_name: string) => api.purchase({ merchant: REAL, bankAccount: { account_name } }),
  standalone_refund: (account_name: string) =>
    api.standaloneRefund({ merchant: REAL, bankAccount: { account_name } }),
};

/** A pending transaction, and the name that it stands in a file under. */
async function pending(
  type: keyof typeof MAKERS = 'purchase',
): Promise<{ audit: number; account_name: string }> {
  serial += 1;
  const account_name = `CUSTOMER ${serial}`;
  const { status, body } = await MAKERS[type](account_name);
  expect([status, body.status.transaction_status_code]).toEqual([201, 'pending']);
  return { audit: body.audit, account_name };
}

async function lookedUp(audit: number): Promise<Json> {
  return (await api.lookUp(audit)).body;
}

const voiding = (audit: number): Promise<Answer> => api.void(audit, { merchant: REAL });

describe.each(['purchase', 'standalone_refund'] as const)('void of a pending %s', (type) => {
  // catches(file: no items that are voided)
  test('before it is in a file → approved, the target is voided, and no file contains it', async () => {
    const { audit, account_name } = await pending(type);
    const other = await pending(type);
    const { status, body } = await voiding(audit);
    expect([status, body.status.transaction_status_code]).toEqual([201, 'approved']);
    const target = await lookedUp(audit);
    expect(target.status).toMatchObject({ gateway_status_code: 0, transaction_status_code: 'voided' });
    expect(Object.keys(target._links)).toEqual(['self']);
    expect(target.kvps).toEqual(TEST_MODE);
    const file = await bank.export(REAL);
    expect(file?.items.map(({ title }) => title)).toContain(other.account_name);
    expect(file?.items.map(({ title }) => title)).not.toContain(account_name);
    expect(await bank.export(REAL)).toBeUndefined();
  });

  test('a second time → 422 target_not_voidable', async () => {
    const { audit } = await pending(type);
    expect((await voiding(audit)).status).toBe(201);
    const again = await voiding(audit);
    expect([again.status, again.errors]).toEqual([422, ['target_not_voidable path/audit']]);
  });

  // catches(file: says that its items cannot be voided any more)
  // catches(void of a direct debit: not once it is in a file)
  test('once it is in a file → 422 target_not_voidable, no link, and it stays pending', async () => {
    const { audit, account_name } = await pending(type);
    const before = await lookedUp(audit);
    expect(Object.keys(before._links)).toEqual(['self', 'void']);
    expect(Date.parse(before.kvps[UNTIL])).toBeGreaterThan(Date.parse(before.gateway_timestamp));
    const file = await bank.export(REAL);
    expect(file && itemOf(file, account_name).cents).toBe(10_000);
    const refused = await voiding(audit);
    expect([refused.status, refused.errors]).toEqual([422, ['target_not_voidable path/audit']]);
    const after = await lookedUp(audit);
    expect(after.status.transaction_status_code).toBe('pending');
    expect(Object.keys(after._links)).toEqual(['self']);
    expect(after.kvps).toEqual(TEST_MODE);
  });
});

test('void of a void of a direct debit → 422 target_not_voidable', async () => {
  const { body } = await voiding((await pending()).audit);
  expect((await voiding(body.audit)).errors).toEqual(['target_not_voidable path/audit']);
});

test('completion of a pending direct debit → 422 target_not_completable', async () => {
  const { audit } = await pending();
  const { status, errors } = await api.complete(audit, 1, { merchant: REAL });
  expect([status, errors]).toEqual([422, ['target_not_completable path/audit']]);
});

test('many rounds of voids and an export at once → every item is either voided or in the file, never both', async () => {
  const ROUNDS = 12;
  const EACH = 8;
  for (let round = 0; round < ROUNDS; round += 1) {
    const items = await Promise.all(
      Array.from({ length: EACH }, (_, index) => pending(index % 2 ? 'purchase' : 'standalone_refund')),
    );
    // Sometimes the file is first off the mark, sometimes the voids are.
    const [file, ...answers] = await Promise.all([
      sleep(round % 4).then(() => bank.export(REAL)),
      ...items.map(({ audit }, index) => sleep(index % 4).then(() => voiding(audit))),
    ]);
    const left = (await bank.export(REAL))?.items ?? [];
    const filed = [...(file?.items ?? []), ...left].map(({ title }) => title);
    expect(new Set(filed).size).toBe(filed.length);
    for (const [index, { audit, account_name }] of items.entries()) {
      const { status, errors } = answers[index] as Answer;
      const { transaction_status_code } = (await lookedUp(audit)).status;
      expect([status, errors, transaction_status_code, filed.includes(account_name)]).toEqual(
        status === 201
          ? [201, [], 'voided', false]
          : [422, ['target_not_voidable path/audit'], 'pending', true],
      );
    }
  }
  const [row] = await gateway.sql(`SELECT count(*) AS voided FROM directdebit_item i JOIN transaction t
    USING (organisation_id, audit) WHERE t.status = 'voided' AND i.file_number IS NOT NULL`);
  expect(row).toEqual({ voided: 0 });
});

test('a day closes while everything is being voided → the simulated bank gets exactly the items that were not voided', async () => {
  const own = await testGateway();
  const { audit: kept } = (await own.api.purchase({ bankAccount: {} })).body;
  const audits = await Promise.all(
    Array.from(
      { length: 60 },
      async () => (await own.api.purchase({ bankAccount: {} })).body.audit as number,
    ),
  );
  // Spread over the time that the day takes to close.
  const [, ...answers] = await Promise.all([
    own.advance('12d'),
    ...audits.map((audit, index) => sleep(index * 20).then(() => own.api.void(audit))),
  ]);
  const refused = answers.filter(({ status }) => status !== 201);
  for (const { errors } of refused) expect(errors).toEqual(['target_not_voidable path/audit']);
  await own.advance('12d');
  const entries = await own.ledger();
  expect(entries).toHaveLength(1 + refused.length);
  expect((await own.api.lookUp(kept)).body.status.transaction_status_code).toBe('approved');
  const statuses = await own.sql(
    `SELECT DISTINCT status FROM transaction WHERE transaction_type = 'purchase'`,
  );
  expect(statuses.map(({ status }) => status)).not.toContain('pending');
  await expectBooksToAgree(own);
});

test('void of a pending refund by audit → the amount is refundable again; once in a file → 422', async () => {
  const own = await testGateway();
  const { audit } = (await own.api.purchase({ bankAccount: {} })).body;
  await own.advance('12d');
  const refund = (await own.api.refund(audit, 4_000)).body.audit;
  expect((await own.api.lookUp(audit)).body.kvps[REFUNDABLE]).toBe('6000');
  const shown = (await own.api.lookUp(refund)).body;
  expect(Object.keys(shown._links)).toEqual(['self', 'target', 'void']);
  expect(Object.keys(shown.kvps)).toEqual([...Object.keys(TEST_MODE), UNTIL]);
  expect((await own.api.void(refund)).body.status.transaction_status_code).toBe('approved');
  expect((await own.api.lookUp(refund)).body.status.transaction_status_code).toBe('voided');
  expect((await own.api.lookUp(audit)).body.kvps[REFUNDABLE]).toBe('10000');
  const second = (await own.api.refund(audit, 10_000)).body.audit;
  const operator = bankDayOf(own);
  const file = await operator.export(1);
  await operator.close();
  expect(file?.items.map(({ code, cents }) => [code, cents])).toEqual([['50', 10_000]]);
  expect((await own.api.void(second)).errors).toEqual(['target_not_voidable path/audit']);
  await own.advance('12d');
  expect((await own.api.lookUp(second)).body.status.transaction_status_code).toBe('approved');
  await expectBooksToAgree(own);
});

test('a real bank’s file is late → waiting items can still be voided, until the next close of a day', async () => {
  const own = await testGateway();
  const operator = bankDayOf(own);
  await operator.setDirectEntry(1);
  const { audit } = (await own.api.purchase({ bankAccount: {} })).body;
  await moveClock(own, 6);
  await operator.close();
  const late = (await own.api.lookUp(audit)).body;
  const { kvps } = (await own.api.lookUp((await own.api.purchase({ bankAccount: {} })).body.audit)).body;
  expect(late.kvps[UNTIL]).toBe(kvps[UNTIL]);
  expect('void' in late._links).toBe(true);
  expect((await own.api.void(audit)).status).toBe(201);
});
