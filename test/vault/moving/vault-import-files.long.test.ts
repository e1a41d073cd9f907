// `tollgate vault import`: what it reads, and what it refuses. Cards are never in clear on a disk.
import { readFile, writeFile } from 'node:fs/promises';
import { generateIdentity } from 'age-encryption';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wordsOf } from '../../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { run as runProcess } from '../../../testkit/gateway-process.js';
import { jsonLines, movingDesk, newCard, newLine, newName } from '../../../testkit/moving-vault.js';
import { TOLLGATE } from '../../../testkit/project.js';
import { vaultOf } from '../../../testkit/vault-client.js';

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

test('wrong lines → refused by line and field, without a card number; the others are imported', async () => {
  const card = newCard();
  const wrong = card.slice(0, -1) + ((Number(card.at(-1)) + 1) % 10);
  const path = await desk.fileOf(
    newLine(),
    newLine({ card_number: wrong }),
    newLine({ card_name: 'José', customer_reference: 'x'.repeat(51) }),
    newLine({ expiry: '1339', old_token_id: undefined }),
    newLine({ customer_name: `Ada ${card}` }),
    newLine({ old_token_id: card }),
    { broken: true },
  );
  const report = desk.inFolder(newName('report'));
  const { code, stdout, stderr } = await desk.run(desk.importing(path, `--report ${report}`));
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout).toContain('7 lines: 1 imported, 0 already there, 0 duplicates, 6 refused');
  const told = (await desk.lines(report)).map((line) => line.replace(/,card_\d+,/, ',…,'));
  expect(told.slice(0, 7)).toEqual([
    '2,…,card_number,card_number_invalid',
    '3,…,customer_reference,field_too_long',
    '3,…,card_name,field_charset',
    '4,,old_token_id,field_missing',
    '4,,expiry,field_format',
    '5,…,customer_name,card_number_misplaced',
    '6,,old_token_id,card_number_misplaced',
  ]);
  const written = stdout + (await readFile(report, 'utf8'));
  for (const secret of [card, wrong]) expect(written).not.toContain(secret.slice(4, 14));
});

test('CSV with columns of other names, characters without accents, bank accounts → imported', async () => {
  const [card, reference] = [newCard(), newName('cus')];
  const path = await desk.encryptedFile(
    [
      'id,customer,number,exp_month,exp_year,card_name,bsb,account_number,account_name',
      `${newName('pm')},${reference},${card},3,2039,"O’Brien, Zoë",,,`,
      `${newName('ba')},${reference},,,,,062-000,123456789,Zoe OBrien`,
      '',
    ].join('\r\n'),
  );
  const names = '--field old_token_id=id --field customer_reference=customer --field card_number=number';
  expect(await desk.imported(path, `${names} --plain-names`)).toMatchObject({ imported: 2, refused: 0 });
  const { body } = await vaultOf(gateway.api).searchCustomers({ reference });
  const tokens = (await vaultOf(gateway.api).listTokens(body.results[0].id)).body.results;
  expect(tokens.map(({ account }: { account: object }) => account)).toMatchObject([
    { general_creditcard: { 'CARD.NAME': 'OBrien, Zoe' } },
    { general_bankaccount: { 'BANK.ACCOUNT_NUMBER': '******789' } },
  ]);
  expect(await desk.pay(tokens[0].virtual_pan)).toBe('approved');
  expect(await desk.pay(tokens[1].virtual_pan)).toBe('pending');
});

// catches(import: no file of cards in clear as standard input) processes
// catches(import: no file of cards in clear)
test('cards in clear on a disk → refused, by any path; made-up ones for a test merchant → allowed', async () => {
  const path = desk.inFolder(newName('clear'));
  const line = newLine();
  await writeFile(path, jsonLines([line]));
  const told = await desk.refusal(`vault import ${path} --merchant 1`);
  expect(told).toContain('holds cards in clear, which must never be on a disk; nothing was imported');
  expect(told).toContain('gpg --decrypt cards.gpg | tollgate vault import - ');
  const redirected = await runProcess(
    ['-c', `"$0" "$1" vault import - --merchant 1 < "$2"`, process.execPath, TOLLGATE, path],
    desk.environment,
    {
      command: 'sh',
    },
  );
  expect([redirected.code, redirected.stderr]).toEqual([1, expect.stringContaining('in clear')]);
  const live = (await desk.json(`merchant add Live --organisation 1 --vault --live`)).id;
  expect(await desk.refusal(`vault import ${path} --merchant ${live} --clear-test-file`)).toContain(
    'in clear',
  );
  expect(await desk.refusal(`token find ${line.old_token_id} --merchant 1`)).toContain(
    'no token of merchant 1',
  );
  expect(await desk.json(`vault import ${path} --merchant 1 --clear-test-file`)).toMatchObject({
    imported: 1,
  });
});

test('a pipe → accepted in clear, and so is the key of an encrypted file', async () => {
  const [piped, encrypted] = [newLine(), newLine()];
  const fromPipe = (words: string, input: string) =>
    runProcess([...wordsOf(words), '--json'], desk.environment, { input });
  const first = await fromPipe('vault import - --merchant 1', jsonLines([piped]));
  expect([first.stderr, first.code]).toEqual(['', 0]);
  expect(await desk.pay((await desk.found(piped.old_token_id)).virtual_pan)).toBe('approved');
  const path = await desk.fileOf(encrypted);
  const second = await fromPipe(
    `vault import ${path} --merchant 1 --identity -`,
    await readFile(desk.identity, 'utf8'),
  );
  expect([second.stderr, second.code]).toEqual(['', 0]);
  expect(await desk.found(encrypted.old_token_id)).toMatchObject({ active: true });
});

test('a file that is cut short, for another key, of PGP, or without a key → refused with one line', async () => {
  const path = await desk.fileOf(...Array.from({ length: 3 }, () => newLine()));
  const content = await readFile(path);
  const written = async (bytes: string | Uint8Array) => {
    const changed = desk.inFolder(newName('changed'));
    await writeFile(changed, bytes);
    return changed;
  };
  expect(await desk.refusal(desk.importing(await written(content.subarray(0, -20))))).toContain(
    'is cut short, or was changed',
  );
  const other = await written(await generateIdentity());
  expect(await desk.refusal(`vault import ${path} --merchant 1 --identity ${other}`)).toContain(
    'encrypted to another key',
  );
  expect(await desk.refusal(`vault import ${path} --merchant 1`)).toContain('with --identity FILE');
  expect(await desk.refusal(desk.importing(path).replace(desk.identity, path))).toContain(
    'holds no secret key',
  );
  expect(await desk.refusal(desk.importing(await written('-----BEGIN PGP MESSAGE-----\n')))).toContain(
    'gpg --decrypt',
  );
  expect(await desk.refusal(desk.importing('nowhere'))).toContain('cannot be read (ENOENT)');
  expect(await desk.imported(path)).toMatchObject({ imported: 3 });
});

test('a merchant without the vault, a suspended or unknown one → refused', async () => {
  const path = await desk.fileOf(newLine());
  const to = (merchant: number) => desk.importing(path, '', merchant);
  expect(await desk.refusal(to(3))).toBe('merchant 3 does not have the vault product');
  expect(await desk.refusal(to(999))).toBe('there is no merchant 999');
  const { id } = await desk.json('merchant add Asleep --organisation 1 --vault');
  await desk.json(`merchant suspend ${id}`);
  expect(await desk.refusal(to(id))).toBe(`merchant ${id} is suspended`);
});
