// Whose items they are: what the simulated bank took in stays with it, whatever bank the merchant gets; and the files of
// test merchants say that they are tests.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { setDirectEntry } from '../../src/directdebit/direct-entry.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addUser } from '../../src/organisations/users/users.js';
import { type BankDay, bankDayOf, moveClock, REAL_BANK } from '../../testkit/bank-day.js';
import type { Client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

let gateway: TestGateway;
let bank: BankDay;

beforeAll(async () => {
  gateway = await testGateway();
  bank = bankDayOf(gateway);
});
afterAll(async () => {
  await bank.close();
  await gateway.close();
});

async function debit(account_name: string, merchant: number, api: Client = gateway.api): Promise<number> {
  return (await api.purchase({ merchant, bankAccount: { account_name } })).body.audit;
}

async function isSimulated(audit: number): Promise<boolean> {
  const rows = await gateway.sql<{ simulated: boolean }>(
    'SELECT simulated FROM directdebit_item WHERE audit = $1 AND organisation_id = 1',
    [audit],
  );
  return rows[0]?.simulated as boolean;
}

const titles = (file: { items: readonly { title: string }[] } | undefined) =>
  file?.items.map(({ title }) => title);

test('a stream of debits while the bank is switched back and forth → debits begun after a switch go to the new bank', async () => {
  const other = gateway.as(
    await addUser(bank.database, 'operator:test', gateway.credentialKey, 'other', { merchant: 2 }),
  );
  // Changes of the bank that have begun, and that are done: between the two, either bank is right.
  let [begun, done, ended] = [0, 0, false];
  const made: { audit: number; doneBefore: number; begunAfter: number }[] = [];
  const shops = [gateway.api, other].map(async (api) => {
    while (!ended) {
      const doneBefore = done;
      const audit = await debit('IN A RACE', 2, api);
      made.push({ audit, doneBefore, begunAfter: begun });
    }
  });
  const paidBetweenChanges = () =>
    vi.waitUntil(() => made.filter(({ doneBefore }) => doneBefore === done).length >= 4, {
      timeout: 300_000,
    });
  try {
    await paidBetweenChanges();
    while (done < 6) {
      begun += 1;
      await bank.setDirectEntry(2, { simulated: begun % 2 === 0 });
      done = begun;
      await paidBetweenChanges();
    }
  } finally {
    ended = true;
    await Promise.all(shops);
  }

  const certain = made.filter(({ doneBefore, begunAfter }) => doneBefore === begunAfter);
  const wrong = [];
  for (const each of certain)
    if ((await isSimulated(each.audit)) !== (each.doneBefore % 2 === 0)) wrong.push(each);
  expect(wrong).toEqual([]);
  expect(new Set(certain.map(({ doneBefore }) => doneBefore)).size).toBe(7);
});

// catches(item: belongs to the bank that took it in) slow
// catches(file: only what its bank has taken in) slow
test('debits on the simulated bank, then a real bank, then the simulated one again → each stays with its bank', async () => {
  const simulated = await debit('SIMULATED', 1);
  await bank.setDirectEntry(1);
  const real = await debit('FIRST OF ITS BANK', 1);
  await debit('REAL', 1);
  expect(await isSimulated(simulated)).toBe(true);
  expect(titles(await bank.export(1))).toEqual(['FIRST OF ITS BANK', 'REAL']);
  expect(await bank.export(1)).toBeUndefined();

  const late = await debit('LEFT OVER', 1);
  await bank.setDirectEntry(1, { simulated: true });
  await debit('FIRST OF ITS BANK', 1);
  const leftOver = await bank.export(1);
  expect([leftOver?.header.bank, titles(leftOver)]).toEqual(['CBA', ['LEFT OVER']]);
  const ofSimulated = await bank.export(1);
  expect([ofSimulated?.header.bank, titles(ofSimulated)]).toEqual([
    'SIM',
    ['SIMULATED', 'FIRST OF ITS BANK'],
  ]);

  await moveClock(gateway, 12);
  const cleared = [simulated, real, late].map(async (audit) => (await gateway.api.lookUp(audit)).body.status);
  for (const status of await Promise.all(cleared)) expect(status.transaction_status_code).toBe('approved');
  // The simulated bank has booked its own, and nothing else.
  const booked = (await gateway.ledger()).map(({ reference }) => Number(reference.split('-').at(-1)));
  expect(booked).toContain(simulated);
  for (const audit of [real, late]) expect(booked).not.toContain(audit);

  // A refund goes back by the bank by which the money came, whichever is set by now.
  for (const [audit, expected] of [
    [simulated, true],
    [real, false],
  ] as const) {
    const { body } = await gateway.api.refund(audit, 1);
    expect([audit, await isSimulated(body.audit)]).toEqual([audit, expected]);
  }
});

// catches(schema: a file for a real bank holds no simulated item)
test('a simulated item in a file for a real bank, or an item moved to another bank → the database refuses', async () => {
  const waiting = await debit('SIMULATED', 3);
  const made = await gateway.sql(`
    INSERT INTO directdebit_file (organisation_id, merchant_id, number, made_at, processing_day, settings, items,
      debit_cents, credit_cents, simulated) VALUES (1, 3, 7, now(), now(), '{}', 1, 1, 0, false) RETURNING number`);
  expect(made).toHaveLength(1);
  const filed = `UPDATE directdebit_item SET state = 'filed', file_number = 7, line = 1 WHERE audit = $1`;
  await expect(gateway.sql(filed, [waiting])).rejects.toMatchObject({
    constraint: 'item_in_a_file_of_its_bank',
  });
  const moved = 'UPDATE directdebit_item SET simulated = false WHERE audit = $1';
  await expect(gateway.sql(moved, [waiting])).rejects.toMatchObject({ constraint: 'bank_is_kept' });
});

test('the files of a test merchant → TEST in user name and description, cut to their widths; of a live merchant → as set', async () => {
  const own = await testGateway();
  const operator = bankDayOf(own);
  try {
    const { id: live } = await addMerchant(operator.database, 'operator:test', 1, 'Live', { live: true });
    const wish = { ...REAL_BANK, userName: 'TWENTY SIX CHARACTERS LONG', description: 'TWELVE CHARS' };
    for (const merchant of [live, 1])
      await setDirectEntry(operator.database, 'operator:test', merchant, wish);
    const api = own.as(
      await addUser(operator.database, 'operator:test', own.credentialKey, 'live', {
        merchant: live,
        grants: [1],
      }),
    );
    const headers = [];
    for (const merchant of [live, 1]) {
      await debit('A CUSTOMER', merchant, api);
      headers.push((await operator.export(merchant))?.header);
    }
    expect(headers).toMatchObject([
      { bank: 'CBA', userName: 'TWENTY SIX CHARACTERS LONG', description: 'TWELVE CHARS' },
      { bank: 'CBA', userName: 'TEST TWENTY SIX CHARACTERS', description: 'TEST TWELVE' },
    ]);
    // A merchant whose settings say so already need not say it twice.
    await setDirectEntry(operator.database, 'operator:test', 1, {
      ...wish,
      userName: 'TEST US',
      description: 'TESTS',
    });
    await debit('A CUSTOMER', 1, api);
    expect((await operator.export(1))?.header).toMatchObject({
      userName: 'TEST US',
      description: 'TEST TESTS',
    });
  } finally {
    await operator.close();
  }
});

test('a live merchant’s bank: none → one line; the simulated one → refused; a real one while the clock is ahead → refused', async () => {
  const own = await testGateway();
  const operator = bankDayOf(own);
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await operator.tollgate(...args);
    expect([code, stdout]).toEqual([1, '']);
    return stderr;
  };
  const set =
    'directdebit set --bank CBA --user-name OURS --user-id 301500 --trace-bsb 062111 --trace-account 87654321 --remitter OURS';
  try {
    await own.advance('1d');
    expect(await said(...set.split(' '), '--merchant', '1')).toBe(
      'tollgate: a real bank’s files need real time, and the clock is ahead of it; `tollgate clock reset` brings it back\n',
    );
    expect((await operator.tollgate('clock', 'reset')).code).toBe(0);
    const { id: live } = await addMerchant(operator.database, 'operator:test', 1, 'Live', { live: true });
    const nothingYet = `tollgate: merchant ${live} is live and has no bank yet; \`tollgate directdebit set\` says how it lodges\n`;
    expect(await said('directdebit', 'show', '--merchant', String(live))).toBe(nothingYet);
    const out = join(operator.folder, 'none.aba');
    expect(await said('directdebit', 'export', '--merchant', String(live), '--out', out)).toBe(nothingYet);
    expect(await said(...set.split(' '), '--merchant', String(live), '--simulated')).toBe(
      `tollgate: merchant ${live} is live, and cannot bank with the simulated bank; leave out --simulated\n`,
    );
  } finally {
    await operator.close();
  }
});
