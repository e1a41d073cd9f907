// An attacker who can write to the database as its owner, past every trigger, but without the key: no change is ever charged,
// and each is noticed. Each attack is sent to PostgreSQL, and then tried through HTTP.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { showDirectDebitStatus } from '../../src/directdebit/directdebit-tasks.js';
import { verifySeals } from '../../src/installation/seals.js';
import { type BankDay, bankDayOf } from '../../testkit/bank-day.js';
import type { Client, Json } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type Operator, operatorOf } from '../../testkit/sealed-rows.js';
import { storedAs } from '../../testkit/sealed-transactions.js';
import { bankAccount, cardAccount, type NewToken, type Vault, vaultOf } from '../../testkit/vault-client.js';

const SOON = { timeout: 300_000 };

let gateway: TestGateway;
let api: Client;
let vault: Vault;
let operator: Operator;

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  vault = vaultOf(api);
  operator = await operatorOf(gateway);
});
afterAll(async () => {
  await operator.close();
  await gateway.close();
});

/** As the owner of the tables, past triggers and foreign keys. */
const write = (statement: string) =>
  gateway.sql(`BEGIN; SET LOCAL session_replication_role = replica; ${statement}; COMMIT`);

/** Restores a row to its present state, later. */
async function saved(table: string, where: string): Promise<() => Promise<unknown>> {
  const copy = `saved_${Math.random().toString(36).slice(2)}`;
  await gateway.sql(`CREATE TABLE ${copy} AS SELECT * FROM ${table} WHERE ${where}`);
  return () => write(`DELETE FROM ${table} WHERE ${where}; INSERT INTO ${table} SELECT * FROM ${copy}`);
}

const charges = async () => (await gateway.ledger()).filter(({ kind }: Json) => kind === 'charge').length;

const journalled = (what: string) =>
  gateway.sql<{ actor: string }>(
    `SELECT actor FROM journal WHERE action = 'seal.broken' AND detail = '${what}'`,
  );

/** Refused without a trace at the acquirer, and reported in the journal and the log. */
async function expectUnusable({ id, virtualPan }: NewToken): Promise<void> {
  const before = await charges();
  const answer = await api.purchase({ pan: virtualPan });
  expect([answer.status, answer.body.errors?.[0].error_code]).toEqual([422, 'token_not_usable']);
  expect(answer.body.audit).toBeUndefined();
  expect(await charges()).toBe(before);
  await vi.waitUntil(async () => (await journalled(`token ${id}`)).length > 0, { timeout: 300_000 });
  expect(await journalled(`token ${id}`)).toEqual([{ actor: 'gateway:vault' }]);
  const lines = gateway
    .logged()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Json);
  const told = lines.filter(
    ({ msg, table, row }) => msg === 'a seal does not open' && table === 'token' && row === id,
  );
  expect(told).toEqual([
    expect.objectContaining({ level: 50, organisation: 1, merchant: 1, table: 'token', row: id }),
  ]);
}

async function problems(): Promise<Record<string, string>> {
  const { database, provider } = operator;
  const { problems: found } = await verifySeals(database, 'operator:test', provider, gateway.credentialKey);
  return Object.fromEntries(found.map(({ where, problem }) => [where, problem]));
}

describe('tokens', () => {
  // catches(seal of a token: bound to its virtual PAN)
  test('the virtual PANs of two customers are swapped → neither card is charged', async () => {
    const [mine, theirs] = [await vault.newToken(), await vault.newToken()];
    await write(`UPDATE token SET virtual_pan = '9999999999999999' WHERE id = ${mine.id};
      UPDATE token SET virtual_pan = '${mine.virtualPan}' WHERE id = ${theirs.id};
      UPDATE token SET virtual_pan = '${theirs.virtualPan}' WHERE id = ${mine.id}`);
    await expectUnusable({ ...theirs, virtualPan: mine.virtualPan });
    await expectUnusable({ ...mine, virtualPan: theirs.virtualPan });
  });

  test.each([
    // catches(seal of a token: bound to its customer)
    ['given to another customer', 'customer_id = customer_id + 1'],
    // catches(seal of a token: bound to its account type)
    ['made one of a bank account', `account_type = 'general_bankaccount'`],
    // catches(seal of a token: bound to its number)
    ['given another number of its seal', 'seal_version = seal_version + 1'],
    ['given a key that was destroyed', 'key_version = 77'],
  ])('a token is %s → not charged', async (_, change) => {
    const token = await vault.newToken();
    await write(`UPDATE token SET ${change} WHERE id = ${token.id}`);
    await expectUnusable(token);
  });

  test('a bank account’s token is changed to one of a card → nothing is lodged', async () => {
    const token = await vault.newToken({ account: bankAccount() });
    await write(`UPDATE token SET account_type = 'general_creditcard' WHERE id = ${token.id}`);
    await expectUnusable(token);
  });

  test.each(['alone', 'with its whole row'])(
    // catches(payment by virtual PAN: not with a seal that the journal knows to be replaced, or a token that it knows to be gone)
    'a card that was replaced is put back, %s → not charged',
    async (how) => {
      const token = await vault.newToken();
      const putBack = await saved('token', `id = ${token.id}`);
      const [old] = await gateway.sql<{ sealed: string }>(
        `SELECT encode(sealed, 'hex') AS sealed FROM token WHERE id = ${token.id}`,
      );
      const account = cardAccount({ 'CARD.PAN': '5555555555554444' });
      expect((await vault.changeToken(token.customerId, token.id, { account })).status).toBe(200);
      expect((await api.purchase({ pan: token.virtualPan })).status).toBe(201);
      if (how === 'alone')
        await write(`UPDATE token SET sealed = '\\x${old?.sealed}' WHERE id = ${token.id}`);
      else await putBack();
      await expectUnusable(token);
      expect((await problems())[`token ${token.id}`]).toBe(
        how === 'alone' ? 'the seal does not open' : 'an earlier seal was put back',
      );
    },
  );

  test.each(['token', 'customer'])(
    // catches(payment by virtual PAN: not with a seal that the journal knows to be replaced, or a token that it knows to be gone)
    'a token is put back after its %s was deleted → not charged',
    async (what) => {
      const token = await vault.newToken();
      const putBack = await saved('token', `id = ${token.id}`);
      await (what === 'token'
        ? vault.deleteToken(token.customerId, token.id)
        : vault.deleteCustomer(token.customerId));
      await putBack();
      await expectUnusable(token);
      expect((await problems())[`token ${token.id}`]).toBe('was deleted, and is back');
    },
  );

  test('a token whose card was replaced by its merchant → the new card is charged, again and again', async () => {
    const token = await vault.newToken();
    for (const pan of ['5555555555554444', '4111111111111111']) {
      const account = cardAccount({ 'CARD.PAN': pan });
      expect((await vault.changeToken(token.customerId, token.id, { account })).status).toBe(200);
      expect(
        (
          await vault.changeToken(token.customerId, token.id, {
            preferred_name: `card of ${pan.slice(0, 4)}`,
          })
        ).status,
      ).toBe(200);
      const { body } = await api.purchase({ pan: token.virtualPan });
      const { payment_method } = (await api.lookUp(body.audit)).body.transaction;
      expect(payment_method.creditcard.pan.slice(-4)).toBe(pan.slice(-4));
    }
    expect((await problems())[`token ${token.id}`]).toBeUndefined();
  });

  // catches(broken seals: each is in the journal)
  // catches(broken seals: each is told)
  test('a broken token is tried a hundred times → refused each time, and journalled once', async () => {
    const token = await vault.newToken();
    await write(`UPDATE token SET customer_id = customer_id + 1 WHERE id = ${token.id}`);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => api.purchase({ pan: token.virtualPan })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422]));
    await expectUnusable(token);
  });

  test('a token is removed from the table → verification finds it', async () => {
    const token = await vault.newToken();
    await write(`DELETE FROM token WHERE id = ${token.id}`);
    expect((await problems())[`token ${token.id}`]).toBe('was removed');
  });
});

describe('keys', () => {
  // catches(broken seals: a seal under a key that was destroyed is one)
  // catches(keys: one that was destroyed does not come back)
  test('a destroyed data key is restored with a token of that time → not charged', async () => {
    const theirs = vaultOf(api, 2);
    const token = await theirs.newToken();
    const key = await saved('data_key', 'merchant_id = 2 AND version = 1');
    const row = await saved('token', `id = ${token.id}`);
    await operator.rotation.rotate(2, () => {});
    await gateway.sql(`UPDATE data_key SET created_at = created_at - interval '2 minutes'`);
    await operator.rotation.destroy(2, 1);
    // A process that has not opened it, and so has no cached copy.
    const fresh = await testGateway({ shareWith: gateway });
    await key();
    await row();
    const answer = await fresh.api.purchase({ pan: token.virtualPan, merchant: 2 });
    expect([answer.status, answer.body.errors?.[0].error_code]).toEqual([422, 'token_not_usable']);
    await fresh.close();
  });

  test('rotate with a broken seal among others → the others are resealed, the broken one stays, and the next rotation continues', async () => {
    const [good, bad] = [await vault.newToken(), await vault.newToken()];
    await write(`UPDATE token SET customer_id = customer_id + 1 WHERE id = ${bad.id}`);
    const versionOf = async ({ id }: NewToken) =>
      (await gateway.sql<{ version: number }>(`SELECT key_version AS version FROM token WHERE id = ${id}`))[0]
        ?.version;
    const before = (await versionOf(bad)) as number;
    for (const version of [before + 1, before + 2]) {
      const result = await operator.rotation.rotate(1, () => {});
      expect(result.broken).toBeGreaterThan(0);
      expect([await versionOf(good), await versionOf(bad)]).toEqual([version, before]);
    }
    await write(`UPDATE token SET customer_id = customer_id - 1 WHERE id = ${bad.id}`);
    expect((await api.purchase({ pan: bad.virtualPan })).status).toBe(201);
  });
});

describe('direct debits', () => {
  let bank: BankDay;
  const held = async () => {
    const rows = await gateway.sql<{ audit: number }>(
      'SELECT audit FROM directdebit_item WHERE held_at IS NOT NULL ORDER BY audit',
    );
    return rows.map(({ audit }) => audit);
  };
  const debit = async (name: string): Promise<number> =>
    (await api.purchase({ bankAccount: { account_name: name } })).body.audit;
  const exported = async () => (await bank.export(1))?.items.map(({ title }: Json) => title.trim()) ?? [];

  beforeAll(async () => {
    bank = bankDayOf(gateway);
    await bank.setDirectEntry(1);
    // The gateway learns of it a moment later; requests accepted before continue.
    await vi.waitUntil(async () => {
      const [row] = await gateway.sql<{ acquirer: string }>(
        `SELECT acquirer FROM transaction WHERE audit = ${await debit('FIRST')}`,
      );
      return row?.acquirer === 'directdebit';
    }, SOON);
    await exported();
  });
  afterAll(() => bank.close());

  // catches(direct debit: for the amount that was asked for)
  // catches(direct debit: from the account that was given)
  test('an item gets another account or amount → it is in no file, and the others are', async () => {
    const [good, pointed, dearer] = [await debit('GOOD'), await debit('POINTED'), await debit('DEARER')];
    await write(`UPDATE directdebit_item SET account_audit = ${good} WHERE audit = ${pointed};
      UPDATE transaction SET amount_cents = amount_cents * 100 WHERE audit = ${dearer}`);
    expect(await exported()).toEqual(['GOOD']);
    expect(await held()).toEqual([pointed, dearer]);
    const [status] = await showDirectDebitStatus(operator.database, 1);
    expect([Number(status?.waiting) - Number(status?.waitingSimulated), status?.held]).toEqual([2, 2]);
    expect(await problems()).toMatchObject({
      [`direct debit ${pointed}`]: 'is not as it was asked for',
      [`direct debit ${dearer}`]: 'is not as it was asked for',
    });
    // Once corrected, it goes with the next file.
    await write(`UPDATE directdebit_item SET account_audit = ${pointed} WHERE audit = ${pointed}`);
    expect(await exported()).toEqual(['POINTED']);
    expect(await held()).toEqual([dearer]);
    await write(`UPDATE transaction SET amount_cents = amount_cents / 100 WHERE audit = ${dearer}`);
    expect(await exported()).toEqual(['DEARER']);
  });

  // catches(direct debit: what was not attested is not lodged)
  // catches(direct debit: a refund as it was attested)
  test('a refund is moved to another debit, increased, or loses its seal → it is in no file', async () => {
    const [mine, theirs] = [await debit('MINE'), await debit('THEIRS')];
    expect((await exported()).sort()).toEqual(['MINE', 'THEIRS']);
    const both = `audit IN (${mine}, ${theirs})`;
    await write(`UPDATE directdebit_item SET state = 'cleared', next_at = NULL WHERE ${both}`);
    await storedAs(gateway, `status = 'approved'`, both);
    const refunds = [];
    for (let turn = 0; turn < 4; turn += 1) refunds.push((await api.refund(mine, 1_000)).body.audit);
    const [pointed, larger, bare, good] = refunds;
    await write(`UPDATE transaction SET target_audit = ${theirs} WHERE audit = ${pointed};
      UPDATE directdebit_item SET account_audit = ${theirs} WHERE audit = ${pointed};
      UPDATE transaction SET amount_cents = 9000 WHERE audit = ${larger};
      UPDATE transaction SET attestation = NULL WHERE audit = ${bare}`);
    const file = await bank.export(1);
    expect(file?.items).toHaveLength(1);
    expect(await held()).toEqual([pointed, larger, bare]);
    expect(good).toBeGreaterThan(0);
  });
});
