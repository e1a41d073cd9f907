// An account number stands in clear in the file for the bank, and nowhere else.
import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { read, returnsFile } from '../../testkit/bank-file-layout.js';
import { type Answer, type Json, paymentBody } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';
import {
  formsOf,
  foundIn,
  hashesOf,
  inGatewayFiles,
  rowsOf,
  ServerFiles,
} from '../../testkit/secret-scan.js';
import { bankAccount, vaultOf } from '../../testkit/vault-client.js';

// Others in each run: what an earlier run has planted may still lie about in the server's files. They begin alike, so that they are
// looked for quickly.
const FIRST = 810_000_000 + randomInt(100_000) * 100;
const ACCOUNTS = Array.from({ length: 12 }, (_, index) => String(FIRST + index));
const WANTED = ACCOUNTS.flatMap(formsOf);

let gateway: TestGateway;
let files: ServerFiles | undefined;
let exported: string;
const answers: Answer[] = [];
const printed: string[] = [];

beforeAll(async () => {
  gateway = await testGateway();
  const serverFiles = inject('serverFiles');
  files = serverFiles === undefined ? undefined : ServerFiles.watch(serverFiles, gateway);
  const { api } = gateway;
  const keep = async (asking: Promise<Answer>) => {
    const answer = await asking;
    answers.push(answer);
    return answer;
  };
  const [first = '', ...others] = ACCOUNTS;
  await Promise.all(
    ACCOUNTS.map(async (account_number, index) => {
      const { body } = await keep(
        index % 2
          ? api.purchase({ bankAccount: { account_number } })
          : api.standaloneRefund({ bankAccount: { account_number } }),
      );
      await keep(api.lookUp(body.audit));
      if (index > 9) await keep(api.void(body.audit));
    }),
  );
  const vault = vaultOf(api);
  const account = bankAccount({ 'BANK.ACCOUNT_NUMBER': first });
  const token = await vault.newToken({ account });
  await keep(vault.lookUpToken(token.customerId, token.id));
  await keep(api.lookUp((await keep(api.purchase({ pan: token.virtualPan }))).body.audit));

  // Account numbers where they are refused.
  const body = (change: Json) => paymentBody({ bankAccount: { ...change } });
  await keep(api.post('/transactions/purchase', body({ account_number: `${first}0` })));
  await keep(api.post('/transactions/purchase', body({ account_number: Number(first) })));
  await keep(
    api.post('/transactions/purchase', body({ bsb: first, account_number: first, account_name: '~' })),
  );
  await keep(api.post('/transactions/preauthorisation', body({ account_number: first })));
  await keep(api.purchase({ bankAccount: { account_number: first }, currency: 'USD' }));
  await keep(api.call('/transactions/purchase', { raw: `{"account_number": "${first}` }));
  await keep(api.get(`/transactions/${first}`));

  const folder = await dataDirectory();
  const ended = async (...args: string[]) => {
    const environment = { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: dirname(gateway.ledgerPath) };
    const { code, stdout, stderr } = await runHere(['directdebit', ...args], environment);
    printed.push(stdout, stderr);
    return code;
  };
  const tollgate = async (...args: string[]) => expect(await ended(...args)).toBe(0);
  const out = join(folder, 'out.aba');
  await tollgate('export', '--merchant', '1', '--out', out);
  exported = await readFile(out, 'latin1');
  const { header, items } = read(exported);
  const returned = items.map((item, index) => ({
    item: index % 3 ? item : { ...item, cents: 1, accountNumber: others[0] as string },
    returnCode: 6,
  }));
  const path = join(folder, 'returns');
  await writeFile(path, `${returnsFile(header, returned)}this is ${first}\r\n`);
  expect(await ended('import-returns', path)).toBe(1);
  await writeFile(path, returnsFile(header, returned));
  expect(await ended('import-returns', path)).toBe(1);
  await writeFile(
    path,
    returnsFile(
      header,
      items.map((item) => ({ item, returnCode: 6 })),
    ),
  );
  await tollgate('import-returns', path);
  await gateway.advance('12d');
  await tollgate('status', '--json');
});
afterAll(() => gateway.close());

test('the file for the bank holds the account numbers, so the search would find them', () => {
  expect(foundIn(exported, ACCOUNTS)).toEqual(ACCOUNTS.slice(0, 10));
});

test('no response, log line or command output holds an account number', () => {
  expect(answers.length).toBeGreaterThan(30);
  for (const { text, headers } of answers) {
    expect(foundIn(text + JSON.stringify([...headers]), WANTED)).toEqual([]);
  }
  expect(gateway.logged().split('\n').length).toBeGreaterThan(answers.length / 2);
  // A path is logged as its route, whatever stands in it.
  expect(foundIn(gateway.logged(), WANTED)).toEqual([]);
  expect(printed.join('')).toContain('declined now');
  expect(foundIn(printed.join(''), WANTED)).toEqual([]);
});

test('no row of the database holds an account number, or a bare hash of one', async () => {
  const rows = await rowsOf(gateway);
  expect(rows.filter((row) => row.startsWith('directdebit_item '))).toHaveLength(13);
  expect(foundIn(rows.join('\n'), [...WANTED, ...ACCOUNTS.flatMap(hashesOf)])).toEqual([]);
});

test('the simulated bank’s ledger, the gateway’s other files and PostgreSQL’s hold none', async () => {
  await expect.poll(async () => (await gateway.ledger()).length).toBeGreaterThan(10);
  expect(await inGatewayFiles(dirname(gateway.ledgerPath), WANTED)).toEqual([]);
  if (files === undefined) return;
  expect(await files.inWriteAheadLog(WANTED)).toEqual([]);
  expect(await files.inDataFiles(WANTED)).toEqual([]);
  expect(await files.inServerLog(WANTED)).toEqual([]);
});
