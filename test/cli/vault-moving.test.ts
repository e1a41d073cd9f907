// `tollgate vault import` and `export`: cards from another vault are paid with here, move on to the next one, and are never in clear on a disk.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Decrypter, Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { luhnDigit } from '../../src/values/card.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { run as runProcess } from '../../testkit/gateway-process.js';
import { TOLLGATE } from '../../testkit/project.js';
import { cardAccount, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let folder: string;
let identity: string;
let recipient: string;
beforeAll(async () => {
  gateway = await testGateway();
  folder = await mkdtemp(join(tmpdir(), 'tollgate-moving-'));
  const secret = await generateIdentity();
  recipient = await identityToRecipient(secret);
  identity = inFolder('key.txt');
  await writeFile(identity, `# made for a test\n${secret}\n`);
});
afterAll(async () => {
  await gateway.close();
  await rm(folder, { recursive: true, force: true });
});

const environment = () => ({ DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir });
const run = (line: string) => runHere(wordsOf(line), environment());
const { json, refusal } = commands(run);
const inFolder = (name: string) => join(folder, name);

let numbers = 0;
const newName = (kind: string) => `${kind}_${++numbers}`;
/** A Visa that nobody else has. */
function newCard(): string {
  const digits = `4539${String(++numbers).padStart(11, '0')}`;
  return digits + luhnDigit(digits);
}

interface Line {
  readonly [field: string]: unknown;
}
const newLine = (change: Line = {}): Line => ({
  old_token_id: newName('card'),
  customer_reference: newName('cus'),
  card_number: newCard(),
  expiry: '1239',
  card_name: 'Ada Lovelace',
  ...change,
});

async function encryptedFile(content: string): Promise<string> {
  const path = inFolder(newName('cards'));
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  await writeFile(path, await encrypter.encrypt(content));
  return path;
}
const jsonLines = (lines: readonly Line[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const fileOf = (...lines: readonly Line[]) => encryptedFile(jsonLines(lines));
const importing = (path: string, more = '') =>
  `vault import ${path} --merchant 1 --identity ${identity} ${more}`;
/** Of an import, with or without refused lines. */
async function imported(path: string, more = '') {
  const { stdout, stderr } = await run(`${importing(path, more)} --json`);
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}
const found = async (oldId: unknown, merchant = 1) =>
  (await json(`token find ${oldId} --merchant ${merchant}`))[0];
const pay = async (virtualPan: string, merchant = 1) =>
  (await gateway.api.purchase({ pan: virtualPan, merchant })).body.status?.transaction_status_code;
const lines = async (path: string) => (await readFile(path, 'utf8')).split('\r\n').slice(1, -1);

async function opened(path: string): Promise<Line[]> {
  const decrypter = new Decrypter();
  decrypter.addIdentity((await readFile(identity, 'utf8')).split('\n')[1] as string);
  const clear = await decrypter.decrypt(await readFile(path), 'text');
  return clear
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

describe('import', () => {
  test('JSON lines, encrypted → tokens that pay, found by their old IDs, and the journal says who', async () => {
    const [one, two] = [newLine(), newLine({ customer_name: 'Grace Hopper', preferred_name: 'Her card' })];
    const mapping = inFolder(newName('mapping'));
    const path = await fileOf(one, two);
    const result = await json(importing(path, `--source stripe --mapping ${mapping}`));
    expect(result).toMatchObject({ merchant: 1, source: 'stripe', lines: 2, imported: 2, refused: 0 });
    const token = await found(two.old_token_id);
    expect(await pay(token.virtual_pan)).toBe('approved');
    expect(token).toMatchObject({ source: 'stripe', active: true, deleted: false });
    const shown = await vaultOf(gateway.api).lookUpToken(token.customer, token.token);
    expect(shown.body).toMatchObject({ preferred_name: 'Her card', virtual_pan: token.virtual_pan });
    const customer = await vaultOf(gateway.api).lookUpCustomer(token.customer);
    expect(customer.body).toMatchObject({ reference: two.customer_reference, name: 'Grace Hopper' });
    expect(await lines(mapping)).toContain(
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
    expect(await json('journal verify')).toMatchObject({ problems: [] });
    expect(await json('keys verify --merchant 1')).toMatchObject({ problems: [] });
  });

  test('the same file again → everything is already there, and nothing is added', async () => {
    const path = await fileOf(...Array.from({ length: 5 }, () => newLine()));
    expect(await imported(path)).toMatchObject({ imported: 5 });
    const before = await gateway.sql('SELECT count(*) FROM token');
    expect(await imported(path)).toMatchObject({ imported: 0, already_there: 5, duplicates: 0, refused: 0 });
    expect(await gateway.sql('SELECT count(*) FROM token')).toEqual(before);
  });

  test('an old ID that comes twice → one token; with another card the second is refused', async () => {
    const one = newLine();
    const path = await fileOf(one, one, { ...one, card_number: newCard() });
    const report = inFolder(newName('report'));
    expect(await imported(path, `--report ${report}`)).toMatchObject({
      imported: 1,
      already_there: 1,
      refused: 1,
    });
    expect(await lines(report)).toEqual([`3,${one.old_token_id},old_token_id,taken_by_another_card`]);
  });

  test('the same card of the same customer twice → one token, known by both IDs', async () => {
    const one = newLine();
    const again = { ...one, old_token_id: newName('card') };
    const later = { ...one, old_token_id: newName('card') };
    expect(await imported(await fileOf(one, again))).toMatchObject({ imported: 1, duplicates: 1 });
    expect(await imported(await fileOf(later))).toMatchObject({ imported: 0, duplicates: 1 });
    const { token } = await found(one.old_token_id);
    expect(await found(again.old_token_id)).toMatchObject({ token });
    expect(await found(later.old_token_id)).toMatchObject({ token });
    const others = [
      newLine({ card_number: one.card_number }),
      { ...later, old_token_id: newName('card'), expiry: '1139' },
    ];
    expect(await imported(await fileOf(...others))).toMatchObject({ imported: 2, duplicates: 0 });
  });

  test('a file that three import at the same time → each line is one token', async () => {
    const all = Array.from({ length: 40 }, () => newLine());
    const path = await fileOf(...all);
    const ended = await Promise.all(
      [1, 2, 3].map(() => runProcess(wordsOf(`${importing(path)} --json`), environment())),
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

  test('wrong lines → refused by line and field, without a card number; the others are imported', async () => {
    const card = newCard();
    const wrong = card.slice(0, -1) + ((Number(card.at(-1)) + 1) % 10);
    const path = await fileOf(
      newLine(),
      newLine({ card_number: wrong }),
      newLine({ card_name: 'José', customer_reference: 'x'.repeat(51) }),
      newLine({ expiry: '1339', old_token_id: undefined }),
      newLine({ customer_name: `Ada ${card}` }),
      newLine({ old_token_id: card }),
      { broken: true },
    );
    const report = inFolder(newName('report'));
    const { code, stdout, stderr } = await run(importing(path, `--report ${report}`));
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toContain('7 lines: 1 imported, 0 already there, 0 duplicates, 6 refused');
    const told = (await lines(report)).map((line) => line.replace(/,card_\d+,/, ',…,'));
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

  test('CSV with columns of other names, accents left out, bank accounts → imported', async () => {
    const [card, reference] = [newCard(), newName('cus')];
    const path = await encryptedFile(
      [
        'id,customer,number,exp_month,exp_year,card_name,bsb,account_number,account_name',
        `${newName('pm')},${reference},${card},3,2039,"O’Brien, Zoë",,,`,
        `${newName('ba')},${reference},,,,,062-000,123456789,Zoe OBrien`,
        '',
      ].join('\r\n'),
    );
    const names = '--field old_token_id=id --field customer_reference=customer --field card_number=number';
    expect(await imported(path, `${names} --plain-names`)).toMatchObject({ imported: 2, refused: 0 });
    const { body } = await vaultOf(gateway.api).searchCustomers({ reference });
    const tokens = (await vaultOf(gateway.api).listTokens(body.results[0].id)).body.results;
    expect(tokens.map(({ account }: { account: object }) => account)).toMatchObject([
      { general_creditcard: { 'CARD.NAME': 'OBrien, Zoe' } },
      { general_bankaccount: { 'BANK.ACCOUNT_NUMBER': '******789' } },
    ]);
    expect(await pay(tokens[0].virtual_pan)).toBe('approved');
    expect(await pay(tokens[1].virtual_pan)).toBe('pending');
  });

  test('--dry-run → says what would be, and imports nothing', async () => {
    const path = await fileOf(newLine(), newLine({ card_number: '4111111111111112' }));
    const before = await gateway.sql('SELECT count(*) FROM token');
    expect(await imported(path, '--dry-run')).toMatchObject({ dry_run: true, imported: 1, refused: 1 });
    expect(await gateway.sql('SELECT count(*) FROM token')).toEqual(before);
    expect(await imported(path)).toMatchObject({ imported: 1, already_there: 0 });
  });

  test('cards in clear on a disk → refused, whatever leads there; with made-up ones for a test merchant allowed', async () => {
    const path = inFolder(newName('clear'));
    const line = newLine();
    await writeFile(path, jsonLines([line]));
    const told = await refusal(`vault import ${path} --merchant 1`);
    expect(told).toContain('holds cards in clear, which must never be on a disk; nothing was imported');
    expect(told).toContain('gpg --decrypt cards.gpg | tollgate vault import - ');
    const redirected = await runProcess(
      ['-c', `"$0" "$1" vault import - --merchant 1 < "$2"`, process.execPath, TOLLGATE, path],
      environment(),
      {
        command: 'sh',
      },
    );
    expect([redirected.code, redirected.stderr]).toEqual([1, expect.stringContaining('in clear')]);
    const live = (await json(`merchant add Live --organisation 1 --vault --live`)).id;
    expect(await refusal(`vault import ${path} --merchant ${live} --clear-test-file`)).toContain('in clear');
    expect(await refusal(`token find ${line.old_token_id} --merchant 1`)).toContain('no token of merchant 1');
    expect(await json(`vault import ${path} --merchant 1 --clear-test-file`)).toMatchObject({ imported: 1 });
  });

  test('a pipe → taken in clear, and so is the key of an encrypted file', async () => {
    const [piped, encrypted] = [newLine(), newLine()];
    const fromPipe = (words: string, input: string) =>
      runProcess([...wordsOf(words), '--json'], environment(), { input });
    const first = await fromPipe('vault import - --merchant 1', jsonLines([piped]));
    expect([first.stderr, first.code]).toEqual(['', 0]);
    expect(await pay((await found(piped.old_token_id)).virtual_pan)).toBe('approved');
    const path = await fileOf(encrypted);
    const second = await fromPipe(
      `vault import ${path} --merchant 1 --identity -`,
      await readFile(identity, 'utf8'),
    );
    expect([second.stderr, second.code]).toEqual(['', 0]);
    expect(await found(encrypted.old_token_id)).toMatchObject({ active: true });
  });

  test('a file that is cut short, of another key, of PGP, or without a key → refused with one line', async () => {
    const path = await fileOf(...Array.from({ length: 3 }, () => newLine()));
    const content = await readFile(path);
    const written = async (bytes: string | Uint8Array) => {
      const changed = inFolder(newName('changed'));
      await writeFile(changed, bytes);
      return changed;
    };
    expect(await refusal(importing(await written(content.subarray(0, -20))))).toContain(
      'is cut short, or was changed',
    );
    const other = await written(await generateIdentity());
    expect(await refusal(`vault import ${path} --merchant 1 --identity ${other}`)).toContain(
      'encrypted to another key',
    );
    expect(await refusal(`vault import ${path} --merchant 1`)).toContain('with --identity FILE');
    expect(await refusal(importing(path).replace(identity, path))).toContain('holds no secret key');
    expect(await refusal(importing(await written('-----BEGIN PGP MESSAGE-----\n')))).toContain(
      'gpg --decrypt',
    );
    expect(await refusal(importing('nowhere'))).toContain('cannot be read (ENOENT)');
    expect(await imported(path)).toMatchObject({ imported: 3 });
  });

  test('a merchant without the vault, suspended, or none → refused', async () => {
    const path = await fileOf(newLine());
    const to = (merchant: number) => importing(path).replace('--merchant 1', `--merchant ${merchant}`);
    expect(await refusal(to(3))).toBe('merchant 3 does not have the vault product');
    expect(await refusal(to(999))).toBe('there is no merchant 999');
    const { id } = await json('merchant add Asleep --organisation 1 --vault');
    await json(`merchant suspend ${id}`);
    expect(await refusal(to(id))).toBe(`merchant ${id} is suspended`);
  });

  test('a token that was deleted → stays gone when its file is imported again; its card may come under another ID', async () => {
    const line = newLine();
    const path = await fileOf(line);
    await imported(path);
    const { customer, token } = await found(line.old_token_id);
    expect((await vaultOf(gateway.api).deleteToken(customer, token)).status).toBe(204);
    expect(await imported(path)).toMatchObject({ imported: 0, already_there: 1 });
    expect(await found(line.old_token_id)).toMatchObject({ token, deleted: true });
    const anew = { ...line, old_token_id: newName('card') };
    expect(await imported(await fileOf(anew))).toMatchObject({ imported: 1, duplicates: 0 });
    // One that has another card since is not taken for the card that it had.
    const renewed = await found(anew.old_token_id);
    await vaultOf(gateway.api).changeToken(renewed.customer, renewed.token, { account: cardAccount() });
    const third = { ...line, old_token_id: newName('card') };
    expect(await imported(await fileOf(third))).toMatchObject({ imported: 1, duplicates: 0 });
  });
});

describe('export', () => {
  test('everything of a vault, only for the key → imported by the next merchant, and paid with there', async () => {
    const merchant = (await json('merchant add From --organisation 1 --vault')).id;
    const line = newLine({ former_token_ids: [newName('older')] });
    const bank = {
      ...newLine(),
      card_number: undefined,
      bsb: '062-000',
      account_number: '123456789',
      account_name: 'A Customer',
    };
    const gone = newLine();
    const file = await fileOf(line, bank, gone);
    await json(importing(file).replace('--merchant 1', `--merchant ${merchant}`));
    const deleted = await found(gone.old_token_id, merchant);
    await json(`token delete ${deleted.token} --organisation 1`);
    await json(`keys rotate --merchant ${merchant}`);
    const out = inFolder(newName('export'));
    const result = await json(`vault export --merchant ${merchant} --recipient ${recipient} --out ${out}`);
    expect(result).toMatchObject({ merchant, tokens: 2, broken: [], recipients: [recipient] });
    const token = await found(line.old_token_id, merchant);
    expect(await opened(out)).toMatchObject([
      {
        token_id: token.token,
        virtual_pan: token.virtual_pan,
        customer_reference: line.customer_reference,
        card_number: line.card_number,
        expiry: '1239',
        card_name: 'Ada Lovelace',
        former_token_ids: expect.arrayContaining([line.old_token_id, ...(line.former_token_ids as string[])]),
      },
      { bsb: '062-000', account_number: '123456789', account_name: 'A Customer', active: true },
    ]);
    expect(await json(importing(out).replace('--merchant 1', '--merchant 2'))).toMatchObject({ imported: 2 });
    for (const id of [token.virtual_pan, line.old_token_id, (line.former_token_ids as string[])[0]])
      expect(await pay((await found(id, 2)).virtual_pan, 2)).toBe('approved');
    expect(await refusal(`token find ${gone.old_token_id} --merchant 2`)).toContain('no token of merchant 2');
    const journalled = await gateway.sql(
      `SELECT action, detail FROM journal WHERE merchant_id = $1 AND action LIKE 'vault.export%' ORDER BY id`,
      [merchant],
    );
    expect(journalled).toEqual([
      { action: 'vault.export_begun', detail: `2 tokens to ${recipient}` },
      { action: 'vault.exported', detail: `2 tokens to ${recipient}, sha256 ${result.sha256}` },
    ]);
  });

  test('to standard output → only what is encrypted stands there', async () => {
    const words = wordsOf(`vault export --merchant 2 --recipient ${recipient} --out - --json`);
    const { code, stdout, stderr } = await runProcess(words, environment());
    expect(code).toBe(0);
    expect(stdout.startsWith('age-encryption.org/v1\n')).toBe(true);
    expect(JSON.parse(stderr)).toMatchObject({ merchant: 2, broken: [] });
  });

  test('live cards without --yes, a key that is none, a file that is there → refused', async () => {
    const { id } = await json('merchant add Alive --organisation 1 --vault --live');
    const to = (merchant: number, key: string, more = '') =>
      `vault export --merchant ${merchant} --recipient ${key} --out ${inFolder(newName('export'))} ${more}`;
    expect(await refusal(to(id, recipient))).toContain('if you mean it, say so with --yes');
    expect(await json(to(id, recipient, '--yes'))).toMatchObject({ tokens: 0 });
    expect(await refusal(to(1, 'age1nonsense'))).toContain('is no public key of age');
    expect(await refusal(to(1, 'nowhere'))).toContain('is no public key of age');
    expect(await refusal(`vault export --merchant 1 --recipient ${recipient} --out ${identity}`)).toBe(
      `${identity} exists already and is not overwritten`,
    );
    expect(await refusal(to(3, recipient))).toBe('merchant 3 does not have the vault product');
  });

  test('a token that somebody has changed in the database → not in the file, and said so', async () => {
    const { id } = await json('merchant add Changed --organisation 1 --vault');
    const [one, two] = [newLine(), newLine()];
    await json(importing(await fileOf(one, two)).replace('--merchant 1', `--merchant ${id}`));
    const { token } = await found(one.old_token_id, id);
    await gateway.sql(
      `UPDATE token SET sealed = set_byte(sealed, 20, 255 - get_byte(sealed, 20)) WHERE organisation_id = 1 AND id = $1`,
      [token],
    );
    const out = inFolder(newName('export'));
    const { code, stdout } = await run(
      `vault export --merchant ${id} --recipient ${recipient} --out ${out} --json`,
    );
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { tokens: 1, broken: [token] }]);
    expect(await opened(out)).toMatchObject([{ card_number: two.card_number }]);
  });
});
