// Files for the banks and returns from them, made and imported with the commands, as an operator does it.
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BankDay, bankDayOf, moveClock, REAL_BANK } from '../../testkit/bank-day.js';
import {
  type DirectEntryFile,
  itemOf,
  read,
  returnsFile,
  totalsOf,
  written,
} from '../../testkit/bank-file-layout.js';
import type { Json } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';

const RETURN_CODES = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const SET_ARGUMENTS = [
  ...['--bank', REAL_BANK.bank, '--user-name', REAL_BANK.userName, '--user-id', REAL_BANK.userId],
  ...['--description', REAL_BANK.description, '--trace-bsb', '062111', '--trace-account', '87 654-321'],
  ...['--remitter', REAL_BANK.remitter],
];

let gateway: TestGateway;
let bank: BankDay;

/** What one merchant's operator has seen. */
interface Run {
  readonly exported: Json;
  readonly out: string;
  readonly text: string;
  readonly file: DirectEntryFile;
  readonly imported: Json;
  readonly audits: ReadonlyMap<string, number>;
}
const runs = new Map<number, Run>();

/** One debit that clears and one credit that clears, a voided one, and a debit and a credit for each return code. */
async function makeItems(merchant: number): Promise<Map<string, number>> {
  const { api } = gateway;
  const audits = new Map<string, number>();
  const add = async (account_name: string, amount: number, account_number: string, debit = true) => {
    const change = { merchant, amount, bankAccount: { account_name, account_number, bsb: '083-170' } };
    const { body } = await (debit ? api.purchase(change) : api.standaloneRefund(change));
    audits.set(account_name, body.audit);
  };
  await add('CLEARS', 1, '12');
  await add('CLEARS TO THEM', 9_999_999_999, '999999999', false);
  await add('VOIDED', 5, '12');
  await api.void(audits.get('VOIDED') as number, { merchant });
  for (const code of RETURN_CODES) {
    await add(`COMES BACK ${code}`, 1_000 + code, `7700${code}`);
    await add(`GOES BACK ${code}`, 2_000 + code, `7700${code}`, false);
  }
  await add('W[x]^_ (Z) #1 & Co., 32 letters!', 77, '000000001');
  return audits;
}

async function statusOf(audit: number): Promise<Json> {
  return (await gateway.api.lookUp(audit)).body.status;
}

async function json(...args: string[]): Promise<Json> {
  const { code, stdout, stderr } = await bank.tollgate(...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

beforeAll(async () => {
  gateway = await testGateway();
  bank = bankDayOf(gateway);
  await json('directdebit', 'set', '--merchant', '2', ...SET_ARGUMENTS);
  await bank.setDirectEntry(3);
  await Promise.all(
    [1, 2].map(async (merchant) => {
      const audits = await makeItems(merchant);
      const out = join(bank.folder, `merchant-${merchant}.aba`);
      const exported = await json('directdebit', 'export', '--merchant', String(merchant), '--out', out);
      const text = await readFile(out, 'latin1');
      const file = read(text);
      // A credit of ten digits leaves no room for others: they go with the next file.
      const rest = (await bank.export(merchant)) as DirectEntryFile;
      const back = [...file.items, ...rest.items]
        .filter(({ title }) => title.includes('BACK'))
        .map((item) => ({ item, returnCode: Number(item.title.slice(-1)) }));
      const returns = await bank.save(returnsFile(file.header, back));
      const imported = await json('directdebit', 'import-returns', returns);
      runs.set(merchant, { exported, out, text, file, imported, audits });
    }),
  );
});
afterAll(async () => {
  await bank.close();
  await gateway.close();
});

describe.each([
  [1, 'the simulated bank'],
  [2, 'a real bank'],
])('merchant %i, with %s', (merchant) => {
  const run = () => runs.get(merchant) as Run;

  test('export → a file of lines of 120 columns, every field in its place', () => {
    const { text, file } = run();
    const lines = text.split('\r\n');
    expect(lines.pop()).toBe('');
    for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]{120}$/);
    expect(written(file)).toBe(text);
    expect(new Set(file.items.map(({ indicator }) => indicator))).toEqual(new Set([' ']));
  });

  test('export → the header and the trace record have the merchant’s details', async () => {
    const { file, exported } = run();
    const [year, month, day] = exported.processing_day.split('-');
    expect(file.header).toEqual(
      merchant === 2
        ? {
            reel: '01',
            bank: 'CBA',
            userName: 'TEST OURS PTY LTD',
            userId: '301500',
            description: 'TEST RENT',
            day: day + month + year.slice(2),
          }
        : {
            reel: '01',
            bank: 'SIM',
            userName: 'TEST Ours',
            userId: '000001',
            description: 'TEST PAYMENT',
            day: day + month + year.slice(2),
          },
    );
    const trace = ({ traceBsb, traceAccount, remitter }: (typeof file.items)[number]) =>
      [traceBsb, traceAccount, remitter].join();
    expect(new Set(file.items.map(trace))).toEqual(
      new Set([merchant === 2 ? '062-111,87654321,OURS' : '999-001,100000001,Ours']),
    );
  });

  test('export → debits and credits with accounts in clear, in the order of their audits, without voided ones', () => {
    const { file, audits } = run();
    expect(itemOf(file, 'CLEARS')).toMatchObject({
      bsb: '083-170',
      accountNumber: '12',
      code: '13',
      cents: 1,
    });
    expect(itemOf(file, 'CLEARS TO THEM')).toMatchObject({
      accountNumber: '999999999',
      code: '50',
      cents: 9_999_999_999,
    });
    const titles = file.items.map(({ title }) => title);
    expect(titles).not.toContain('VOIDED');
    expect(titles.filter((title) => !audits.has(title))).toEqual([]);
    const order = titles.map((title) => audits.get(title) as number);
    expect(order).toEqual([...order].sort((one, other) => one - other));
    const references = file.items.map(({ reference }) => reference);
    expect(new Set(references).size).toBe(references.length);
    for (const reference of references) expect(reference).toMatch(/^[0-9A-Z]{18}$/);
  });

  test('export → a trailer with the sums, and no more credits than its ten digits can hold: the rest waits', () => {
    const { file, exported, out, audits } = run();
    expect(file.trailer).toEqual(totalsOf(file.items));
    expect(file.trailer.creditCents).toBe(9_999_999_999);
    expect(exported).toEqual({
      merchant,
      file: 1,
      items: file.items.length,
      debit_cents: file.trailer.debitCents,
      credit_cents: 9_999_999_999,
      processing_day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      left: audits.size - 1 - file.items.length,
      out,
    });
  });

  test('import-returns → each returned item is declined with its code, the others stay pending', async () => {
    const { imported, audits } = run();
    expect(imported).toEqual({
      items: 18,
      returned: 18,
      late: 0,
      returned_already: 0,
      unmatched: [],
      refunded: [],
    });
    for (const [name, audit] of audits) {
      const code = name.match(/BACK (\d)$/)?.[1];
      if (code === undefined) continue;
      expect(await statusOf(audit)).toMatchObject({
        gateway_status_code: 0,
        transaction_status_code: 'declined',
        acquirer: { response_code: code },
      });
    }
    expect((await statusOf(audits.get('CLEARS') as number)).transaction_status_code).toBe('pending');
  });

  test('export once more → the same file byte for byte under another name, readable only by its owner', async () => {
    const { text } = run();
    const copy = join(bank.folder, `copy-${merchant}.aba`);
    await json('directdebit', 'export', '--merchant', String(merchant), '--file', '1', '--out', copy);
    expect(await readFile(copy, 'latin1')).toBe(text);
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
  });
});

test('the clearing days pass → items that were not returned are approved; clock advance itself is refused', async () => {
  const { code, stdout, stderr } = await bank.tollgate('clock', 'advance', '1d');
  expect([code, stdout, stderr]).toEqual([
    1,
    '',
    'tollgate: the clock can be moved only where every acquirer is simulated, not with the bank of merchant 2, the bank of merchant 3\n',
  ]);
  await moveClock(gateway, 12);
  for (const { audits } of runs.values()) {
    for (const [name, audit] of audits) {
      if (name.includes('BACK') || name === 'VOIDED') continue;
      expect(await statusOf(audit)).toMatchObject({
        transaction_status_code: 'approved',
        acquirer: { response_code: '00', response_message: 'Cleared' },
      });
    }
    expect((await statusOf(audits.get('VOIDED') as number)).transaction_status_code).toBe('voided');
  }
});

describe('where a file cannot be written', () => {
  let waiting: number;
  beforeAll(async () => {
    waiting = (await gateway.api.purchase({ merchant: 2, bankAccount: {} })).body.audit;
  });

  async function expectNothingDecided(refusal: RegExp, out: string): Promise<void> {
    const before = await readdir(bank.folder);
    const { code, stdout, stderr } = await bank.tollgate(
      'directdebit',
      'export',
      '--merchant',
      '2',
      '--out',
      out,
    );
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(refusal);
    expect(stderr.split('\n')).toHaveLength(2);
    expect((await gateway.api.lookUp(waiting)).body._links).toHaveProperty('void');
    expect(await readdir(bank.folder)).toEqual(before);
  }

  test('a file with that name exists → one line, and waiting items can still be voided', async () => {
    const { out, text } = runs.get(1) as Run;
    await expectNothingDecided(/^tollgate: .* exists already and is not overwritten\n$/, out);
    expect(await readFile(out, 'latin1')).toBe(text);
  });

  test('no such folder → one line, and waiting items can still be voided', () =>
    expectNothingDecided(/^tollgate: .* cannot be written \(ENOENT\)\n$/, join(bank.folder, 'no/such/file')));

  test('a folder with that name exists → one line, and waiting items can still be voided', async () => {
    const folder = join(bank.folder, 'folder');
    await mkdir(folder);
    await expectNothingDecided(/^tollgate: .* exists already and is not overwritten\n$/, folder);
  });
});

test('three exports of one merchant at once → every item is in one of their files, and no file is written twice', async () => {
  for (let round = 0; round < 12; round += 1) {
    const names = Array.from({ length: 5 }, (_, number) => `ROUND ${round} ITEM ${number}`);
    await Promise.all(
      names.map((account_name) => gateway.api.purchase({ merchant: 3, bankAccount: { account_name } })),
    );
    // The later ones begin while the first makes its file, or writes it, or has just written it.
    const starts = [0, 4 + 2 * round, 8 + 4 * round];
    const made = await Promise.all(starts.map((startMs) => sleep(startMs).then(() => bank.export(3))));
    const titles = made.flatMap((file) => file?.items.map(({ title }) => title) ?? []);
    expect(titles.sort()).toEqual(names);
  }
});
