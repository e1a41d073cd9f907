// The operator's commands, as an operator or a script runs them: on a database of their own, while no gateway runs.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addOrganisation } from '../../src/organisations/organisations.js';
import type { Database } from '../../src/postgres/database.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { administer, databaseUrl } from '../../testkit/database-server.js';
import { databaseName, type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory, type Ended, run, start } from '../../testkit/gateway-process.js';
import { PROJECT_ROOT } from '../../testkit/project.js';

let database: TestDatabase;
let connection: Database;
let dataDir: string;
beforeAll(async () => {
  database = await testDatabase();
  dataDir = await dataDirectory();
  connection = operatorsDatabase({ databaseUrl: database.url, dataDir }, 2);
});
afterAll(async () => {
  await connection.close();
  await database.drop();
});

const on = (DATABASE_URL: string) => ({ DATABASE_URL, TOLLGATE_DATA_DIR: dataDir, TOLLGATE_PORT: '0' });
const tollgate = (line: string, url = database.url): Promise<Ended> => runHere(wordsOf(line), on(url));
const { json, text, refusal } = commands((line) => tollgate(line));
const inAProcess = commands((line) => run(wordsOf(line), on(database.url)));

/** Made without commands, which take their time: an organisation with so many merchants. */
async function organisationWith(merchants: number): Promise<{ organisation: number; ids: number[] }> {
  const { id: organisation } = await addOrganisation(connection, 'operator:test', 'Ours');
  const ids: number[] = [];
  for (let number = 1; number <= merchants; number += 1) {
    ids.push((await addMerchant(connection, 'operator:test', organisation, `Shop ${number}`)).id);
  }
  return { organisation, ids };
}

describe.concurrent('organisation', () => {
  test('add → prints its id and name only; list → prints every one with id and name', async () => {
    const { json, text } = inAProcess;
    const added = await json("organisation add 'Harbour Stores'");
    expect(added).toEqual({ id: expect.any(Number), name: 'Harbour Stores' });
    expect(await text('organisation add Second')).toMatch(/^Organisation \d+ \(Second\) added\.$/);
    expect(await json('organisation list')).toContainEqual({
      ...added,
      host_name: null,
      residence: 'here',
      moved_to: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    const table = new RegExp(
      `^id +name +created_at +host_name +residence +moved_to\n(.+\n)*${added.id} +Harbour Stores +\\d{4}-`,
    );
    expect(await text('organisation list')).toMatch(table);
  });

  test.each([
    ["organisation add ''", /^a name takes 1 to 60 characters/],
    ["organisation add 'Card 4111111111111111'", /no card number$/],
    ['organisation add', /^missing required argument 'name' /],
  ])('%s → one line, exit code 1', async (line, expected) => {
    expect(await refusal(line)).toMatch(expected);
  });
});

describe.concurrent('merchant', () => {
  test('add → prints its id, organisation and settings; with the vault only if asked for', async () => {
    const { organisation } = await organisationWith(0);
    expect(await json(`merchant add 'Corner Shop' --organisation ${organisation}`)).toEqual({
      id: expect.any(Number),
      organisation,
      name: 'Corner Shop',
      mode: 'test',
      vault: false,
      preauthorisation_days: 7,
      card_days: 120,
      acquirer: 'simulator',
    });
    const vaulted = `merchant add Vaulted --organisation ${organisation} --vault --preauthorisation-days 30 --card-days 60`;
    expect(await json(vaulted)).toMatchObject({ vault: true, preauthorisation_days: 30, card_days: 60 });
    expect(await text(`merchant add Third --organisation ${organisation}`)).toMatch(
      /^Merchant \d+ \(Third\) added, test\.$/,
    );
  });

  test('add --live → live, without an acquirer; set has no option to change that', async () => {
    const { organisation } = await organisationWith(0);
    const added = await json(`merchant add Live --organisation ${organisation} --live`);
    expect(added).toMatchObject({ mode: 'live', acquirer: null });
    expect(await text(`merchant list --organisation ${organisation}`)).toMatch(/ Live +live +no +7 +120$/);
    for (const option of ['--live', '--test', '--mode test']) {
      expect(await refusal(`merchant set ${added.id} ${option}`)).toMatch(/^unknown option '--\w+' /);
    }
  });

  test('list → every merchant, or those of one organisation', async () => {
    const { organisation, ids } = await organisationWith(2);
    const other = await organisationWith(1);
    const listed = (await json('merchant list')).map((each: { id: number }) => each.id);
    expect(listed).toEqual(expect.arrayContaining([...ids, ...other.ids]));
    const table = await text(`merchant list --organisation ${organisation}`);
    expect(table.split('\n')).toEqual([
      expect.stringMatching(
        /^id +organisation +name +mode +vault +preauthorisation_days +card_days +acquirer$/,
      ),
      expect.stringMatching(new RegExp(`^${ids[0]} +${organisation} +Shop 1 +test +no +7 +120 +simulator$`)),
      expect.stringMatching(new RegExp(`^${ids[1]} +${organisation} +Shop 2 +test +no +7 +120 +simulator$`)),
    ]);
    expect(await text('merchant list --organisation 2147483647')).toBe('None.');
  });

  test('set → changes what is given and nothing else', async () => {
    const [id] = (await organisationWith(1)).ids;
    expect(await text(`merchant set ${id} --vault`)).toBe(`Merchant ${id} (Shop 1) has the vault.`);
    expect(
      await json(`merchant set ${id} --name Store --preauthorisation-days 14 --card-days 30`),
    ).toMatchObject({
      name: 'Store',
      vault: true,
      preauthorisation_days: 14,
      card_days: 30,
    });
    expect(await json(`merchant set ${id} --no-vault`)).toMatchObject({
      name: 'Store',
      vault: false,
      preauthorisation_days: 14,
      card_days: 30,
    });
  });

  test.each([
    ['merchant add Shop --organisation 2147483647', /^there is no organisation 2147483647$/],
    ['merchant add Shop', /^required option '--organisation <id>' not specified /],
    [
      'merchant add Shop --organisation one',
      /'one' is invalid. It must be a whole number from 1 to 2147483647\. /,
    ],
    ['merchant set 2147483647 --vault', /^there is no merchant 2147483647$/],
    ['merchant set 1 --safe', /^unknown option '--safe' /],
  ])('%s → one line, exit code 1', async (line, expected) => {
    expect(await refusal(line)).toMatch(expected);
  });
});

test.concurrent('surcharge set for a live merchant → shows what the schemes may forbid, and asks for --i-may', async () => {
  const { organisation } = await organisationWith(0);
  const { id } = await addMerchant(connection, 'operator:test', organisation, 'Live', { live: true });
  const line = `surcharge set --merchant ${id} --default 1.5 --card amex=2.9`;
  expect(await refusal(line)).toBe(
    'since 1 October 2026 eftpos, Visa and Mastercard may forbid surcharges in Australia (here: default); if this merchant may all the same, say so with --i-may',
  );
  expect(await json(`${line} --i-may`)).toHaveLength(2);
});

describe.concurrent('migrate', () => {
  test('a new database → creates the schema, once; before that, other commands say what to do', async () => {
    const name = databaseName('empty');
    await administer(inject('adminUrl'), `CREATE DATABASE ${name}`);
    const url = databaseUrl(inject('adminUrl'), name);
    try {
      expect(await tollgate('user list', url)).toMatchObject({
        code: 1,
        stderr: 'tollgate: the schema of this database is not current; run `tollgate migrate` first\n',
      });
      const first = await tollgate('migrate --json', url);
      expect(JSON.parse(first.stdout)).toEqual({ version: expect.any(Number), applied: ['schema'] });
      expect((await tollgate('migrate --json', url)).stdout).toMatch(/^\{"version":\d+,"applied":\[\]\}\n$/);
      expect((await tollgate('migrate', url)).stdout).toMatch(/^The schema is current, version \d+\.\n$/);
    } finally {
      await administer(inject('adminUrl'), `DROP DATABASE ${name}`);
    }
  });

  test('a database of a later release → one line, and nothing is changed', async () => {
    const later = await testDatabase();
    await administer(later.url, `INSERT INTO schema_migration VALUES (9999, '9999_later.sql', 'x')`);
    // A gateway would go on in this process, if it were not refused.
    const ended = [await tollgate('migrate', later.url), await run(['serve'], on(later.url))];
    for (const one of ended) {
      expect(one).toMatchObject({
        code: 1,
        stderr: 'tollgate: the database has schema version 9999, which this release does not know\n',
      });
    }
    await later.drop();
  });
});

describe.concurrent('tollgate itself', () => {
  test.each([
    ['merchant set', ['<id>', '--vault', '--no-vault', '--name <name>', '--preauthorisation-days <days>']],
    ['user add', ['<username>', '--merchant <id>', '--grant <id>']],
    ['clock advance', ['<duration>', '3d']],
  ])('%s --help → lists its arguments and options, and --json', async (command, words) => {
    const help = await text(`${command} --help`);
    expect(help).toMatch(new RegExp(`^Usage: tollgate ${command} \\[options\\]`));
    for (const word of [...words, '--json']) expect(help).toContain(word);
  });

  test('--help → lists every command and where the settings are; no command → the same on stderr, exit code 1', async () => {
    const help = await text('--help');
    for (const word of ['serve', 'migrate', 'organisation', 'merchant', 'user', 'clock', 'DATABASE_URL']) {
      expect(help).toContain(word);
    }
    expect(await tollgate('')).toMatchObject({ code: 1, stdout: '', stderr: `${help}\n` });
  });

  test('an unknown command → one line, exit code 1, and JSON with --json', async () => {
    expect(await refusal('pay')).toBe("unknown command 'pay' (tollgate --help shows the commands)");
    expect(JSON.parse((await tollgate('user ad --json')).stderr)).toEqual({
      error: expect.stringMatching(/^unknown command 'ad' \(Did you mean add\?\) /),
    });
    const { code, stdout, stderr } = await tollgate('user rotate nobody --json');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe('{"error":"there is no user nobody"}\n');
  });

  test('npx tollgate inside the checkout → runs this program', async () => {
    // A run of somebody else's that was killed leaves something in the usual place at which npx stumbles.
    const ownCache = { npm_config_cache: await dataDirectory() };
    // It is built already: npx would build it anew under those who are running it.
    const asBuilt = { ...ownCache, npm_config_ignore_scripts: 'true' };
    const { code, stdout } = await start(['tollgate', '--version'], asBuilt, { command: 'npx' }).ended;
    expect(code).toBe(0);
    const { version } = JSON.parse(await readFile(join(PROJECT_ROOT, 'package.json'), 'utf8'));
    expect(stdout).toBe(`${version}\n`);
  });

  test('a database that cannot be used → one line that names the setting', async () => {
    const { code, stderr } = await tollgate('user list', new URL('/nowhere', database.url).href);
    expect(code).toBe(1);
    expect(stderr).toBe(
      'tollgate: DATABASE_URL: the database cannot be used (database "nowhere" does not exist)\n',
    );
  });
});
