// Links that operators have added: a process opens new and changed ones, and drops removed ones.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { addAcquirer, removeAcquirer, setAcquirer } from '../../src/acquirers/acquirer-tasks.js';
import {
  type AcquirerRow,
  ConfiguredLinks,
  readAcquirer,
  sealedAcquirer,
} from '../../src/acquirers/configured.js';
import { AcquirerLinks } from '../../src/acquirers/links.js';
import { journal } from '../../src/journal/journal.js';
import { StoredAcceptors } from '../../src/organisations/acceptors.js';
import type { Database, Queryable } from '../../src/postgres/database.js';
import { EnvironmentKeys } from '../../src/vault/keys/local-keys.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';

const OPERATOR = 'operator:test';
const MAC_KEY = '0123456789ABCDEFFEDCBA9876543210';
/** Nothing listens there: these tests are not about opening links. */
const ADDRESS = '127.0.0.1:1';
const keysOf = (byte: number) => new EnvironmentKeys(Buffer.alloc(32, byte).toString('base64'));

let own: TestDatabase;
let database: Database;
const made: AcquirerLinks[] = [];
beforeAll(async () => {
  own = await testDatabase();
  database = operatorsDatabase({ databaseUrl: own.url, dataDir: await dataDirectory() }, 3);
});
afterEach(() => Promise.all(made.splice(0).map((links) => links.close())));
afterAll(async () => {
  await database.close();
  await own.drop();
});

/** A process, and its reports to the operator. */
function follower(provider = keysOf(1)) {
  const told: string[] = [];
  const links = new AcquirerLinks([], {
    patienceMs: 1_000,
    firstPauseMs: 60_000,
    longestPauseMs: 60_000,
    onRefused: () => {},
    onOpened: () => {},
  });
  made.push(links);
  const configured = new ConfiguredLinks({
    vital: database,
    others: database,
    looks: database,
    provider,
    acceptors: new StoredAcceptors(database),
    inProduction: false,
    onConnectionEvent: () => {},
    onAlarm: () => {},
    onApprovedAfterReversal: () => {},
    onUnmade: (link, reason) => told.push(`${link}: ${(reason as Error).message}`),
  });
  const follow = async () => (await configured.follow(links)).opened;
  return { links, told, follow };
}

const add = (name: string, macKeys?: string, within: Queryable = database) =>
  addAcquirer(within, OPERATOR, keysOf(1), { name, address: ADDRESS, test: true, macKeys });

test('added, changed, removed and added again → a new link each time; unchanged → the same link', async () => {
  const { links, follow } = follower();
  await follow();
  expect([links.known('bank'), links.prepares]).toEqual([undefined, false]);
  await add('bank');
  await follow();
  const first = links.known('bank');
  expect([first?.name, first?.mode, links.prepares]).toEqual(['bank', 'test', true]);
  await follow();
  expect(links.known('bank')).toBe(first);
  await setAcquirer(database, OPERATOR, keysOf(1), 'bank', { connections: 3 });
  await follow();
  const second = links.known('bank');
  expect(second).not.toBe(first);
  await removeAcquirer(database, OPERATOR, 'bank');
  await add('bank');
  await follow();
  expect(links.known('bank')).not.toBe(second);
  await removeAcquirer(database, OPERATOR, 'bank');
  await follow();
  expect([links.known('bank'), links.prepares]).toEqual([undefined, false]);
});

test('MAC keys under another key-encryption key, or a dialect of a later version → logged once; repaired → the link opens', async () => {
  await add('sealed', MAC_KEY);
  // As a later release seals it.
  await database.transaction(async (connection) => {
    await add('later', undefined, connection);
    await connection.query({ name: '', text: `UPDATE acquirer SET dialect = 'later' WHERE name = 'later'` });
    const row = (await readAcquirer(connection, 'later')) as AcquirerRow;
    await journal(connection, { actor: OPERATOR, action: 'acquirer.changed' }, sealedAcquirer(row));
  });
  const { links, told, follow } = follower(keysOf(2));
  await follow();
  await follow();
  expect(told.sort()).toEqual([
    'later: there is no dialect later in this version',
    expect.stringMatching(/^sealed: the key-encryption key .* is not the one/),
  ]);
  expect([links.known('sealed'), links.known('later')]).toEqual([undefined, undefined]);
  await setAcquirer(database, OPERATOR, keysOf(2), 'sealed', { macKeys: null });
  await setAcquirer(database, OPERATOR, keysOf(2), 'later', { dialect: 'ascii87' });
  await follow();
  expect([links.known('sealed')?.name, links.known('later')?.name]).toEqual(['sealed', 'later']);
});
