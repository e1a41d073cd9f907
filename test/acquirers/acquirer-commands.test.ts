// `tollgate acquirer`, and what `tollgate merchant` says of acquirers, as an operator runs them: on a database of their own.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AS2805 } from '../../src/acquirers/iso8583/dialects/as2805.js';
import { RetailMac } from '../../src/acquirers/iso8583/wire/mac.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addOrganisation } from '../../src/organisations/organisations.js';
import type { Database } from '../../src/postgres/database.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';
import { CERTIFICATE } from '../webhooks/certificate.js';
import { answering, ScriptedHost } from './iso8583/scripted-host.js';

const KEY = '0123456789ABCDEFFEDCBA9876543210';
const OTHER_KEY = '7CA110454A1A6E570131D9619DC1376E';

let database: TestDatabase;
let connection: Database;
let folder: string;
let host: ScriptedHost;
let shop: number;
let live: number;
beforeAll(async () => {
  database = await testDatabase();
  folder = await dataDirectory();
  connection = operatorsDatabase({ databaseUrl: database.url, dataDir: folder }, 2);
  host = await new ScriptedHost(AS2805, new RetailMac(Buffer.from(KEY, 'hex'))).listen();
  const { id } = await addOrganisation(connection, 'operator:test', 'Ours');
  shop = (await addMerchant(connection, 'operator:test', id, 'Shop')).id;
  live = (await addMerchant(connection, 'operator:test', id, 'Live', { live: true })).id;
  await writeFile(join(folder, 'mac.key'), `${KEY}\n`);
  await writeFile(join(folder, 'two.key'), `${KEY}\n${OTHER_KEY}\n`);
  await writeFile(join(folder, 'no.key'), `${KEY.slice(2)}\n`);
  await json(
    `acquirer add bank --kind iso8583 --address 127.0.0.1:${host.port} --test --mac-key-file ${folder}/mac.key`,
  );
});
afterAll(async () => {
  await host.stop();
  await connection.close();
  await database.drop();
});

const { json, text, refusal } = commands((line) =>
  runHere(wordsOf(line), { DATABASE_URL: database.url, TOLLGATE_DATA_DIR: folder }),
);

async function journalled(action: string): Promise<string[]> {
  const { rows } = await connection.query<{ detail: string }>(
    { name: '', text: 'SELECT detail FROM journal WHERE action = $1 ORDER BY id' },
    [action],
  );
  return rows.map(({ detail }) => detail);
}

describe('acquirer', () => {
  test('add, list, show, set and remove → each does what it says, is journalled, and never shows a key', async () => {
    const options = '--dialect ascii87 --connections 4 --institution 560279 --deadline 5000 --tls';
    const added = await json(
      `acquirer add other --kind iso8583 --address [::1]:5001 ${options} --mac-key-file ${folder}/two.key`,
    );
    expect(added).toEqual({
      name: 'other',
      kind: 'iso8583',
      mode: 'live',
      address: '[::1]:5001',
      tls: true,
      dialect: 'ascii87',
      connections: 4,
      institution: '560279',
      deadline_ms: 5_000,
      mac: true,
    });
    const noGateway = { condition: 'no_gateway', since: null, reason: null };
    expect(await json('acquirer list')).toContainEqual({
      ...added,
      gateways: 0,
      gateways_signed_on: 0,
      gateways_failing: 0,
      ...noGateway,
    });
    expect(await json('acquirer show other')).toEqual({
      ...added,
      ...noGateway,
      sending_key_check_value: '08D7B4',
      receiving_key_check_value: expect.stringMatching(/^[0-9A-F]{6}$/),
      own_certificates: false,
      merchants: [],
      gateways: [],
      routed_merchants: [],
    });
    expect(await text('acquirer show other')).toMatch(/\n\nNo gateway runs\.$/);
    const changed = await json(
      'acquirer set other --address host.example:6001 --no-tls --no-mac --connections 2',
    );
    expect(changed).toEqual({
      ...added,
      address: 'host.example:6001',
      tls: false,
      mac: false,
      connections: 2,
    });
    expect(await json('acquirer set other --deadline 900')).toEqual({ ...changed, deadline_ms: 900 });
    expect(await text('acquirer remove other')).toBe('Acquirer other removed.');
    expect(await refusal('acquirer show other')).toBe('there is no acquirer other');
    expect(await journalled('acquirer.added')).toContain('other: live, [::1]:5001, ascii87, TLS, MAC');
    expect(await journalled('acquirer.changed')).toContain('other: live, host.example:6001, ascii87');
    expect(await journalled('acquirer.removed')).toEqual(['other: live, host.example:6001, ascii87']);
  });

  test('the institution and the certificates → can be set, and removed again', async () => {
    await writeFile(join(folder, 'ca.pem'), CERTIFICATE);
    await json(`acquirer set bank --institution 560279 --tls --tls-ca-file ${folder}/ca.pem`);
    expect(await json('acquirer show bank')).toMatchObject({ institution: '560279', own_certificates: true });
    await json('acquirer set bank --deadline 2000');
    expect(await json('acquirer show bank')).toMatchObject({ institution: '560279', own_certificates: true });
    await json('acquirer set bank --no-institution --no-tls --no-tls-ca-file');
    expect(await json('acquirer show bank')).toMatchObject({ institution: null, own_certificates: false });
  });

  test('other MAC keys → the journal has who changed them and where, not the keys', async () => {
    await json(`acquirer set bank --mac-key-file ${folder}/mac.key`);
    expect(await journalled('acquirer.changed')).toContain(
      `bank: test, 127.0.0.1:${host.port}, as2805, MAC, new MAC keys`,
    );
  });

  test('MAC keys → stored wrapped', async () => {
    const { rows } = await connection.query<{ all: string }>({
      name: '',
      text: `SELECT string_agg(a::text, ' ') AS all FROM acquirer a`,
    });
    expect(rows[0]?.all).toContain('bank');
    expect(rows[0]?.all.toUpperCase()).not.toContain(KEY);
  });

  test('test → signs on, sends an echo and shows how long it took; refused → shows why', async () => {
    expect(await json('acquirer test bank')).toEqual({
      name: 'bank',
      sign_on_ms: expect.any(Number),
      echo_ms: expect.any(Number),
    });
    expect(host.heard.map(({ fields }) => fields.get(70))).toEqual(['001', '301', '002']);
    expect(await journalled('acquirer.tested')).toHaveLength(1);
    host.network = (heard) => answering(heard, '91');
    expect(await refusal('acquirer test bank')).toBe('bank: sign-on failed: the host answered 91');
    host.network = (heard) => answering(heard, '00');
  });

  test.each([
    ['acquirer add bank --kind iso8583 --address a:1', /^the acquirer bank exists already$/],
    ['acquirer add simulator --kind iso8583 --address a:1', /^the name takes 1 to 32 small letters/],
    ['acquirer add x --kind other --address a:1', /It must be iso8583/],
    ['acquirer add x --kind iso8583 --address nowhere', /^--address takes a host and a port/],
    ['acquirer add x --kind iso8583 --address a:70000', /^--address takes a host and a port/],
    [
      'acquirer add x --kind iso8583 --address a:1 --dialect y --institution z',
      /^--dialect takes one of as2805, ascii87; --institution takes/,
    ],
    ['acquirer set bank --connections 33', /whole number from 1 to 32/],
    ['acquirer set nobody --tls', /^there is no acquirer nobody$/],
    ['acquirer set bank --mac-key-file /nowhere', /^\/nowhere cannot be read \(ENOENT\)$/],
  ])('%s → refused in a line that says what to do', async (line, wording) => {
    expect(await refusal(line)).toMatch(wording);
  });

  test('many wrong options → one line names each of them', async () => {
    const files = `--mac-key-file ${folder}/no.key --tls-ca-file ${folder}/mac.key`;
    const wrong = '--address x --dialect y --connections some --deadline 99 --institution A';
    expect((await refusal(`acquirer set bank ${wrong} ${files}`)).split('; ')).toEqual([
      '--address takes a host and a port, such as host.example:5001',
      '--dialect takes one of as2805, ascii87',
      '--connections takes a whole number from 1 to 32',
      '--deadline takes a whole number from 100 to 120000',
      '--institution takes 1 to 11 digits',
      expect.stringMatching(/^--mac-key-file: MAC keys are 32 hexadecimal digits/),
      '--tls-ca-file takes certificates in PEM',
    ]);
  });

  test('an invalid MAC key → refused, and not shown', async () => {
    const refused = await refusal(`acquirer set bank --mac-key-file ${folder}/no.key`);
    expect(refused).toMatch(/^--mac-key-file: MAC keys are 32 hexadecimal digits/);
    expect(refused).not.toContain(KEY.slice(2));
  });
});

describe('the acquirer of a merchant', () => {
  test('set → stores the acquirer’s IDs; they are shown and journalled, and the acquirer cannot be removed meanwhile', async () => {
    const line = `merchant set ${shop} --acquirer bank --acceptor-id SHOP --terminals T1,T2 --category-code 5999`;
    expect(await json(line)).toMatchObject({
      acquirer: 'bank',
      acceptor_id: 'SHOP',
      terminals: ['T1', 'T2'],
      category_code: '5999',
    });
    expect(await text(`merchant set ${shop} --terminals T3`)).toMatch(/does not have the vault\.$/);
    expect(await json('merchant list')).toContainEqual(
      expect.objectContaining({ id: shop, terminals: ['T3'] }),
    );
    expect(await journalled('merchant.changed')).toContain(
      'test, without vault, cards kept 120 days, bank, SHOP',
    );
    expect(await json('acquirer show bank')).toMatchObject({ merchants: [shop] });
    expect(await refusal('acquirer remove bank')).toMatch(
      new RegExp(`^merchants pay over bank: ${shop}; give them another`),
    );
    expect(await text(`merchant set ${shop} --no-acquirer`)).toMatch(/ It has no acquirer\.$/);
    expect(await text(`merchant set ${shop} --acquirer simulator`)).toMatch(/ It pays over simulator\.$/);
  });

  test.each([
    ['--acquirer nobody', /^there is no acquirer nobody$/],
    ['--acquirer simulated-bank', /^there is no acquirer simulated-bank$/],
    ['--acceptor-id ABCDEFGHIJKLMNOP', /^--acceptor-id takes 1 to 15 characters/],
    [
      '--terminals T1,T1',
      /^--terminals takes IDs of 1 to 8 characters of plain ASCII without spaces, each once$/,
    ],
    ['--terminals TERMINAL9 --category-code 12', /^--terminals takes .*; --category-code takes four digits$/],
  ])('merchant set %s → refused', async (options, wording) => {
    expect(await refusal(`merchant set ${shop} ${options}`)).toMatch(wording);
  });

  test('without terminals, of another mode, or simulated for a live one → refused, and nothing is changed', async () => {
    const { id } = await addMerchant(connection, 'operator:test', 1, 'Bare');
    expect(await refusal(`merchant set ${id} --acquirer bank`)).toMatch(/needs an acceptor ID and terminals/);
    const known = '--acceptor-id LIVE --terminals T1';
    expect(await refusal(`merchant set ${live} --acquirer bank ${known}`)).toMatch(/^bank is a test link/);
    expect(await refusal(`merchant set ${live} --acquirer simulator`)).toMatch(/^simulator is a test link/);
    const { rows } = await connection.query({
      name: '',
      text: `SELECT acquirer, acceptor_id FROM merchant WHERE name = 'Live'`,
    });
    expect(rows).toEqual([{ acquirer: null, acceptor_id: null }]);
  });

  test('add with an acquirer → its payments go over it from the first', async () => {
    const line = `merchant add New --organisation 1 --acquirer bank --acceptor-id NEW --terminals N1`;
    const { id } = await json(line);
    expect(await json('merchant list')).toContainEqual(
      expect.objectContaining({ id, acquirer: 'bank', acceptor_id: 'NEW' }),
    );
    await text(`merchant set ${id} --acquirer simulator`);
  });
});
