// Differences that reconciling finds: kept, explained, looked at once, and gone with a better file.
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Json } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type ConsoleClient, signedIn, tokenFor } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker, waitingForLocks } from '../../testkit/locks.js';
import { openDay } from '../../testkit/settlement-days.js';

let gateway: TestGateway;
let olga: ConsoleClient;
let vera: ConsoleClient;
let day: string;
let sold: string;
let declined: string;

const tollgate = async (line: string) =>
  runHere(wordsOf(line), {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
    TOLLGATE_OPERATOR_TOKEN: await tokenFor(gateway, operator),
  });
let operator = '';
const { json, text, refusal } = commands(tollgate);

beforeAll(async () => {
  gateway = await testGateway();
  olga = await signedIn(gateway, { role: 'operator' });
  vera = await signedIn(gateway, { role: 'viewer' });
  operator = (await olga.get('/session')).body.operator;
  const [row] = await gateway.sql<{ installation: string }>('SELECT installation FROM gateway');
  sold = `${row?.installation}-1-${(await gateway.api.purchase({ amount: 1_000 })).body.audit}`;
  declined = `${row?.installation}-1-${(await gateway.api.purchase({ pan: '4100000000000514', amount: 700 })).body.audit}`;
  day = await openDay(gateway);
});
afterAll(() => gateway.close());

/** As the command does it, whose exit code says that something is open. */
async function reconcile(...lines: string[]): Promise<number | null> {
  const path = join(gateway.dataDir, randomUUID());
  await writeFile(path, ['reference,transaction_type,amount_cents,currency', ...lines, ''].join('\n'));
  return (await tollgate(`settlement reconcile ${path} --acquirer simulator --date ${day}`)).code;
}

const open = async (): Promise<Json[]> => json('settlement differences');

test('a file with differences of every kind → each is kept once, with its possible cause and what to do, however often the file is read', async () => {
  const lines = [`${declined},purchase,700,AUD`, 'FOREIGN-1,purchase,5,AUD', 'no line'];
  expect(await reconcile(...lines)).toBe(1);
  expect(await reconcile(...lines)).toBe(1);
  const found = await open();
  expect(found.map(({ kind, reference, there, here }) => [kind, reference, there, here])).toEqual([
    ['different', declined, 'purchase 7.00 AUD', 'declined, does not settle on this day'],
    ['missing_here', 'FOREIGN-1', 'purchase 0.05 AUD', ''],
    ['missing_there', sold, '', 'purchase 10.00 AUD'],
    ['wrong', 'line 4', expect.any(String), ''],
  ]);
  expect(found[0]).toMatchObject({
    date: day,
    organisation_id: 1,
    meaning: expect.stringContaining('the customer may have been charged for nothing'),
    looked: null,
  });
  expect(new Set(found.map(({ todo }) => todo)).size).toBe(4);
  expect(await text('settlement differences --acquirer nobody')).toBe('None.');
  expect(await text(`settlement differences --date ${day}`)).toContain('The acquirer settles something');
});

test('looked at, by command and on the console → off the list, with a name and a note, journalled; a second time → refused', async () => {
  const [, foreign, missing] = await open();
  expect(await refusal(`settlement looked-at ${foreign?.id} --note ' '`)).toMatch(/^a reason is needed/);
  await json(`settlement looked-at ${foreign?.id} --note 'of the kiosk'`);
  expect(await refusal(`settlement looked-at ${foreign?.id} --note again`)).toBe(
    `operator:${operator} has looked at difference ${foreign?.id} already`,
  );
  expect(await refusal('settlement looked-at 99999 --note x')).toBe('there is no difference 99999');
  const path = `/settlement/differences/${missing?.id}/looked-at`;
  expect((await vera.post(path, { note: 'mine' })).status).toBe(403);
  expect((await olga.post(path, { note: '' })).status).toBe(422);
  expect((await olga.post(path, { note: 'in the next file' })).body).toMatchObject({
    looked_by: `operator:${operator}`,
    note: 'in the next file',
  });
  expect((await olga.post(path, { note: 'again' })).body.error_code).toBe('difference_looked_at');
  const { body } = await vera.get(`/settlement/differences?date=${day}`);
  expect(body.differences.map(({ kind }: Json) => kind)).toEqual(['different', 'wrong']);
  expect(body.days).toEqual([{ date: day, acquirer: 'simulator', open: 2 }]);
  expect(await json('settlement differences --all')).toHaveLength(4);
  const journal = await json('journal --action settlement.difference_looked_at');
  expect(journal.map(({ actor, detail }: Json) => [actor, detail.split(': ').at(-1)])).toEqual([
    [`operator:${operator}`, 'in the next file'],
    [`operator:${operator}`, 'of the kiosk'],
  ]);
});

test('a corrected file → solved differences disappear; the first file again → they are back, and those looked at stay so', async () => {
  expect(await reconcile(`${sold},purchase,1000,AUD`)).toBe(0);
  expect(await open()).toEqual([]);
  expect(await reconcile(`${declined},purchase,700,AUD`, 'FOREIGN-1,purchase,5,AUD')).toBe(1);
  expect((await open()).map(({ kind, reference }) => [kind, reference])).toEqual([['different', declined]]);
});

// catches(reconciliation: a difference that was looked at does not hide another one)
test('looked at, then found again with changed data here → open again, and the earlier one keeps its note', async () => {
  await reconcile(`${declined},purchase,700,AUD`);
  const before = (await open()).find(({ reference }) => reference === declined);
  await json(`settlement looked-at ${before?.id} --note 'asked the acquirer'`);
  await gateway.sql(
    'UPDATE transaction SET settlement_date = $1::date - 7 WHERE organisation_id = 1 AND audit = $2',
    [day, Number(declined.split('-').at(-1))],
  );
  expect(await reconcile(`${declined},purchase,700,AUD`, `${sold},purchase,1000,AUD`)).toBe(1);
  expect((await open()).map(({ reference, here }) => [reference, here])).toEqual([
    [declined, expect.stringContaining('settlement date')],
  ]);
  const all: Json[] = await json('settlement differences --all');
  expect(all.find(({ id }) => id === before?.id)).toMatchObject({
    note: 'asked the acquirer',
    gone: expect.any(String),
    here: 'declined, does not settle on this day',
  });
});

// catches(reconciliation: under the name of no acquirer nothing is kept)
test('an empty or misspelt acquirer → refused with the known ones, nothing is kept; a removed one with entries of the day → accepted', async () => {
  const before = await json('settlement differences --all');
  const path = join(gateway.dataDir, randomUUID());
  await writeFile(path, 'reference,transaction_type,amount_cents,currency\n');
  for (const name of ["''", 'Simulator', 'simulater'])
    expect(await refusal(`settlement reconcile ${path} --acquirer ${name} --date ${day}`)).toMatch(
      /^there is no acquirer .*; known are: directdebit, simulated-bank, simulator$/,
    );
  const file = new TextEncoder().encode('reference,transaction_type,amount_cents,currency\n');
  for (const query of [`date=${day}`, `date=${day}&acquirer=`, `date=${day}&acquirer=simulater`])
    expect((await olga.post(`/settlement/reconcile?${query}`, file)).body.error_code).toBe(
      'acquirer_not_known',
    );
  expect(await json('settlement differences --all')).toEqual(before);
  await gateway.sql(
    `INSERT INTO settlement_entry SELECT (jsonb_populate_record(e, jsonb_build_object('settlement_date', $1::date + 30,
       'acquirer', 'former'))).* FROM settlement_entry e WHERE settlement_date = $1 LIMIT 1`,
    [day],
  );
  const [later] = await gateway.sql<{ day: string }>('SELECT ($1::date + 30)::text AS day', [day]);
  const former = await tollgate(`settlement reconcile ${path} --acquirer former --date ${later?.day}`);
  expect([former.code, former.stdout]).toEqual([1, expect.stringContaining('1 missing there')]);
});

// catches(reconciliation: one run at a time replaces the differences of a day)
test('two files for one day at once → the differences of exactly one of them are open', async () => {
  const files = ['ONE-1', 'TWO-2'].map((reference) =>
    new TextEncoder().encode(
      `reference,transaction_type,amount_cents,currency\n${sold},purchase,1000,AUD\n${reference},purchase,5,AUD\n`,
    ),
  );
  // Both have found theirs, and neither can finish.
  const other = await locker(gateway);
  await other.query('LOCK TABLE journal IN SHARE MODE');
  const runs = Promise.all(
    files.map((file) => olga.post(`/settlement/reconcile?date=${day}&acquirer=simulator`, file)),
  );
  await vi.waitUntil(async () => (await waitingForLocks(gateway)).length === 2, { timeout: 300_000 });
  await other.commit();
  expect((await runs).map(({ body }) => body.missing_here)).toEqual([1, 1]);
  const foreign = (await open()).filter(({ acquirer }) => acquirer === 'simulator');
  expect(foreign.map(({ reference }) => reference)).toHaveLength(1);
  const [entry] = await json('journal --action settlement.reconciled');
  expect(entry.detail).toMatch(/^\S+, simulator: 1 of 2 lines match, 1 differences, \d gone$/);
});

// catches(reconciliation: differences that nobody has seen are not looked at with the others)
test('all of a day and an acquirer marked together, by command and on the console → off the list with one note, journalled once; changed meanwhile → refused', async () => {
  // Kept under no name.
  await gateway.sql(
    `INSERT INTO settlement_difference (settlement_date, acquirer, kind, reference, there, here, found_by)
     SELECT $1::date, '', 'missing_here', 'FALSE-' || n, 'purchase 0.05 AUD', '', 'tests' FROM generate_series(1, 225) AS n`,
    [day],
  );
  expect(await text(`settlement looked-at --acquirer '' --date ${day} --note 'the wrong name'`)).toBe(
    '225 differences are marked as looked at.',
  );
  expect(await refusal(`settlement looked-at --acquirer '' --date ${day} --note again`)).toBe(
    `no difference of ${day} is open for the acquirer ''`,
  );
  for (const wrong of [
    '',
    ' --date 2026-11-16',
    ' --acquirer simulator',
    ' 1 --acquirer simulator --date 2026-11-16',
  ])
    expect(await refusal(`settlement looked-at${wrong} --note x`)).toBe(
      'name one difference, or a day and an acquirer, with --date and --acquirer',
    );

  await reconcile('FOREIGN-7,purchase,5,AUD', 'FOREIGN-8,purchase,5,AUD', `${sold},purchase,1000,AUD`);
  const together = '/settlement/differences/looked-at';
  const body = { date: day, acquirer: 'simulator', note: 'the wrong file', open: 2 };
  expect((await vera.post(together, body)).status).toBe(403);
  expect((await olga.post(together, { ...body, open: 3 })).body.error_code).toBe('differences_changed');
  expect((await olga.post(together, { ...body, note: ' ' })).body.error_code).toBe('reason_not_allowed');
  expect((await olga.post(together, { ...body, date: 'yesterday' })).status).toBe(422);
  expect((await open()).filter(({ acquirer }) => acquirer === 'simulator')).toHaveLength(2);
  expect((await olga.post(together, body)).body).toEqual({ date: day, acquirer: 'simulator', looked_at: 2 });
  expect((await open()).filter(({ acquirer }) => acquirer === 'simulator')).toEqual([]);
  const journal = await json('journal --action settlement.differences_looked_at');
  expect(journal.map(({ actor, detail }: Json) => [actor, detail])).toEqual([
    [`operator:${operator}`, `2 differences, ${day}, simulator: the wrong file`],
    [`operator:${operator}`, `225 differences, ${day}, '': the wrong name`],
  ]);
});

test('an invalid day, or an operator of one organisation → refused', async () => {
  expect((await vera.get('/settlement/differences?date=yesterday')).status).toBe(422);
  const otto = await signedIn(gateway, { role: 'operator', organisation: 1 });
  expect((await otto.get('/settlement/differences')).status).toBe(403);
});
