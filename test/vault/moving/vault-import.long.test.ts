// `tollgate vault import`: cards from another vault are paid with here, and none is taken in twice, whoever imports what how often.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wordsOf } from '../../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { run as runProcess } from '../../../testkit/gateway-process.js';
import { type Line, movingDesk, newCard, newLine, newName } from '../../../testkit/moving-vault.js';
import { cardAccount, vaultOf } from '../../../testkit/vault-client.js';

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

test('JSON lines, encrypted → tokens that pay, can be found by their old IDs, and are journalled with the operator', async () => {
  const [one, two] = [newLine(), newLine({ customer_name: 'Grace Hopper', preferred_name: 'Her card' })];
  const mapping = desk.inFolder(newName('mapping'));
  const path = await desk.fileOf(one, two);
  const result = await desk.json(desk.importing(path, `--source stripe --mapping ${mapping}`));
  expect(result).toMatchObject({ merchant: 1, source: 'stripe', lines: 2, imported: 2, refused: 0 });
  const token = await desk.found(two.old_token_id);
  expect(await desk.pay(token.virtual_pan)).toBe('approved');
  expect(token).toMatchObject({ source: 'stripe', active: true, deleted: false });
  const shown = await vaultOf(gateway.api).lookUpToken(token.customer, token.token);
  expect(shown.body).toMatchObject({ preferred_name: 'Her card', virtual_pan: token.virtual_pan });
  const customer = await vaultOf(gateway.api).lookUpCustomer(token.customer);
  expect(customer.body).toMatchObject({ reference: two.customer_reference, name: 'Grace Hopper' });
  expect(await desk.lines(mapping)).toContain(
    `${two.old_token_id},${token.customer},${token.token},${token.virtual_pan},imported`,
  );
  const told = await gateway.sql(
    `SELECT actor, merchant_id, detail, mark IS NOT NULL AS marked FROM journal WHERE action = 'vault.imported' AND detail LIKE $1`,
    [`%${result.sha256}`],
  );
  expect(told).toEqual([
    {
      actor: expect.stringMatching(/^operator:account:/),
      merchant_id: 1,
      detail: expect.stringMatching(/^source stripe, 2 imported, 0 already there, 0 duplicates, 0 refused/),
      marked: true,
    },
  ]);
  expect(await desk.json('journal verify')).toMatchObject({ problems: [] });
  expect(await desk.json('keys verify --merchant 1')).toMatchObject({ problems: [] });
});

// catches(import: a token is added only for an old ID that the database had not)
test('the same file again → everything is already there, and nothing is added', async () => {
  const path = await desk.fileOf(...Array.from({ length: 5 }, () => newLine()));
  expect(await desk.imported(path)).toMatchObject({ imported: 5 });
  const before = await gateway.sql('SELECT count(*) FROM token');
  expect(await desk.imported(path)).toMatchObject({
    imported: 0,
    already_there: 5,
    duplicates: 0,
    refused: 0,
  });
  expect(await gateway.sql('SELECT count(*) FROM token')).toEqual(before);
});

test('an old ID that appears twice → one token; with another card the second is refused', async () => {
  const one = newLine();
  const path = await desk.fileOf(one, one, { ...one, card_number: newCard() });
  const report = desk.inFolder(newName('report'));
  expect(await desk.imported(path, `--report ${report}`)).toMatchObject({
    imported: 1,
    already_there: 1,
    refused: 1,
  });
  expect(await desk.lines(report)).toEqual([`3,${one.old_token_id},old_token_id,taken_by_another_card`]);
});

// catches(import: a card that the customer has is no second token)
test('the same card of the same customer twice → one token, found by both IDs', async () => {
  const one = newLine();
  const again = { ...one, old_token_id: newName('card') };
  const later = { ...one, old_token_id: newName('card') };
  expect(await desk.imported(await desk.fileOf(one, again))).toMatchObject({ imported: 1, duplicates: 1 });
  expect(await desk.imported(await desk.fileOf(later))).toMatchObject({ imported: 0, duplicates: 1 });
  const { token } = await desk.found(one.old_token_id);
  expect(await desk.found(again.old_token_id)).toMatchObject({ token });
  expect(await desk.found(later.old_token_id)).toMatchObject({ token });
  const others = [
    newLine({ card_number: one.card_number }),
    { ...later, old_token_id: newName('card'), expiry: '1139' },
  ];
  expect(await desk.imported(await desk.fileOf(...others))).toMatchObject({ imported: 2, duplicates: 0 });
});

test('a file imported three times at once → each line is one token', async () => {
  const all = Array.from({ length: 40 }, () => newLine());
  const path = await desk.fileOf(...all);
  const ended = await Promise.all(
    [1, 2, 3].map(() => runProcess(wordsOf(`${desk.importing(path)} --json`), desk.environment)),
  );
  const results = ended.map(({ stdout }) => JSON.parse(stdout));
  const sum = (name: string) => results.reduce((total, result) => total + result[name], 0);
  expect([sum('imported'), sum('already_there'), sum('duplicates')]).toEqual([40, 80, 0]);
  const stored = await gateway.sql(
    `SELECT count(DISTINCT t.id)::int AS tokens FROM customer c JOIN token t ON t.organisation_id = c.organisation_id AND t.customer_id = c.id
     WHERE c.reference = ANY ($1)`,
    [all.map((line) => line.customer_reference)],
  );
  expect(stored).toEqual([{ tokens: 40 }]);
});

test('--dry-run → reports what would happen, and imports nothing', async () => {
  const path = await desk.fileOf(newLine(), newLine({ card_number: '4111111111111112' }));
  const before = await gateway.sql('SELECT count(*) FROM token');
  expect(await desk.imported(path, '--dry-run')).toMatchObject({ dry_run: true, imported: 1, refused: 1 });
  expect(await gateway.sql('SELECT count(*) FROM token')).toEqual(before);
  expect(await desk.imported(path)).toMatchObject({ imported: 1, already_there: 0 });
});

test('--dry-run → finds the same problems as an import, in the file and with existing tokens', async () => {
  const there = newLine();
  await desk.imported(await desk.fileOf(there));
  const anotherId = (line: Line) => ({ ...line, old_token_id: newName('card') });
  const [one, two] = [newLine({ former_token_ids: [newName('older')] }), newLine()];
  // More than a batch, so that what repeats comes in several of them.
  const many = Array.from({ length: 300 }, () => newLine());
  const path = await desk.fileOf(
    one,
    two,
    anotherId(one),
    ...many,
    anotherId(one),
    two,
    { ...two, card_number: newCard() },
    { ...two, old_token_id: (one.former_token_ids as string[])[0] },
    anotherId(there),
    { ...there, customer_reference: newName('cus'), old_token_id: newName('card') },
    ...many,
  );
  const counts = { lines: 609, imported: 303, already_there: 302, duplicates: 3, refused: 1 };
  const dry = await desk.imported(path, '--dry-run');
  expect(dry).toMatchObject({ ...counts, dry_run: true });
  expect(await desk.imported(path)).toMatchObject({ ...counts, dry_run: false });
  expect(await desk.imported(path, '--dry-run')).toMatchObject({ imported: 0, already_there: 608 });
});

// catches(import: a token that is deleted, or has another card, is not taken for the card that it had)
test('a deleted token → stays deleted when its file is imported again; its card may come under another ID', async () => {
  const line = newLine();
  const path = await desk.fileOf(line);
  await desk.imported(path);
  const { customer, token } = await desk.found(line.old_token_id);
  expect((await vaultOf(gateway.api).deleteToken(customer, token)).status).toBe(204);
  expect(await desk.imported(path)).toMatchObject({ imported: 0, already_there: 1 });
  expect(await desk.found(line.old_token_id)).toMatchObject({ token, deleted: true });
  const anew = { ...line, old_token_id: newName('card') };
  expect(await desk.imported(await desk.fileOf(anew))).toMatchObject({ imported: 1, duplicates: 0 });
  // One that has another card since is not taken for the card that it had.
  const renewed = await desk.found(anew.old_token_id);
  await vaultOf(gateway.api).changeToken(renewed.customer, renewed.token, { account: cardAccount() });
  const third = { ...line, old_token_id: newName('card') };
  expect(await desk.imported(await desk.fileOf(third))).toMatchObject({ imported: 1, duplicates: 0 });
});
