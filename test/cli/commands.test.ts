// The operator's commands, as an operator or a script runs them: on a database of their own, while no gateway runs.
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Json } from '../support/client.js';
import { administer, databaseUrl } from '../support/database-server.js';
import { type TestDatabase, testDatabase } from '../support/gateway.js';
import { type Ended, run, start } from '../support/process.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

/** The words as in a shell; one with a space in it is given in single quotes. */
function tollgate(line: string, DATABASE_URL = database.url): Promise<Ended> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  return run(words, { DATABASE_URL });
}

/** What a command prints for a program. */
async function json(line: string): Promise<Json> {
  const { code, stdout, stderr } = await tollgate(`${line} --json`);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.split('\n')).toHaveLength(2);
  return JSON.parse(stdout);
}

/** What a command prints for a person. */
async function text(line: string): Promise<string> {
  const { code, stdout, stderr } = await tollgate(line);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.trimEnd();
}

/** The one line on stderr with which a command is refused. */
async function refusal(line: string): Promise<string> {
  const { code, stdout, stderr } = await tollgate(line);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr.split('\n')).toEqual([expect.stringMatching(/^tollgate: /), '']);
  return stderr.slice('tollgate: '.length).trimEnd();
}

async function organisationWithMerchant(): Promise<{ organisation: number; merchant: number }> {
  const organisation = await json('organisation add Ours');
  const merchant = await json(`merchant add Shop --organisation ${organisation.id}`);
  return { organisation: organisation.id, merchant: merchant.id };
}

describe.concurrent('organisation', () => {
  test('add → its id and name, and nothing else', async () => {
    const added = await json("organisation add 'Harbour Stores'");
    expect(added).toEqual({ id: expect.any(Number), name: 'Harbour Stores' });
    expect(await text('organisation add Second')).toMatch(/^Organisation \d+ \(Second\) added\.$/);
  });

  test('list → every organisation with its id, its name and when it was added', async () => {
    const { id } = await json('organisation add Listed');
    const listed = (await json('organisation list')).find((each: { id: number }) => each.id === id);
    expect(listed).toEqual({
      id,
      name: 'Listed',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    const table = await text('organisation list');
    expect(table).toMatch(/^id +name +created_at\n/);
    expect(table).toMatch(new RegExp(`^${id} +Listed +\\d{4}-`, 'm'));
  });

  test.each([
    ["organisation add ''", /^a name takes 1 to 60 characters/],
    ["organisation add 'Caf\u00e9'", /^a name takes 1 to 60 characters/],
    ["organisation add 'Card 4111111111111111'", /no card number$/],
    ['organisation add', /^missing required argument 'name' /],
    ['organisation add One Two', /^too many arguments for 'add'/],
  ])('%s → one line, exit code 1', async (line, expected) => {
    expect(await refusal(line)).toMatch(expected);
  });
});

describe.concurrent('merchant', () => {
  test('add → its id, organisation and settings; with the vault only if asked for', async () => {
    const { id: organisation } = await json('organisation add Ours');
    const plain = await json(`merchant add 'Corner Shop' --organisation ${organisation}`);
    expect(plain).toEqual({
      id: expect.any(Number),
      organisation,
      name: 'Corner Shop',
      vault: false,
      preauthorisation_days: 7,
      acquirer: 'simulator',
    });
    const vaulted = await json(
      `merchant add Vaulted --organisation ${organisation} --vault --preauthorisation-days 30`,
    );
    expect(vaulted).toMatchObject({ vault: true, preauthorisation_days: 30 });
    expect(await text(`merchant add Third --organisation ${organisation}`)).toMatch(
      /^Merchant \d+ \(Third\) added\.$/,
    );
  });

  test('list → every merchant, or those of one organisation', async () => {
    const { organisation, merchant } = await organisationWithMerchant();
    const other = await organisationWithMerchant();
    const ids = (list: Json) => list.map((each: { id: number }) => each.id);
    expect(ids(await json('merchant list'))).toEqual(expect.arrayContaining([merchant, other.merchant]));
    expect(ids(await json(`merchant list --organisation ${organisation}`))).toEqual([merchant]);
    const table = await text(`merchant list --organisation ${organisation}`);
    expect(table.split('\n')).toEqual([
      expect.stringMatching(/^id +organisation +name +vault +preauthorisation_days +acquirer$/),
      expect.stringMatching(new RegExp(`^${merchant} +${organisation} +Shop +no +7 +simulator$`)),
    ]);
    expect(await text('merchant list --organisation 2147483647')).toBe('None.');
  });

  test('set → changes what is named and nothing else', async () => {
    const { merchant } = await organisationWithMerchant();
    expect(await json(`merchant set ${merchant} --vault`)).toMatchObject({ name: 'Shop', vault: true });
    expect(await json(`merchant set ${merchant} --name Store --preauthorisation-days 14`)).toMatchObject({
      name: 'Store',
      vault: true,
      preauthorisation_days: 14,
    });
    expect(await json(`merchant set ${merchant} --no-vault`)).toMatchObject({
      name: 'Store',
      vault: false,
      preauthorisation_days: 14,
    });
    expect(await text(`merchant set ${merchant} --vault`)).toBe(
      `Merchant ${merchant} (Store) has the vault.`,
    );
  });

  test.each([
    ['merchant add Shop --organisation 2147483647', /^there is no organisation 2147483647$/],
    ['merchant add Shop', /^required option '--organisation <id>' not specified /],
    [
      'merchant add Shop --organisation one',
      /'one' is invalid. It must be a whole number from 1 to 2147483647\. /,
    ],
    ['merchant add Shop --organisation 1 --preauthorisation-days 366', /'366' is invalid/],
    ['merchant set 2147483647 --vault', /^there is no merchant 2147483647$/],
    ['merchant set 2147483648 --vault', /'2147483648' is invalid/],
    ['merchant set --vault', /^missing required argument 'id' /],
    ['merchant set 1 --safe', /^unknown option '--safe' /],
  ])('%s → one line, exit code 1', async (line, expected) => {
    expect(await refusal(line)).toMatch(expected);
  });
});

describe.concurrent('user', () => {
  test('add → its name, its secret and what it may do', async () => {
    const { organisation, merchant } = await organisationWithMerchant();
    const others = await Promise.all(
      ['A', 'B'].map((name) => json(`merchant add ${name} --organisation ${organisation}`)),
    );
    const grants = others.map(({ id }) => id).sort((one, other) => one - other);
    const added = await json(
      `user add till-1 --merchant ${merchant} --grant ${grants[1]} --grant ${grants[0]} --grant ${grants[1]}`,
    );
    expect(added).toEqual({
      username: 'till-1',
      password: expect.stringMatching(/^[\w-]{22,}$/),
      organisation,
      merchant,
      grants,
      revoked: false,
    });
    const said = await text(`user add till-2 --merchant ${merchant}`);
    expect(said).toMatch(/^User till-2 added\. The secret is shown only now: [\w-]{22,}$/);
  });

  test('list → every user, without its secret', async () => {
    const { organisation, merchant } = await organisationWithMerchant();
    const { password, ...user } = await json(`user add listed --merchant ${merchant}`);
    expect(await json('user list')).toContainEqual(user);
    const table = await text('user list');
    expect(table).toMatch(/^username +organisation +merchant +grants +revoked\n/);
    expect(table).toMatch(new RegExp(`^listed +${organisation} +${merchant} +no$`, 'm'));
    expect(table).not.toContain(password);
  });

  test('grant → a further merchant, and twice is once', async () => {
    const { organisation, merchant } = await organisationWithMerchant();
    const { id: other } = await json(`merchant add Other --organisation ${organisation}`);
    await json(`user add granted --merchant ${merchant}`);
    expect((await json(`user grant granted ${other}`)).grants).toEqual([other]);
    expect(await text(`user grant granted ${other}`)).toBe(`User granted may act for merchant ${other}.`);
    expect((await json(`user grant granted ${other}`)).grants).toEqual([other]);
  });

  test('rotate → another secret; revoke → no more secrets, and twice is once', async () => {
    const { merchant } = await organisationWithMerchant();
    const { password } = await json(`user add leaver --merchant ${merchant}`);
    const rotated = await json('user rotate leaver');
    expect(rotated).toMatchObject({ username: 'leaver', merchant, revoked: false });
    expect(rotated.password).toMatch(/^[\w-]{22,}$/);
    expect(rotated.password).not.toBe(password);
    expect(await text('user rotate leaver')).toMatch(/^The secret of leaver is shown only now: [\w-]{22,}$/);
    const revoked = await json('user revoke leaver');
    expect(revoked).toMatchObject({ username: 'leaver', revoked: true });
    expect(revoked).not.toHaveProperty('password');
    expect(await text('user revoke leaver')).toBe('User leaver is revoked.');
    expect(await refusal('user rotate leaver')).toBe('the user leaver is revoked');
  });

  test('add, a name that is taken → one line, and the user stays as it is', async () => {
    const { merchant } = await organisationWithMerchant();
    await json(`user add taken --merchant ${merchant}`);
    expect(await refusal(`user add taken --merchant ${merchant}`)).toBe('the user taken exists already');
  });

  test('add or grant across organisations → one line, and nothing is added', async () => {
    const { organisation, merchant } = await organisationWithMerchant();
    const { merchant: foreign } = await organisationWithMerchant();
    const expected = `there is no merchant ${foreign} in organisation ${organisation}`;
    expect(await refusal(`user add crossing --merchant ${merchant} --grant ${foreign}`)).toBe(expected);
    const users = await json('user list');
    expect(users.map((user: { username: string }) => user.username)).not.toContain('crossing');
    await json(`user add staying --merchant ${merchant}`);
    expect(await refusal(`user grant staying ${foreign}`)).toBe(expected);
  });

  test.each([
    ['user add someone --merchant 2147483647', /^there is no merchant 2147483647$/],
    ["user add 'two words' --merchant 1", /^a user name takes 1 to 64 letters/],
    ['user add someone', /^required option '--merchant <id>' not specified /],
    ['user add someone --merchant 1 --grant x', /'x' is invalid/],
    ['user grant nobody 1', /^there is no user nobody$/],
    ['user grant nobody', /^missing required argument 'merchant' /],
    ['user rotate nobody', /^there is no user nobody$/],
    ['user revoke nobody', /^there is no user nobody$/],
  ])('%s → one line, exit code 1', async (line, expected) => {
    expect(await refusal(line)).toMatch(expected);
  });
});

describe.concurrent('migrate', () => {
  test('a new database → the schema, once; before that, other commands say what to do', async () => {
    const name = `tollgate_test_${process.pid}_empty`;
    await administer(inject('adminUrl'), `CREATE DATABASE ${name}`);
    const url = databaseUrl(inject('adminUrl'), name);
    try {
      expect(await tollgate('user list', url)).toMatchObject({
        code: 1,
        stderr: 'tollgate: the schema of this database is not current; run `tollgate migrate` first\n',
      });
      const first = await tollgate('migrate --json', url);
      expect(JSON.parse(first.stdout)).toEqual({ applied: expect.arrayContaining(['0001_gateway.sql']) });
      expect((await tollgate('migrate --json', url)).stdout).toBe('{"applied":[]}\n');
      expect((await tollgate('migrate', url)).stdout).toBe('The schema is current.\n');
      expect((await tollgate('user list', url)).stdout).toBe('None.\n');
    } finally {
      await administer(inject('adminUrl'), `DROP DATABASE ${name}`);
    }
  });

  test('a database of a later release → one line, and nothing is changed', async () => {
    const later = await testDatabase();
    await administer(later.url, `INSERT INTO schema_migration VALUES (9999, '9999_later.sql', 'x')`);
    for (const command of ['migrate', 'serve']) {
      expect(await tollgate(command, later.url)).toMatchObject({
        code: 1,
        stderr: 'tollgate: the database has schema version 9999, which this release does not know\n',
      });
    }
    await later.drop();
  });
});

describe.concurrent('tollgate itself', () => {
  test.each([
    ['serve', []],
    ['migrate', []],
    ['organisation add', ['<name>']],
    ['organisation list', []],
    ['merchant add', ['<name>', '--organisation <id>', '--vault', '--preauthorisation-days <days>']],
    ['merchant list', ['--organisation <id>']],
    ['merchant set', ['<id>', '--vault', '--no-vault', '--name <name>', '--preauthorisation-days <days>']],
    ['user add', ['<username>', '--merchant <id>', '--grant <id>']],
    ['user list', []],
    ['user grant', ['<username>', '<merchant>']],
    ['user rotate', ['<username>']],
    ['user revoke', ['<username>']],
    ['clock show', []],
    ['clock advance', ['<duration>', '3d']],
  ])('%s --help → what it takes, and --json', async (command, words) => {
    const help = await text(`${command} --help`);
    expect(help).toMatch(new RegExp(`^Usage: tollgate ${command} \\[options\\]`));
    for (const word of [...words, '--json']) expect(help).toContain(word);
  });

  test('--help → every command, and where the settings are; without a command the same on stderr, exit code 1', async () => {
    const help = await text('--help');
    for (const word of ['serve', 'migrate', 'organisation', 'merchant', 'user', 'clock', 'DATABASE_URL']) {
      expect(help).toContain(word);
    }
    expect(await tollgate('')).toMatchObject({ code: 1, stdout: '', stderr: `${help}\n` });
    const ofUser = await text('user --help');
    expect(await tollgate('user')).toMatchObject({ code: 1, stdout: '', stderr: `${ofUser}\n` });
  });

  test('an unknown command → one line, exit code 1, and as JSON if asked for', async () => {
    expect(await refusal('pay')).toBe("unknown command 'pay' (tollgate --help shows the commands)");
    expect(await refusal('user ad')).toMatch(/^unknown command 'ad' \(Did you mean add\?\) /);
    const { code, stdout, stderr } = await tollgate('user rotate nobody --json');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe('{"error":"there is no user nobody"}\n');
    expect(JSON.parse((await tollgate('pay --json')).stderr)).toEqual({
      error: expect.stringMatching(/^unknown command 'pay'/),
    });
  });

  test('npx tollgate inside the checkout → this very program', async () => {
    const { code, stdout } = await start(['tollgate', '--version'], {}, 'npx').ended;
    expect(code).toBe(0);
    expect(stdout).toBe((await tollgate('--version')).stdout);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('a database that cannot be used → one line that names the setting, from every command', async () => {
    const url = new URL('/nowhere', database.url).href;
    for (const command of ['migrate', 'user list', 'clock show']) {
      const { code, stderr } = await tollgate(command, url);
      expect(code).toBe(1);
      expect(stderr).toBe(
        'tollgate: DATABASE_URL: the database cannot be used (database "nowhere" does not exist)\n',
      );
    }
  });
});
