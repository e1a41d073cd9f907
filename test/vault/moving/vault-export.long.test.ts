// `tollgate vault export`: everything of a vault, for one key only, to be taken in by the next.
import { readdir, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wordsOf } from '../../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { run as runProcess, start } from '../../../testkit/gateway-process.js';
import { locker } from '../../../testkit/locks.js';
import { movingDesk, newLine, newName } from '../../../testkit/moving-vault.js';

let gateway: TestGateway;
let desk: Awaited<ReturnType<typeof movingDesk>>;
beforeAll(async () => {
  gateway = await testGateway();
  desk = await movingDesk(gateway);
});
afterAll(async () => {
  await gateway.close();
  await desk.close();
});

test('a whole vault, encrypted for the key → imported by the next merchant, and paid with there', async () => {
  const merchant = (await desk.json('merchant add From --organisation 1 --vault')).id;
  const line = newLine({ former_token_ids: [newName('older')], network_transaction_id: '378282246310005' });
  const bank = {
    ...newLine(),
    card_number: undefined,
    bsb: '062-000',
    account_number: '123456789',
    account_name: 'A Customer',
  };
  const gone = newLine();
  const file = await desk.fileOf(line, bank, gone);
  await desk.json(desk.importing(file, '', merchant));
  const deleted = await desk.found(gone.old_token_id, merchant);
  await desk.json(`token delete ${deleted.token} --organisation 1`);
  await desk.json(`keys rotate --merchant ${merchant}`);
  const out = desk.inFolder(newName('export'));
  const result = await desk.json(
    `vault export --merchant ${merchant} --recipient ${desk.recipient} --out ${out}`,
  );
  expect(result).toMatchObject({ merchant, tokens: 2, broken: [], recipients: [desk.recipient] });
  const token = await desk.found(line.old_token_id, merchant);
  expect(await desk.opened(out)).toMatchObject([
    {
      token_id: token.token,
      virtual_pan: token.virtual_pan,
      customer_reference: line.customer_reference,
      card_number: line.card_number,
      expiry: '1239',
      card_name: 'Ada Lovelace',
      network_transaction_id: '378282246310005',
      former_token_ids: expect.arrayContaining([line.old_token_id, ...(line.former_token_ids as string[])]),
    },
    { bsb: '062-000', account_number: '123456789', account_name: 'A Customer', active: true },
  ]);
  expect(await desk.json(desk.importing(out, '', 2))).toMatchObject({ imported: 2 });
  for (const id of [token.virtual_pan, line.old_token_id, (line.former_token_ids as string[])[0]])
    expect(await desk.pay((await desk.found(id, 2)).virtual_pan, 2)).toBe('approved');
  expect(await desk.refusal(`token find ${gone.old_token_id} --merchant 2`)).toContain(
    'no token of merchant 2',
  );
  const journalled = await gateway.sql(
    `SELECT action, detail FROM journal WHERE merchant_id = $1 AND action LIKE 'vault.export%' ORDER BY id`,
    [merchant],
  );
  expect(journalled).toEqual([
    { action: 'vault.export_begun', detail: `2 tokens to ${desk.recipient}` },
    { action: 'vault.exported', detail: `2 tokens to ${desk.recipient}, sha256 ${result.sha256}` },
  ]);
});

test('to standard output → only encrypted data', async () => {
  const words = wordsOf(`vault export --merchant 2 --recipient ${desk.recipient} --out - --json`);
  const { code, stdout, stderr } = await runProcess(words, desk.environment);
  expect(code).toBe(0);
  expect(stdout.startsWith('age-encryption.org/v1\n')).toBe(true);
  expect(JSON.parse(stderr)).toMatchObject({ merchant: 2, broken: [] });
});

test('an interrupted export leaves nothing; the leftovers of a killed one are removed and reported by the next', async () => {
  const name = newName('export');
  const out = desk.inFolder(name);
  const exporting = `vault export --merchant 2 --recipient ${desk.recipient} --out ${out}`;
  const parts = async () => (await readdir(desk.inFolder(''))).filter((each) => each.startsWith(name)).sort();
  const lock = await locker(gateway);
  await lock.query('LOCK TABLE former_token_id IN ACCESS EXCLUSIVE MODE');
  const running = start(wordsOf(exporting), desk.environment);
  await expect
    .poll(parts)
    .toEqual([expect.stringMatching(new RegExp(`^${name}\\.${running.pid}-[0-9a-f]+\\.part$`))]);
  running.kill('SIGTERM');
  const ended = await running.ended;
  await lock.rollback();
  expect(ended.signal).toBe('SIGTERM');
  expect(await parts()).toEqual([]);
  const left = `${out}.${running.pid}-0123abcd.part`;
  await writeFile(left, 'half of it');
  // Of a process that lives, so that it may be writing.
  await writeFile(`${out}.${process.ppid}.part`, 'another');
  expect(await desk.json(exporting)).toMatchObject({ removed: [left] });
  expect(await parts()).toEqual([name, `${name}.${process.ppid}.part`]);
});

// catches(export: live cards only where somebody means it)
test('live cards without --yes, an invalid key, an existing file → refused', async () => {
  const { id } = await desk.json('merchant add Alive --organisation 1 --vault --live');
  const to = (merchant: number, key: string, more = '') =>
    `vault export --merchant ${merchant} --recipient ${key} --out ${desk.inFolder(newName('export'))} ${more}`;
  expect(await desk.refusal(to(id, desk.recipient))).toContain('if you mean it, say so with --yes');
  expect(await desk.json(to(id, desk.recipient, '--yes'))).toMatchObject({ tokens: 0 });
  expect(await desk.refusal(to(1, 'age1nonsense'))).toContain('is neither an age public key');
  expect(await desk.refusal(to(1, 'nowhere'))).toContain('is neither an age public key');
  expect(
    await desk.refusal(`vault export --merchant 1 --recipient ${desk.recipient} --out ${desk.identity}`),
  ).toBe(`${desk.identity} exists already and is not overwritten`);
  expect(await desk.refusal(to(3, desk.recipient))).toBe('merchant 3 does not have the vault product');
});

test('a token changed in the database → not in the file, and reported', async () => {
  const { id } = await desk.json('merchant add Changed --organisation 1 --vault');
  const [one, two] = [newLine(), newLine()];
  await desk.json(desk.importing(await desk.fileOf(one, two), '', id));
  const { token } = await desk.found(one.old_token_id, id);
  await gateway.sql(
    `UPDATE token SET sealed = set_byte(sealed, 20, 255 - get_byte(sealed, 20)) WHERE organisation_id = 1 AND id = $1`,
    [token],
  );
  const out = desk.inFolder(newName('export'));
  const { code, stdout } = await desk.run(
    `vault export --merchant ${id} --recipient ${desk.recipient} --out ${out} --json`,
  );
  expect([code, JSON.parse(stdout)]).toMatchObject([1, { tokens: 1, broken: [token] }]);
  expect(await desk.opened(out)).toMatchObject([{ card_number: two.card_number }]);
});
