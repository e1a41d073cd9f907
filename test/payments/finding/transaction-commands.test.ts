// `tollgate transaction`, as an operator runs it beside a gateway: lists, files, one transaction, and what is in doubt.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Answer, Json } from '../../../testkit/client.js';
import { runHere } from '../../../testkit/command-here.js';
import { commands, wordsOf } from '../../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';

const acquirer = new ScriptedAcquirer();
let gateway: TestGateway;
let folder: string;
let refunded: number;

beforeAll(async () => {
  gateway = await testGateway({ acquirers: [acquirer], settings: { ACQUIRER_DEADLINE_MS: '20000' } });
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
  folder = await mkdtemp(join(tmpdir(), 'tollgate-lists-'));
  const { api } = gateway;
  refunded = await audit(api.purchase({ reference: 'order-1', amount: 1_995 }));
  await audit(api.refund(refunded, 500, { reference: 'back, in part' }));
  await audit(api.purchase({ reference: '=1+1', merchant: 2, pan: '5555555555554444' }));
  for (let index = 0; index < 55; index += 1) await audit(api.purchase({ reference: `many-${index}` }));
  await audit(gateway.as(gateway.stranger).purchase({ merchant: 4 }));
});
afterAll(async () => {
  await gateway.close();
  await rm(folder, { recursive: true });
});

async function audit(made: Promise<Answer>): Promise<number> {
  const { status, body } = await made;
  expect(status).toBe(201);
  return body.audit;
}

const { json, text, refusal } = commands((line) =>
  runHere(wordsOf(line), { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir }),
);
const auditsOf = (rows: readonly Json[]) => rows.map((row) => row.audit);

describe('list', () => {
  test.each([
    ['--organisation 1', ''],
    ['--merchant 1', 'merchant_id=1'],
    [
      '--merchant-id 2 --card-type mastercard --last-four 4444',
      'merchant_id=2&card_type=mastercard&last_four=4444',
    ],
    [
      '--merchant 1 --transaction-type refund --amount 500',
      'merchant_id=1&transaction_type=refund&amount=500',
    ],
    ['--organisation 1 --reference order --status approved', 'reference=order&status=approved'],
    ['--merchant 1 --payment-method bankaccount', 'merchant_id=1&payment_method=bankaccount'],
    ['--merchant 1 --from 2026-01-01 --until 2999-12-31 --limit 3', 'merchant_id=1&limit=3'],
  ])('%s → what the interface lists', async (options, query) => {
    const { body } = await gateway.api.get(`/transactions/history?${query}`);
    const expected = auditsOf(body.results).slice(0, 50);
    expect(auditsOf(await json(`transaction list ${options}`))).toEqual(expected);
  });

  test('--json → an object for each, with its organisation and acquirer; for a person → a table', async () => {
    const [row] = await json(`transaction list --merchant 1 --target-audit ${refunded}`);
    expect(row).toMatchObject({
      organisation: 1,
      merchant: 1,
      mode: 'test',
      correlation_id: expect.stringMatching(/./),
      transaction_type: 'refund',
      status: 'approved',
      amount_cents: 500,
      currency: 'AUD',
      reference: 'back, in part',
      card: '411111******1111',
      card_type: 'visa',
      target_audit: refunded,
      acquirer: 'scripted',
      gateway_timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+\+1[01]:00$/),
    });
    expect(await text('transaction list --merchant 2')).toMatch(
      /^organisation +merchant +mode +audit +gateway_timestamp/,
    );
  });

  test('--csv → a file of all of them, with every column, quoted where necessary and without formulas; a second time → not overwritten', async () => {
    const path = join(folder, 'all.csv');
    const written = await json(`transaction list --organisation 1 --csv ${path}`);
    expect(written).toEqual({ transactions: 58, csv: path });
    const [header, ...lines] = (await readFile(path, 'utf8')).trimEnd().split('\r\n');
    expect(header).toBe(
      'organisation,merchant,mode,audit,gateway_timestamp,transaction_type,status,amount_cents,currency,' +
        'reference,correlation_id,card,card_type,bank_account,response_code,settlement_date,target_audit,acquirer',
    );
    expect(lines).toHaveLength(58);
    expect(lines.filter((line) => line.includes(',"back, in part",'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes(",'=1+1,"))).toHaveLength(1);
    const before = await readFile(path, 'utf8');
    expect(await refusal(`transaction list --merchant 1 --csv ${path}`)).toBe(
      `${path} exists already and is not overwritten`,
    );
    expect(await readFile(path, 'utf8')).toBe(before);
    expect((await readdir(folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test.each([
    ['transaction list', /^there are several organisations; .* --organisation or --merchant$/],
    ['transaction list --merchant 99', /^there is no merchant 99$/],
    ['transaction list --merchant 4 --organisation 1', /^there is no merchant 4 in organisation 1$/],
    ['transaction list --organisation 99', /^organisation 99 has no merchants$/],
    ['transaction list --merchant 1 --from yesterday', /'--from <time>' argument 'yesterday' is invalid/],
    ['transaction list --merchant 1 --status lost', /'--status <status>' argument 'lost' is invalid/],
    ['transaction list --merchant 1 --last-four 12', /It must be four digits/],
    ['transaction list --merchant 1 --settlement-date 2026-02-30', /It must be a day/],
    [
      'transaction list --merchant 1 --csv /nowhere/at-all.csv',
      /^\/nowhere\/at-all.csv cannot be written \(ENOENT\)$/,
    ],
  ])('%s → one line, exit code 1', async (line, expected) => {
    expect(await refusal(line)).toMatch(expected);
  });
});

describe('show', () => {
  test('an audit → everything about it, and the operations on it', async () => {
    const shown = await json(`transaction show ${refunded} --organisation 1`);
    expect(shown).toMatchObject({
      organisation: 1,
      merchant: 1,
      audit: refunded,
      status: 'approved',
      amount_cents: 1_995,
      refunded_cents: 500,
      correlation_id: expect.any(String),
      attempts: 0,
      operations: auditsOf(await json(`transaction list --merchant 1 --target-audit ${refunded}`)),
    });
    expect(shown.operations).toHaveLength(1);
    expect(JSON.stringify(shown)).not.toContain('4111111111111111');
    expect(await text(`transaction show ${refunded} --organisation 1`)).toMatch(/^reference +order-1$/m);
  });

  test('an unknown audit, or one of two organisations → refused', async () => {
    expect(await refusal('transaction show 2147483647')).toBe('there is no transaction 2147483647');
    const [theirs] = await gateway.sql<{ audit: number }>(
      'SELECT audit FROM transaction WHERE organisation_id = 2',
    );
    expect(await refusal(`transaction show ${theirs?.audit}`)).toBe(
      `several organisations have a transaction ${theirs?.audit}: 1, 2; say which with --organisation`,
    );
  });
});

describe('find', () => {
  test('a text with several possible meanings → how it was understood, and what was found', async () => {
    const { understood, results } = await json('transaction find 19.95');
    expect(understood).toEqual([{ as: 'amount', found: 1, more: false, filter: { amount: '19.95' } }]);
    expect(auditsOf(results)).toEqual([refunded]);
    expect(await text('transaction find 19.95')).toMatch(/^1 as amount\n\norganisation/);
    expect(auditsOf((await json('transaction find many- --organisation 2')).results)).toEqual([]);
  });

  test('a card number → recognised as one, and not searched for', async () => {
    expect(await text('transaction find 4111111111111111')).toContain('last four');
  });

  test('figures of a day → as many of each status as there are transactions', async () => {
    const [made] = await json('transaction list --merchant 4');
    const figures = `transaction figures --organisation 2 --date ${made.gateway_timestamp.slice(0, 10)}`;
    await vi.waitFor(async () => {
      const { statuses } = await json(figures);
      expect(statuses[0]).toMatchObject({
        status: 'approved',
        count: 1,
        filter: { organisation: 2, status: 'approved' },
      });
    }, 300_000);
    expect(await text(figures)).toMatch(/^approved +1/m);
  });
});

describe('list by operators’ own filters', () => {
  test('--acquirer, --response-code and --currency → exactly those', async () => {
    const everything = auditsOf(
      await json('transaction list --merchant 2 --acquirer scripted --currency AUD'),
    );
    expect(everything).toEqual(auditsOf(await json('transaction list --merchant 2')));
    expect(await json('transaction list --merchant 2 --currency NZD')).toEqual([]);
    expect(await json('transaction list --merchant 2 --response-code 99')).toEqual([]);
  });
});

describe('in-doubt', () => {
  test('nothing in doubt → none', async () => {
    expect(await json('transaction in-doubt')).toEqual([]);
    expect(await text('transaction in-doubt')).toBe('None.');
  });

  test('asked and not answered, then unreadable, then not seen → what is being tried and since when; nothing once it is decided', async () => {
    const asking = acquirer.holdNextAnswer();
    const finding = acquirer.holdNextFinding();
    const reversal = acquirer.holdNextReversal();
    const purchase = gateway.api.purchase({ reference: 'doubtful', amount: 777 });
    await asking.asked;
    const [underWay] = await json('transaction in-doubt');
    expect(underWay).toMatchObject({
      organisation: 1,
      merchant: 1,
      amount_cents: 777,
      reference: 'doubtful',
      state: 'under way',
      attempts: 0,
      next_attempt: null,
      process: expect.any(Number),
      since: expect.stringMatching(/^\d{4}-/),
    });
    asking.answer({ kind: 'unknown', reason: 'unreadable' });
    expect((await purchase).status).toBe(502);
    await finding.asked;
    const [inquiring] = await json('transaction in-doubt --merchant 1');
    expect(inquiring).toMatchObject({
      audit: underWay.audit,
      since: underWay.since,
      state: 'inquiring',
      attempts: 1,
    });
    expect(inquiring.next_attempt).toEqual(expect.any(String));
    expect(await json('transaction in-doubt --merchant 2')).toEqual([]);
    expect((await gateway.api.get('/transactions/history?status=unknown')).body.results).toHaveLength(1);
    finding.answer({ kind: 'not_seen' });
    await reversal.asked;
    expect((await json('transaction in-doubt'))[0]).toMatchObject({ state: 'reversing' });
    reversal.answer('reversed');
    await vi.waitFor(async () => expect(await json('transaction in-doubt')).toEqual([]), 10_000);
    expect(await json(`transaction show ${underWay.audit} --organisation 1`)).toMatchObject({
      status: 'error',
      gateway_status_code: 2,
      reversing: true,
    });
  });
});
