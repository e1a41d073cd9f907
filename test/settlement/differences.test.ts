// Differences that reconciling finds: kept, explained, looked at once, and gone with a better file.
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Json } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type ConsoleClient, signedIn } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { openDay } from '../../testkit/settlement-days.js';

let gateway: TestGateway;
let olga: ConsoleClient;
let vera: ConsoleClient;
let day: string;
let sold: string;
let declined: string;

const tollgate = (line: string) =>
  runHere(wordsOf(line), {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
    TOLLGATE_OPERATOR: operator,
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

test('a file with differences of every kind → each is kept, with what it may mean and what to do, once however often it is read', async () => {
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

test('looked at, by command and on the console → off the list, under a name and with a note, journalled; a second time → refused', async () => {
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

test('a better file → what it does not have any more is gone by itself; the same file as before → it is back, and what was looked at stays so', async () => {
  expect(await reconcile(`${sold},purchase,1000,AUD`)).toBe(0);
  expect(await open()).toEqual([]);
  expect(await reconcile(`${declined},purchase,700,AUD`, 'FOREIGN-1,purchase,5,AUD')).toBe(1);
  expect((await open()).map(({ kind, reference }) => [kind, reference])).toEqual([['different', declined]]);
});

test('a day that is none, or somebody of one organisation → refused', async () => {
  expect((await vera.get('/settlement/differences?date=yesterday')).status).toBe(422);
  const otto = await signedIn(gateway, { role: 'operator', organisation: 1 });
  expect((await otto.get('/settlement/differences')).status).toBe(403);
});
