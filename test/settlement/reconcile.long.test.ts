// An acquirer's file held against a day: what matches, what either side lacks, what differs, and lines that say nothing.
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import type { Reconciliation } from '../../src/settlement/reconciliation.js';
import { reconcileSettlement, showSettlement } from '../../src/settlement/settlement-tasks.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { run } from '../../testkit/gateway-process.js';
import { openDay } from '../../testkit/settlement-days.js';

const HEADER = 'reference,transaction_type,amount_cents,currency';
let gateway: TestGateway;
let database: Database;
let day: string;
let installation: string;
/** What the acquirer would list, by what it is. */
let lines: Readonly<Record<'sold' | 'refunded' | 'completed' | 'paidOut', string>>;
let voided: { readonly payment: string; readonly undoing: string };

const referenceOf = (audit: number, organisation = 1) => `${installation}-${organisation}-${audit}`;

beforeAll(async () => {
  gateway = await testGateway();
  database = new Database(gateway.databaseUrl, { maxConnections: 2 });
  const { api } = gateway;
  const [row] = await gateway.sql<{ installation: string }>('SELECT installation FROM gateway');
  installation = row?.installation as string;
  const sold = (await api.purchase({ amount: 1_000, reference: '=1+1,"x'.replaceAll('"', '') })).body.audit;
  const refunded = (await api.refund(sold, 400)).body.audit;
  const held = (await api.preauthorise({ amount: 900 })).body.audit;
  const completed = (await api.complete(held, 800)).body.audit;
  const paidOut = (await gateway.as(gateway.stranger).standaloneRefund({ merchant: 4, amount: 70 })).body
    .audit;
  const payment = (await api.purchase({ amount: 333 })).body.audit;
  const undoing = (await api.void(payment)).body.audit;
  day = await openDay(gateway);
  lines = {
    sold: `${referenceOf(sold)},purchase,1000,AUD`,
    refunded: `${referenceOf(refunded)},refund,400,AUD`,
    completed: `${referenceOf(completed)},completion,800,AUD`,
    paidOut: `${referenceOf(paidOut, 2)},standalone_refund,70,AUD`,
  };
  voided = {
    payment: `${referenceOf(payment)},purchase,333,AUD`,
    undoing: `${referenceOf(undoing)},void,333,AUD`,
  };
});
afterAll(async () => {
  await database.close();
  await gateway.close();
});

async function save(text: string | Buffer): Promise<string> {
  const path = join(dirname(gateway.ledgerPath), randomUUID());
  await writeFile(path, text);
  return path;
}

async function reconciled(
  text: string | Buffer,
  acquirer = 'simulator',
  date = day,
): Promise<Reconciliation> {
  return reconcileSettlement(database, { path: await save(text), acquirer, date });
}

const fileOf = (...all: readonly string[]) => [HEADER, ...all, ''].join('\n');
const counts = ({ matched, missingHere, missingThere, different, wrong }: Reconciliation) => [
  matched,
  missingHere,
  missingThere,
  different,
  wrong,
];

test('everything listed → matched, and nothing is open', async () => {
  expect(counts(await reconciled(fileOf(...Object.values(lines))))).toEqual([4, 0, 0, 0, 0]);
});

test('voided on its own day → the acquirer may list both or neither; only one → open', async () => {
  const all = Object.values(lines);
  expect(counts(await reconciled(fileOf(...all, voided.payment, voided.undoing)))).toEqual([6, 0, 0, 0, 0]);
  expect(counts(await reconciled(fileOf(...all, voided.payment)))).toEqual([5, 0, 1, 0, 0]);
  expect(counts(await reconciled(fileOf(...all, voided.undoing)))).toEqual([5, 0, 1, 0, 0]);
});

test('each planted difference → found, with its kind, and nothing else', async () => {
  const { sold, refunded, completed } = lines;
  const result = await reconciled(
    fileOf(
      sold.replace('1000', '1001'),
      refunded.replace('AUD', 'NZD'),
      completed.replace('completion', 'purchase'),
      `${referenceOf(2_000_000_000)},purchase,1,AUD`,
      'ZZZZZZ-1-1,purchase,1,AUD',
      'something-else,purchase,2,AUD',
    ),
  );
  expect(counts(result)).toEqual([0, 3, 1, 3, 0]);
  expect(result.listed.different).toEqual([
    { line: 2, reference: sold.split(',')[0], there: 'purchase 10.01 AUD', here: 'purchase 10.00 AUD' },
    { line: 3, reference: refunded.split(',')[0], there: 'refund 4.00 NZD', here: 'refund 4.00 AUD' },
    { line: 4, reference: completed.split(',')[0], there: 'purchase 8.00 AUD', here: 'completion 8.00 AUD' },
  ]);
  expect(result.listed.missingHere.map(({ line }) => line)).toEqual([5, 6, 7]);
  expect(result.listed.missingThere).toMatchObject([
    { merchant: 4, transactionType: 'standalone_refund', amountCents: 70 },
  ]);
});

test('listed for another day, or another acquirer → a difference, with what is known here', async () => {
  const yesterday = await reconciled(fileOf(lines.sold), 'simulator', '2026-01-05');
  expect(counts(yesterday)).toEqual([0, 0, 0, 1, 0]);
  expect(yesterday.listed.different[0]?.here).toBe(`approved, settlement date ${day}`);
  const elsewhere = await reconciled(fileOf(lines.sold), 'simulated-bank');
  expect(elsewhere.listed.different[0]?.here).toBe('went to simulator');
});

describe('hostile files', () => {
  test('a byte order mark, CRLF, quotes, blank lines and no final line end → read correctly', async () => {
    const quoted = Object.values(lines).map((line) =>
      line
        .split(',')
        .map((field) => `"${field}"`)
        .join(','),
    );
    const text = `\ufeff"reference","transaction_type","amount_cents","currency"\r\n\r\n${quoted.join('\r\n')}`;
    expect(counts(await reconciled(text))).toEqual([4, 0, 0, 0, 0]);
  });

  // catches(reconciliation: a line that is there twice counts once)
  test('wrong lines → each is named with its number and a reason, affects no other, and is not repeated', async () => {
    const card = '4111111111111111';
    const { sold, refunded, completed, paidOut } = lines;
    const result = await reconciled(
      fileOf(
        sold,
        sold,
        'only,three,fields',
        `${refunded},extra`,
        ',purchase,1,AUD',
        `${card},purchase,1,AUD`,
        'x,Purchase,1,AUD',
        'x,purchase,1.00,AUD',
        'x,purchase,-1,AUD',
        'x,purchase,01,AUD',
        'x,purchase,1e3,AUD',
        'x,purchase,9999999999999,AUD',
        'x,purchase,1,aud',
        'x,purchase,1,XXQ',
        '"x,purchase,1,AUD',
        'a"b,purchase,1,AUD',
        'x'.repeat(5_000),
        'ümlaut,purchase,1,AUD',
        refunded,
        completed,
        paidOut,
      ),
    );
    expect(counts(result)).toEqual([4, 0, 0, 0, 17]);
    expect(result.listed.wrong.map(({ line, reason }) => `${line} ${reason}`)).toEqual([
      '3 listed before',
      '4 not four fields',
      '5 not four fields',
      '6 no reference',
      '7 a card number instead of a reference',
      '8 no known transaction type',
      ...[9, 10, 11, 12, 13].map((line) => `${line} no amount in cents`),
      '14 no currency',
      '15 no currency',
      '16 quotes that do not fit',
      '17 quotes that do not fit',
      '18 too long',
      '19 no reference',
    ]);
    expect(JSON.stringify(result)).not.toContain(card);
  });

  test.each([
    ['empty', ''],
    ['without a header', 'A-1-1,purchase,1,AUD\n'],
    ['with another order of columns', 'transaction_type,reference,amount_cents,currency\n'],
    ['in UTF-16', Buffer.from(`\ufeff${HEADER}\n`, 'utf16le')],
    ['without line ends', 'x'.repeat(3_000_000)],
  ])('%s → refused', async (_, text) => {
    await expect(reconciled(text)).rejects.toThrow(`must be ${HEADER}`);
  });

  test('no such file, or a folder → refused', async () => {
    for (const path of [join(dirname(gateway.ledgerPath), 'nothing'), dirname(gateway.ledgerPath)]) {
      const wish = { path, acquirer: 'simulator', date: day };
      await expect(reconcileSettlement(database, wish)).rejects.toThrow('cannot be read');
    }
  });
});

describe('the commands', () => {
  const tollgate = (...args: string[]) =>
    run(args, { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: dirname(gateway.ledgerPath) });

  test('settlement reconcile → exit code 0 if nothing is open, otherwise 1', async () => {
    const [good, bad] = [await save(fileOf(...Object.values(lines))), await save(fileOf(lines.sold, 'x'))];
    const command = (path: string) => [
      'settlement',
      'reconcile',
      path,
      '--acquirer',
      'simulator',
      '--date',
      day,
    ];
    const well = await tollgate(...command(good), '--json');
    expect([well.code, JSON.parse(well.stdout)]).toMatchObject([
      0,
      { matched: 4, missing_there: 0, wrong: 0 },
    ]);
    const open = await tollgate(...command(bad));
    expect(open.code).toBe(1);
    expect(open.stdout).toContain(
      '1 of 2 lines match; 0 missing here, 3 missing there, 0 different, 1 wrong.',
    );
    expect(open.stdout).toContain('Wrong: line 3: not four fields.');
    expect(open.stdout).toMatch(/Missing there: \S+, merchant 4, standalone_refund 0\.70 AUD\./);
  });

  test('settlement show → the sums, for all or for one merchant, and a line for each transaction in a file that adds up', async () => {
    const csv = join(dirname(gateway.ledgerPath), 'day.csv');
    const shown = await tollgate('settlement', 'show', '--date', day, '--csv', csv, '--json');
    expect(shown.code).toBe(0);
    const report = JSON.parse(shown.stdout);
    expect(report).toMatchObject({
      date: day,
      closed: false,
      net: [
        { merchant: 1, currency: 'AUD', cents: '1400' },
        { merchant: 4, currency: 'AUD', cents: '-70' },
      ],
    });
    const [header, ...rows] = (await readFile(csv, 'utf8')).trimEnd().split('\n');
    expect(header).toMatch(/^settlement_date,merchant_id,audit,/);
    expect(rows).toHaveLength(6);
    // A spreadsheet must not take what a customer chose for a formula.
    expect(rows[0]).toContain(`,"'=1+1,x",`);
    const total = rows.reduce((sum, row) => sum + Number(row.split(',').at(-1)), 0);
    expect(total).toBe(1_330);
    await expect(showSettlement(database, 'operator:test', { date: day, csv })).rejects.toThrow(
      'is not overwritten',
    );
    await expect(showSettlement(database, 'operator:test', { date: day, merchant: 99 })).rejects.toThrow(
      'no merchant 99',
    );
    expect((await showSettlement(database, 'operator:test', { date: day, merchant: 4 })).net).toMatchObject([
      { cents: '-70' },
    ]);
  });

  test.each([
    [['settlement', 'show'], /--date/],
    [['settlement', 'show', '--date', '2026-02-30'], /must be a day/],
  ])('%j → refused in one line', async (args, message) => {
    const { code, stderr } = await tollgate(...args);
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  });
});
