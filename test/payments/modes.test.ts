// Test and live: nothing simulated approves a live payment, no test payment uses a live link, and test transactions say so.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setDirectEntry } from '../../src/directdebit/direct-entry.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addUser } from '../../src/organisations/users/users.js';
import { showSettlement } from '../../src/settlement/settlement-tasks.js';
import { REAL_BANK } from '../../testkit/bank-day.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { type Client, paymentBody, TEST_MODE } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { ScriptedAcquirer } from '../../testkit/scripted-acquirer.js';
import { storedAs } from '../../testkit/sealed-transactions.js';
import { openDay } from '../../testkit/settlement-days.js';
import { vaultOf } from '../../testkit/vault-client.js';

const MODE = 'GATEWAY.RESPONSE.KVP.MODE';

const link = new ScriptedAcquirer('live');
let gateway: TestGateway;
let api: Client;
/** Live merchants: one without any link, one with the scripted acquirer, and one with a bank. */
let bare: number;
let carded: number;
let banked: number;

beforeAll(async () => {
  gateway = await testGateway({ acquirers: [link] });
  const database = operatorsDatabase(gateway);
  const add = async () =>
    (await addMerchant(database, 'operator:test', 1, 'Live', { live: true, vault: true })).id;
  [bare, carded, banked] = [await add(), await add(), await add()];
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = $1`, [carded]);
  await setDirectEntry(database, 'operator:test', banked, REAL_BANK);
  api = gateway.as(
    await addUser(database, 'operator:test', gateway.credentialKey, 'live', {
      merchant: bare,
      grants: [carded, banked, 1, 3],
    }),
  );
  await database.close();
});
afterAll(() => gateway.close());

const stored = async () =>
  (await gateway.sql<{ count: number }>('SELECT count(*)::integer AS count FROM transaction'))[0]?.count;

describe('a live merchant without a link', () => {
  const METHODS = { 'a card': {}, 'a bank account': { bankAccount: {} } };
  const ALL = Object.entries(METHODS).flatMap(([method, change]) =>
    (['purchase', 'preauthorise', 'standaloneRefund'] as const)
      .filter((operation) => method === 'a card' || operation !== 'preauthorise')
      .map((operation) => [operation, method, change] as const),
  );

  test.each(ALL)(
    '%s with %s → 422 no_acquirer, no audit, and the correlation ID is free',
    async (operation, _, change) => {
      const [before, ledger] = [await stored(), await gateway.ledger()];
      const correlationId = crypto.randomUUID();
      const { status, errors } = await api[operation]({ merchant: bare, correlationId, ...change });
      expect([status, errors]).toEqual([422, ['no_acquirer body/transaction/payment_method']]);
      expect((await api.search(correlationId, bare)).body.results).toEqual([]);
      expect([await stored(), await gateway.ledger()]).toEqual([before, ledger]);
    },
  );

  test('purchase with a virtual PAN → the token is created, and the payment is 422 no_acquirer', async () => {
    const { virtualPan } = await vaultOf(api).newToken();
    expect((await api.purchase({ merchant: bare, pan: virtualPan })).code).toBe('no_acquirer');
  });

  test('once it has a link → the payment is accepted under the same correlation ID', async () => {
    const correlationId = crypto.randomUUID();
    expect((await api.purchase({ merchant: banked, correlationId })).code).toBe('no_acquirer');
    const taken = await api.purchase({ merchant: banked, correlationId, bankAccount: {} });
    expect(taken.body.status.transaction_status_code).toBe('pending');
  });
});

describe('a live merchant with a live link', () => {
  test('purchase, refund and void → over that link, nothing in the simulator’s books, and no mode is shown', async () => {
    const ledger = await gateway.ledger();
    const purchase = await api.purchase({ merchant: carded, amount: 100 });
    const refund = await api.refund(purchase.body.audit, 40, { merchant: carded });
    const undone = await api.void(refund.body.audit, { merchant: carded });
    const hold = await api.preauthorise({ merchant: carded, amount: 100 });
    const completion = await api.complete(hold.body.audit, 50, { merchant: carded });
    for (const { status, body } of [purchase, refund, undone, hold, completion]) {
      expect([status, body.status.transaction_status_code]).toEqual([201, 'approved']);
      expect(body.kvps).toEqual({});
      expect((await api.lookUp(body.audit)).body.kvps).not.toHaveProperty([MODE]);
    }
    expect(link.requests.map(({ operation }) => operation)).toEqual([
      'purchase',
      'refund',
      'void',
      'preauthorisation',
      'completion',
    ]);
    expect(await gateway.ledger()).toEqual(ledger);
  });

  // catches(link: live merchants by live links only)
  test('a target that went over the simulator, against the rules → the refund is not sent, and the response says so', async () => {
    const { audit } = (await api.purchase({ merchant: carded, amount: 100 })).body;
    await storedAs(gateway, `acquirer = 'simulator'`, `audit = ${audit}`);
    const ledger = await gateway.ledger();
    const { body } = await api.refund(audit, 40, { merchant: carded });
    expect(body.status).toMatchObject({ gateway_status_code: 1, transaction_status_code: 'error' });
    expect(await gateway.ledger()).toEqual(ledger);
  });

  test('a debit with its own bank → pending, and nothing in the simulated bank', async () => {
    const { audit } = (await api.purchase({ merchant: banked, bankAccount: {} })).body;
    const items = await gateway.sql(`SELECT simulated, next_at FROM directdebit_item WHERE audit = $1`, [
      audit,
    ]);
    expect(items).toEqual([{ simulated: false, next_at: null }]);
    const refused = await api.purchase({ merchant: banked });
    expect(refused.errors).toEqual(['no_acquirer body/transaction/payment_method']);
  });
});

describe('a settlement day with transactions of both modes', () => {
  test.each([
    ['test', () => [1, 3], 'simulator'],
    ['live', () => [carded], 'scripted'],
  ] as const)(
    'for %s merchants → only their own transactions, in the sums and in the file',
    async (mode, merchants, acquirer) => {
      const day = await openDay(gateway);
      for (const merchant of [1, 3, carded]) await api.purchase({ merchant, amount: 700 });
      const database = operatorsDatabase(gateway);
      const path = join(gateway.dataDir, `${mode}.csv`);
      const { net } = await showSettlement(database, 'operator:test', {
        date: day,
        mode,
        csv: path,
      }).finally(() => database.close());
      expect(net.map(({ merchantId }) => merchantId)).toEqual(merchants());
      const [header = '', ...rows] = (await readFile(path, 'utf8')).trimEnd().split('\n');
      const column = (name: string) => {
        const at = header.split(',').indexOf(name);
        return [...new Set(rows.map((row) => row.split(',')[at]))];
      };
      expect(column('mode')).toEqual([mode]);
      expect(column('merchant_id').map(Number)).toEqual(merchants());
      expect(column('acquirer')).toEqual([acquirer]);
    },
  );
});

describe('a test merchant', () => {
  test('purchase, look-up and search → each shows the mode test', async () => {
    const correlationId = crypto.randomUUID();
    const created = await api.purchase({ correlationId });
    expect(created.body.kvps).toEqual(TEST_MODE);
    expect((await api.lookUp(created.body.audit)).body.kvps[MODE]).toBe('test');
    expect((await api.search(correlationId)).body.results[0].kvps[MODE]).toBe('test');
  });

  test.each(['MODE', 'GATEWAY.REQUEST.KVP.MODE', 'GATEWAY.RESPONSE.KVP.MODE'])(
    'a client that sends its own %s → the gateway’s value is used',
    async (key) => {
      const sent = await api.purchase({ kvps: { [key]: 'live' } });
      const kvps = sent.status === 201 ? sent.body.kvps : TEST_MODE;
      expect(kvps[MODE]).toBe('test');
      const live = await api.purchase({ merchant: carded, kvps: { [key]: 'test' } });
      if (live.status === 201) expect(live.body.kvps).not.toHaveProperty([MODE]);
    },
  );

  // catches(link: live merchants by live links only)
  test('its acquirer is a live link → 422 no_acquirer, and nothing is sent', async () => {
    await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted' WHERE id = 3`);
    const asked = link.requests.length;
    // Read again by a user without a cached entry.
    const { code } = await gateway.as(gateway.owner).purchase({ merchant: 3 });
    expect([code, link.requests.length]).toEqual(['no_acquirer', asked]);
  });
});

describe('the database', () => {
  test.each([
    // catches(schema: a merchant that changes its mode)
    ['a merchant that changes its mode', `UPDATE merchant SET mode = 'live' WHERE id = 1`, 'mode_is_kept'],
    ['a live one that becomes test', `UPDATE merchant SET mode = 'test' WHERE mode = 'live'`, 'mode_is_kept'],
    [
      // catches(schema: a live merchant with the simulator)
      'a live merchant with the simulator',
      `UPDATE merchant SET acquirer = 'simulator' WHERE mode = 'live'`,
      'live_is_never_simulated',
    ],
    [
      'a live merchant with the simulated bank',
      `UPDATE direct_entry SET simulated = true`,
      'live_bank_is_real',
    ],
    [
      'a simulated item of a live merchant',
      `INSERT INTO directdebit_item (organisation_id, audit, merchant_id, account_audit, simulated)
       SELECT 1, 1, id, 1, true FROM merchant WHERE mode = 'live' LIMIT 1`,
      'live_bank_is_real',
    ],
    // catches(schema: a clock that is moved)
    ['a clock that is moved', 'UPDATE gateway SET advanced_ms = 1', 'live_keeps_real_time'],
  ])('%s → refused', async (_, statement, constraint) => {
    await expect(gateway.sql(statement)).rejects.toMatchObject({ code: '23514', constraint });
  });
});

describe('a request with X-Test-Only', () => {
  const headers = { 'x-test-only': 'true' };
  const pay = (merchant: number, correlationId: string, extra = {}) =>
    api.call('/transactions/purchase', { body: paymentBody({ merchant }), correlationId, headers: extra });

  // catches(caller: with X-Test-Only no live merchant)
  test('a purchase for a live merchant → 403 as for a foreign one, no audit, and nothing is sent', async () => {
    const [before, asked] = [await stored(), link.requests.length];
    const correlationId = crypto.randomUUID();
    const { status, errors } = await pay(carded, correlationId, headers);
    expect([status, errors]).toEqual([403, ['merchant_not_permitted body/merchant/id']]);
    expect([await stored(), link.requests.length]).toEqual([before, asked]);
    expect((await pay(carded, correlationId)).status).toBe(201);
  });

  test('a transaction, the list and the vault of a live merchant → hidden', async () => {
    const { audit } = (await pay(carded, crypto.randomUUID())).body;
    const get = (path: string) => api.call(path, { headers });
    expect((await get(`/transactions/${audit}`)).status).toBe(404);
    expect((await api.lookUp(audit)).status).toBe(200);
    const merchants = async (extra: object) => {
      const { results } = (await api.call('/transactions/history', extra)).body;
      return new Set(results.map(({ merchant }: { merchant: { id: number } }) => merchant.id));
    };
    expect(await merchants({})).toContain(carded);
    expect(await merchants({ headers })).not.toContain(carded);
    expect((await get('/customers')).status).toBe(403);
  });

  test('a purchase for a test merchant of the same user → works as usual', async () => {
    expect((await pay(1, crypto.randomUUID(), headers)).body.status.transaction_status_code).toBe('approved');
  });
});
