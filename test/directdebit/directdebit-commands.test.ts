// `tollgate directdebit …` as an operator or a script runs it: what it prints, and how it refuses.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BankDay, bankDayOf } from '../../testkit/bank-day.js';
import { type DirectEntryFile, itemOf, returnsFile } from '../../testkit/bank-file-layout.js';
import { commands, wordsOf } from '../../testkit/commands.js';
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

const { json, text, refusal } = commands((line) => bank.tollgate('directdebit', ...wordsOf(line)));

const SET =
  "set --bank CBA --user-name 'OURS PTY LTD' --user-id 301500 --trace-bsb 062111 --trace-account '87 654-321' --remitter OURS";
const SETTINGS = {
  mode: 'test',
  bank: 'CBA',
  user_name: 'OURS PTY LTD',
  user_id: '301500',
  description: 'PAYMENTS',
  trace_bsb: '062-111',
  trace_account: '87654321',
  remitter: 'OURS',
  clearing_days: 2,
  dispute_days: 365,
  simulated: false,
};

describe.concurrent('set and show', () => {
  test('set → the settings, with the defaults; show → the same; the journal has who and what', async () => {
    expect(await json(`${SET} --merchant 2`)).toEqual({ merchant: 2, ...SETTINGS });
    expect(await json('show --merchant 2')).toEqual({ merchant: 2, ...SETTINGS });
    expect(await text('show --merchant 2')).toBe(
      'Merchant 2 lodges as OURS PTY LTD (301500) with CBA; items clear after 2 business days and can be returned for 365 days.',
    );
    const changed = `${SET} --merchant 2 --clearing-days 3 --dispute-days 30 --description RENT --simulated`;
    expect(await text(changed)).toBe(
      'Merchant 2 lodges as OURS PTY LTD (301500) with the simulated bank; items clear after 3 business days and can be returned for 30 days.',
    );
    const settings = { description: 'RENT', clearing_days: 3, dispute_days: 30, simulated: true };
    expect(await json('show --merchant 2')).toEqual({ merchant: 2, ...SETTINGS, ...settings });
    const told = await gateway.sql(
      `SELECT actor, detail FROM journal WHERE action = 'directdebit.set' AND merchant_id = 2 ORDER BY id`,
    );
    expect(told).toEqual([
      { actor: expect.stringMatching(/^operator:/), detail: 'CBA' },
      { actor: expect.stringMatching(/^operator:/), detail: 'CBA, simulated' },
    ]);
  });

  test('show, nothing was set → the simulated bank, under the merchant’s name', async () => {
    expect(await json('show --merchant 4')).toEqual({
      merchant: 4,
      mode: 'test',
      bank: 'SIM',
      user_name: 'Theirs',
      user_id: '000001',
      description: 'PAYMENTS',
      trace_bsb: '999-001',
      trace_account: '100000001',
      remitter: 'Theirs',
      clearing_days: 2,
      dispute_days: 365,
      simulated: true,
    });
  });

  test('set, everything wrong → one line names every wrong field, and nothing is set', async () => {
    const line =
      "set --merchant 4 --bank cba --user-name 'A{B}' --user-id 12345 --description 'THIRTEEN CHAR' --trace-bsb 06-2111 --trace-account 0000 --remitter 'SEVENTEEN LETTERS'";
    const said = await refusal(line);
    expect(said.split('; ').map((rule) => rule.split(' ')[0])).toEqual([
      '--bank',
      '--user-name',
      '--user-id',
      '--description',
      '--trace-bsb',
      '--trace-account',
      '--remitter',
    ]);
    expect(await gateway.sql('SELECT bank FROM direct_entry WHERE merchant_id = 4')).toEqual([]);
  });

  test.each([
    [`${SET} --merchant 2147483647`, /^there is no merchant 2147483647$/],
    ['set --merchant 1', /^required option '--bank <letters>' not specified /],
    [`${SET} --merchant 4 --clearing-days 31`, /'31' is invalid. It must be a whole number from 1 to 30\. /],
    [`${SET} --merchant 4 --dispute-days 0`, /'0' is invalid. It must be a whole number from 1 to 3650\. /],
    [
      `${SET.replace("'OURS PTY LTD'", "' '")} --merchant 4`,
      /^--user-name takes 1 to 26 characters that banks take$/,
    ],
    ['export --merchant 1', /^required option '--out <file>' not specified /],
    ['export --merchant 4 --out x --file 1', /^merchant 4 has no file 1$/],
    ['import-returns no-such-file', /^no-such-file cannot be read \(ENOENT\)$/],
    ['import-returns .', /^\. cannot be read \(EISDIR\)$/],
  ])('%s → one line, exit code 1', async (line, expected) => {
    expect(await refusal(line)).toMatch(expected);
  });

  test('a refusal with --json → JSON on stderr', async () => {
    const { code, stdout, stderr } = await bank.tollgate('directdebit', 'show', '--merchant', '9', '--json');
    expect([code, stdout, JSON.parse(stderr)]).toEqual([1, '', { error: 'there is no merchant 9' }]);
  });
});

test('export, import-returns and status through a day → the output of each for a person and for a program', async () => {
  const { api } = gateway;
  const debit = async (account_name: string, amount: number) =>
    (await api.purchase({ merchant: 3, amount, bankAccount: { account_name } })).body.audit as number;
  const out = join(bank.folder, 'first.aba');
  expect(await text(`export --merchant 3 --out ${out}`)).toBe('Nothing waits, and no file was written.');
  expect(await json(`export --merchant 3 --out ${out}`)).toEqual({ merchant: 3, file: null, items: 0 });

  await debit('FIRST', 1_000);
  await debit('SECOND', 200);
  await api.void(await debit('VOIDED', 5), { merchant: 3 });
  await api.standaloneRefund({ merchant: 3, amount: 30, bankAccount: { account_name: 'CREDIT' } });
  const empty = {
    merchant: 3,
    mode: 'test',
    bank: 'SIM',
    simulated: true,
    waiting: 0,
    waiting_simulated: 0,
    waiting_debit_cents: 0,
    waiting_credit_cents: 0,
    held: 0,
    clearing: 0,
    cleared: 0,
    returned: 0,
    files: 0,
    files_to_write: 0,
  };
  expect(await json('status --merchant 3')).toEqual([
    { ...empty, waiting: 3, waiting_simulated: 3, waiting_debit_cents: 1_200, waiting_credit_cents: 30 },
  ]);
  const { items, header } = (await bank.export(3)) as DirectEntryFile;
  expect(items).toHaveLength(3);
  expect(await json('status --merchant 3')).toEqual([{ ...empty, clearing: 3, files: 1 }]);
  await debit('THIRD', 7);
  expect(await text(`export --merchant 3 --out ${out}`)).toBe(`File 2 with 1 items is in ${out}.`);

  const back = { item: itemOf({ items }, 'SECOND'), returnCode: 4 };
  const foreign = { item: { ...back.item, reference: 'NOT OURS' }, returnCode: 1 };
  const path = await bank.save(returnsFile(header, [back, foreign]));
  expect(await text(`import-returns ${path}`)).toBe(
    '1 of 2 items are declined now, 0 of them late.\nLine 3 NOT OURS: unknown reference.',
  );
  expect(await json(`import-returns ${path}`)).toEqual({
    items: 2,
    returned: 0,
    late: 0,
    returned_already: 1,
    unmatched: [{ line: 3, lodgement_reference: 'NOT OURS', reason: 'unknown reference' }],
    refunded: [],
  });
  const cut = await bank.save(returnsFile(header, [back]).slice(0, 244));
  expect(await refusal(`import-returns ${cut}`)).toBe(
    `${cut} is cut short, or was changed (no trailer speaks of exactly its items); nothing was imported`,
  );

  const lines = (await text('status')).split('\n');
  expect(lines[0]?.split(/ {2,}/)).toEqual(Object.keys(empty));
  expect(lines.map((line) => line.split(/ {2,}/)[0])).toEqual(['merchant', '1', '2', '3', '4']);
  expect(lines[3]?.split(/ {2,}/)).toEqual([
    '3',
    'test',
    'SIM',
    'yes',
    '0',
    '0',
    '0',
    '0',
    '0',
    '3',
    '0',
    '1',
    '2',
    '0',
  ]);
  const told = await gateway.sql(
    `SELECT merchant_id, detail FROM journal WHERE action LIKE 'directdebit.%' AND action <> 'directdebit.set' ORDER BY id`,
  );
  expect(told).toEqual([
    { merchant_id: 3, detail: 'file 1' },
    { merchant_id: 3, detail: 'file 2' },
    { merchant_id: null, detail: '1 returned, 0 of them late, 0 before, 1 unmatched' },
    { merchant_id: null, detail: '0 returned, 0 of them late, 1 before, 1 unmatched' },
  ]);
});
