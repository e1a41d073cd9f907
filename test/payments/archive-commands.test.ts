// `tollgate archive`: old, finished transactions go into a file, and out of the database as far as look-ups can do without
// them.
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reviewed } from '../../testkit/card-reviews.js';
import type { Json } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { dataDirectory, start } from '../../testkit/gateway-process.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';

const BEFORE = '2025-06-01';
let gateway: TestGateway;
let file: string;
let old: { declined: Json; purchase: Json; refund: Json };
let living: Json;

const environment = () => ({ DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir });
const { json, text, refusal } = commands((line) => runHere(wordsOf(line), environment()));

beforeAll(async () => {
  gateway = await testGateway();
  // The next review is in a quarter of an hour; a review now would destroy the card.
  await reviewed(gateway);
  file = join(await dataDirectory(), 'archive.jsonl');
  const { api } = gateway;
  const kvps = { 'ORDER.COLOUR': 'green' };
  const declined = (await api.purchase({ pan: DECLINED_CARD, kvps })).body;
  const purchase = (await api.purchase({ kvps, correlationId: 'won-for-good' })).body;
  const refund = (await api.refund(purchase.audit, 1)).body;
  old = { declined, purchase, refund };
  living = (await api.purchase({ kvps })).body;
  // All four are a year old. One still has its card, for whatever reason.
  await gateway.sql(
    `UPDATE transaction SET created_at = '2025-01-01', settlement_date = '2025-01-02', voidable_until = NULL`,
  );
  await gateway.sql('UPDATE transaction SET payment_details_sealed = NULL WHERE audit <> $1', [living.audit]);
  // Another one is from today.
  await api.purchase({ kvps });
});
afterAll(() => gateway.close());

async function linesOfFile(): Promise<Json[]> {
  return (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const strip = () =>
  gateway.sql<{ audit: number }>(
    'SELECT audit FROM transaction WHERE archived_at IS NOT NULL ORDER BY audit',
  );

// catches(archive: a card that lives keeps its transaction) slow, processes
test('archive → a file with old, finished transactions, without secrets; the database is unchanged', async () => {
  const archived = await json(`archive --before ${BEFORE} --to ${file}`);
  expect(archived).toMatchObject({
    file,
    transactions: 3,
    removed: 0,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const lines = await linesOfFile();
  expect(lines[0]).toMatchObject({ kind: 'archive', format: 1 });
  expect(lines.at(-1)).toMatchObject({ kind: 'end', transactions: 3, sha256: archived.sha256 });
  const transactions = lines.filter(({ kind }) => kind === 'transaction');
  expect(transactions.map(({ audit }) => audit)).toEqual([
    old.declined.audit,
    old.purchase.audit,
    old.refund.audit,
  ]);
  expect(transactions[1]).toMatchObject({
    kvps: { 'ORDER.COLOUR': 'green' },
    correlation_id: 'won-for-good',
    status: 'approved',
  });
  for (const name of ['payment_details_sealed', 'payment_details_key_version']) {
    expect(transactions[1]).not.toHaveProperty(name);
  }
  expect(await strip()).toEqual([]);
  expect(await json('journal --limit 1')).toMatchObject([{ action: 'archive.written' }]);
});

test('the same file once more → refused, unless with --remove', async () => {
  expect(await refusal(`archive --before ${BEFORE} --to ${file}`)).toBe(
    `${file} exists already and is not overwritten`,
  );
});

// catches(archive: what is changed later is not removed) slow, processes
test('a file that was changed or cut short → refused, and nothing is removed', async () => {
  const whole = await readFile(file, 'utf8');
  for (const damaged of [
    whole.replace('green', 'black'),
    whole.slice(0, whole.length / 2),
    `${whole}more`,
    '',
  ]) {
    await writeFile(file, damaged);
    expect(await refusal(`archive --before ${BEFORE} --to ${file} --remove`)).toMatch(
      /is not an archive, is cut short, or was changed/,
    );
  }
  await writeFile(file, whole);
  expect(await refusal(`archive --before 2025-06-02 --to ${file} --remove`)).toContain('exists already');
  expect(await strip()).toEqual([]);
});

test('killed while it removes, and run again → the rest is removed, each once; look-ups go on, without the client’s KVPs', async () => {
  const before = (await gateway.api.lookUp(old.purchase.audit)).body;
  const killed = start(['archive', '--before', BEFORE, '--to', file, '--remove'], environment());
  killed.kill('SIGKILL');
  await killed.ended;
  expect(await text(`archive --before ${BEFORE} --to ${file} --remove`)).toMatch(
    /^Read: 3 transactions and \d+ journal entries, .*\. \d transactions were taken out of the database\.$/,
  );
  expect((await strip()).map(({ audit }) => audit)).toEqual([
    old.declined.audit,
    old.purchase.audit,
    old.refund.audit,
  ]);
  const { kvps, ...rest } = (await gateway.api.lookUp(old.purchase.audit)).body;
  const { kvps: former, ...whole } = before;
  expect(rest).toEqual(whole);
  expect([former['GATEWAY.REQUEST.KVP.ORDER.COLOUR'], kvps['GATEWAY.REQUEST.KVP.ORDER.COLOUR']]).toEqual([
    'green',
    undefined,
  ]);
  const kept = (await gateway.api.lookUp(living.audit)).body;
  expect(JSON.stringify(kept)).toContain('ORDER.COLOUR');
  expect(await json('journal --limit 1')).toMatchObject([{ action: 'archive.removed' }]);
});

test('a correlation ID of an archived transaction → still taken', async () => {
  const again = await gateway.api.purchase({ correlationId: 'won-for-good' });
  expect([again.status, again.code]).toEqual([409, 'correlation_id_already_used']);
});

test('archived → not in the next archive', async () => {
  await rm(file);
  expect(await json(`archive --before ${BEFORE} --to ${file}`)).toMatchObject({ transactions: 0 });
});

// catches(archive: nothing that events are still told from)
test('transactions younger than the kept events → refused', async () => {
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  expect(await refusal(`archive --before ${yesterday} --to ${file}.new`)).toMatch(
    /^only what is at least 61 days old/,
  );
});

test('an unwritable file → refused', async () => {
  await appendFile(`${file}.folder`, '');
  expect(await refusal(`archive --before ${BEFORE} --to ${file}.folder/x`)).toMatch(
    /cannot be written \(ENOTDIR\)/,
  );
});
