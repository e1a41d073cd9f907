// Large direct-entry files, through the operator's commands: complete, exact, in bounded memory. TOLLGATE_TEST_ITEMS
// sets how many items the large file has.
import { access, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { directEntryOf } from '../../src/directdebit/direct-entry.js';
import { DirectDebitFiles } from '../../src/directdebit/files/files.js';
import { DataKeys } from '../../src/vault/keys/keys.js';
import {
  CREDIT,
  DEBIT,
  type DirectEntryFile,
  type Item,
  read,
  returnsFile,
} from '../../testkit/bank-file-layout.js';
import type { Json } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { type Environment, run } from '../../testkit/gateway-process.js';
import * as many from '../../testkit/many-items.js';
import { operatorOf } from '../../testkit/sealed-rows.js';

// Many processes, one after the other, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ITEMS = Number(process.env.TOLLGATE_TEST_ITEMS ?? 10_000);
const FEWER_ITEMS = ITEMS / 10;
const RETURNS = ITEMS / 20;
/** What a collector of garbage may leave for later, and far less than the items would take. */
const GROWTH_KILOBYTES = 40_000;
const LINE_BYTES = 122;

let gateway: TestGateway;
let home: many.Home;
let folder: string;

beforeAll(async () => {
  gateway = await testGateway();
  home = { databaseUrl: gateway.databaseUrl, dataDir: dirname(gateway.ledgerPath) };
  folder = await many.bankFolder(home);
  await many.lodgeWithRealBank(home);
});
afterAll(() => gateway.close());

/** Runs a command that succeeds, in this process. */
const done = async (args: readonly string[]): Promise<Json> =>
  many.printed(await runHere(args, many.environmentOf(home)));

/** The same in a process of its own, and tells the most memory that it had. */
async function measured(args: readonly string[]): Promise<{ result: Json; peakKilobytes: number }> {
  const note = join(folder, 'peak');
  const atExit = `import{writeFileSync}from'node:fs';process.on('exit',()=>writeFileSync(process.env.PEAK_NOTE,String(process.resourceUsage().maxRSS)))`;
  const ended = await run(args, {
    ...many.environmentOf(home),
    NODE_OPTIONS: `--import=data:text/javascript,${atExit}`,
    PEAK_NOTE: note,
  });
  return { result: many.printed(ended), peakKilobytes: Number(await readFile(note, 'utf8')) };
}

async function referenceOf(): Promise<(audit: number) => string> {
  const [row] = await gateway.sql<{ installation: string }>('SELECT installation FROM gateway');
  const six = (number: number) => number.toString(36).toUpperCase().padStart(6, '0');
  return (audit) => `${row?.installation}${six(1)}${six(audit)}`;
}

const lodged = async (name: string): Promise<DirectEntryFile> =>
  read(await readFile(join(folder, name), 'latin1'));

/** What the bank should see of an item. */
function seen({ amountCents, bsb, accountNumber, accountName, type }: many.MadeItem): Partial<Item> {
  return {
    bsb,
    accountNumber,
    code: type === 'purchase' ? DEBIT : CREDIT,
    cents: amountCents,
    title: accountName,
  };
}

test(`export and import-returns of ${ITEMS} items → each once, to the cent, with hardly more memory than for a tenth of them`, async () => {
  const reference = await referenceOf();
  await many.waitingItems(home, gateway.api, { count: FEWER_ITEMS });
  const small = await measured(many.EXPORT(1, join(folder, 'small.aba')));
  expect(small.result).toMatchObject({ items: FEWER_ITEMS, left: 0 });

  const made = await many.waitingItems(home, gateway.api, { count: ITEMS, from: FEWER_ITEMS });
  const large = await measured(many.EXPORT(1, join(folder, 'large.aba')));
  const sum = (type: string) =>
    made.filter((item) => item.type === type).reduce((cents, { amountCents }) => cents + amountCents, 0);
  expect(large.result).toMatchObject({
    items: ITEMS,
    left: 0,
    debit_cents: sum('purchase'),
    credit_cents: sum('standalone_refund'),
  });
  expect(large.peakKilobytes).toBeLessThan(small.peakKilobytes + GROWTH_KILOBYTES);

  // The reader has compared the totals with the items already.
  const file = await lodged('large.aba');
  expect((await stat(join(folder, 'large.aba'))).size).toBe((ITEMS + 2) * LINE_BYTES);
  expect(file.items.length).toBe(ITEMS);
  const byReference = new Map(file.items.map((item) => [item.reference, item]));
  expect(byReference.size).toBe(ITEMS);
  const wrong = made.filter((item) => {
    const line = byReference.get(reference(item.audit));
    return Object.entries(seen(item)).some(([name, value]) => line?.[name as keyof Item] !== value);
  });
  expect(wrong).toEqual([]);

  expect(await done(many.EXPORT(1, join(folder, 'none.aba')))).toMatchObject({ file: null, items: 0 });
  await expect(access(join(folder, 'none.aba'))).rejects.toThrow();
  await done(many.EXPORT(1, join(folder, 'again.aba'), '--file', String(large.result.file)));
  const [one, other] = await Promise.all(
    ['large.aba', 'again.aba'].map((name) => readFile(join(folder, name))),
  );
  expect(one?.equals(other as Buffer)).toBe(true);

  await expectReturnsOf(file, large.result.file, made, reference, small.peakKilobytes);
});

async function expectReturnsOf(
  file: DirectEntryFile,
  fileNumber: number,
  made: readonly many.MadeItem[],
  reference: (audit: number) => string,
  smallPeakKilobytes: number,
): Promise<void> {
  const codes = new Map(
    made
      .filter((_, index) => index % (ITEMS / RETURNS) === 0)
      .map(({ audit }, index) => [reference(audit), { audit, code: 1 + (index % 9) }]),
  );
  const returned = file.items.flatMap((item) => {
    const planned = codes.get(item.reference);
    return planned === undefined ? [] : [{ item, returnCode: planned.code }];
  });
  expect(returned.length).toBe(RETURNS);
  const path = join(folder, 'returns.aba');
  await writeFile(path, returnsFile(file.header, returned), 'latin1');

  const once = await measured(many.IMPORT(path));
  expect(once.result).toMatchObject({
    items: RETURNS,
    returned: RETURNS,
    late: 0,
    unmatched: [],
  });
  expect(once.peakKilobytes).toBeLessThan(smallPeakKilobytes + GROWTH_KILOBYTES);
  const ended = await gateway.sql<{ audit: number; status: string; code: number | null }>(
    `SELECT t.audit, t.status, t.response_code::integer AS code FROM transaction t
     JOIN directdebit_item i USING (organisation_id, audit) WHERE i.merchant_id = 1 AND i.file_number = $1
     ORDER BY i.line`,
    [fileNumber],
  );
  expect(ended.length).toBe(ITEMS);
  expect(ended.filter(({ status }) => status !== 'pending')).toEqual(
    [...codes.values()].map(({ audit, code }) => ({ audit, status: 'declined', code })),
  );

  expect(await done(many.IMPORT(path))).toMatchObject({
    returned: 0,
    returned_already: RETURNS,
    unmatched: [],
  });
}

test('progress is shown on a terminal only', async () => {
  await many.waitingItems(home, gateway.api, { count: 1_500, from: 2 * ITEMS });
  const out = join(folder, 'progress.aba');
  // Standard error is none here, and nothing but the result is printed.
  const exported = many.printed(await run(many.EXPORT(1, out), many.environmentOf(home)));
  expect(exported.items).toBe(1_500);
  const file = await lodged('progress.aba');
  await writeFile(
    join(folder, 'r.aba'),
    returnsFile(
      file.header,
      file.items.map((item) => ({ item, returnCode: 6 })),
    ),
    'latin1',
  );

  const terminal: Environment = {
    ...many.environmentOf(home),
    NODE_OPTIONS: '--import=data:text/javascript,process.stderr.isTTY=true',
  };
  const shown = await run(
    many.EXPORT(1, join(folder, 'shown.aba'), '--file', String(exported.file)),
    terminal,
  );
  expect([shown.code, JSON.parse(shown.stdout).items]).toEqual([0, 1_500]);
  expect(shown.stderr).toContain('1500/1500');
  const imported = await run(many.IMPORT(join(folder, 'r.aba')), terminal);
  expect([imported.code, JSON.parse(imported.stdout).returned]).toEqual([0, 1_500]);
  expect(imported.stderr).toContain('1501 lines');
});

test('a total of more than ten digits → several files, and the command reports what is left', async () => {
  await many.lodgeWithRealBank(home, 2);
  const amounts = [9_999_998_999, 1, 1, 6_000_000_000, 3_000_000_000, 9_999_999_999];
  const from = 3 * ITEMS;
  const made = await many.waitingItems(home, gateway.api, {
    merchant: 2,
    count: 1 + amounts.length,
    from,
    // The last one is a credit, and credits have a total of their own.
    change: (serial) => ({
      amountCents: amounts[serial - from] as number,
      type: serial - from === 5 ? 'standalone_refund' : 'purchase',
    }),
  });
  const reference = await referenceOf();
  const exported = async (name: string) => {
    const { left } = await done(many.EXPORT(2, join(folder, name)));
    return { left, references: (await lodged(name)).items.map((item) => item.reference) };
  };
  const references = made.map(({ audit }) => reference(audit));
  // 1,000 cents came through HTTP: with the next amount that is all that ten digits can say.
  expect(await exported('split-1.aba')).toEqual({ left: 5, references: references.slice(0, 2) });
  expect(await exported('split-2.aba')).toEqual({ left: 0, references: references.slice(2) });
  expect((await done(many.EXPORT(2, join(folder, 'split-3.aba')))).file).toBeNull();
});

test('a file with the maximum number of items → the remaining ones are counted too', async () => {
  const operator = await operatorOf(gateway);
  try {
    await many.waitingItems(home, gateway.api, { count: 7, from: 5 * ITEMS });
    const files = new DirectDebitFiles(operator.database, new DataKeys(operator.database, operator.provider));
    const entry = await directEntryOf(operator.database, 1);
    const making = {
      processingDay: '2026-11-16',
      atMs: Date.now(),
      simulated: false,
      toBeWritten: false,
      most: 3,
    };
    const lefts: (number | undefined)[] = [];
    for (let count = 0; count < 4; count += 1) lefts.push((await files.make(entry, making))?.left);
    expect(lefts).toEqual([4, 1, 0, undefined]);
  } finally {
    await operator.close();
  }
});
