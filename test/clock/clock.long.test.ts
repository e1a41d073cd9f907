// The gateway's clock, moved by the operator while two gateways run.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { advanceClock } from '../../src/clock/clock-tasks.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { Database } from '../../src/postgres/database.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { runHere } from '../../testkit/command-here.js';
import { administer } from '../../testkit/database-server.js';
import { addCast, type TestGateway, testDatabase, testGateway } from '../../testkit/gateway.js';
import type { Ended } from '../../testkit/gateway-process.js';

const DAY_MS = 86_400_000;

let gateway: TestGateway;
let second: TestGateway;

beforeAll(async () => {
  gateway = await testGateway();
  second = await testGateway({ shareWith: gateway });
});
afterAll(async () => {
  await second.close();
  await gateway.close();
});

function clock(...args: string[]): Promise<Ended> {
  return runHere(['clock', ...args], {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
  });
}

async function aheadMs(of: TestGateway): Promise<number> {
  const { audit } = (await of.api.purchase()).body;
  return Date.parse((await of.api.lookUp(audit)).body.gateway_timestamp) - Date.now();
}

test('clock show, not advanced → Sydney’s time, zero ahead', async () => {
  const shown = JSON.parse((await clock('show', '--json')).stdout);
  expect(shown).toEqual({
    now: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+\+1[01]:00$/),
    advanced_ms: 0,
  });
  expect((await clock('show')).stdout).toMatch(/^It is \S+ in Sydney, 0 seconds ahead of real time\.\n$/);
});

test('clock advance → every running gateway has the new time when the command returns', async () => {
  expect(await aheadMs(gateway)).toBeLessThan(DAY_MS);
  const advanced = await clock('advance', '3d', '--json');
  for (const each of [gateway, second]) {
    const ahead = await aheadMs(each);
    expect(ahead).toBeGreaterThan(2 * DAY_MS);
    expect(ahead).toBeLessThan(4 * DAY_MS);
  }
  expect(advanced).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(advanced.stdout)).toMatchObject({ advanced_ms: 3 * DAY_MS });
  expect((await clock('advance', '12h')).stdout).toMatch(
    / in Sydney, 302400 seconds ahead of real time\.\n$/,
  );
  expect(JSON.parse((await clock('show', '--json')).stdout).advanced_ms).toBe(3.5 * DAY_MS);
});

test.each([
  ['3', /'3' is invalid for argument 'duration'. It must be a number and a unit/],
  ['1.5h', /'1\.5h' is invalid/],
  ['4000d', /^tollgate: the clock can be at most ten years ahead\n$/],
])('clock advance %s → one line, exit code 1, and the clock stays', async (duration, line) => {
  const before = (await gateway.sql<{ advanced_ms: number }>('SELECT advanced_ms FROM gateway'))[0];
  const { code, stdout, stderr } = await clock('advance', duration);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(line);
  expect(stderr.split('\n')).toHaveLength(2);
  expect((await gateway.sql('SELECT advanced_ms FROM gateway'))[0]).toEqual(before);
});

test('clock advance, a merchant has an acquirer that is not simulated → refused, and the clock stays', async () => {
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'a-real-bank' WHERE id = 4`);
  const before = (await gateway.sql('SELECT advanced_ms FROM gateway'))[0];
  const { code, stdout, stderr } = await clock('advance', '1d');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(
    'tollgate: the clock can be moved only where every acquirer is simulated, not with a-real-bank\n',
  );
  expect((await gateway.sql('SELECT advanced_ms FROM gateway'))[0]).toEqual(before);
  expect((await clock('show')).code).toBe(0);
});

test('clock reset, something is dated ahead → one line that names it, and the clock stays', async () => {
  const before = (await gateway.sql('SELECT advanced_ms FROM gateway'))[0];
  const { code, stdout, stderr } = await clock('reset');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(
    /^tollgate: the clock cannot go back: [1-9]\d* transactions and 0 direct-debit files are dated ahead of real time\. /,
  );
  expect((await gateway.sql('SELECT advanced_ms FROM gateway'))[0]).toEqual(before);
});

test('merchant add --live while the clock is ahead → refused; after clock reset → added; then clock advance → refused', async () => {
  const own = await testGateway();
  const other = await testGateway({ shareWith: own });
  const tollgate = (...args: string[]) =>
    runHere(args, { DATABASE_URL: own.databaseUrl, TOLLGATE_DATA_DIR: own.dataDir });
  const add = ['merchant', 'add', 'Live', '--organisation', '1', '--live'];
  await own.api.purchase();
  await own.advance('7d');
  const refused = await tollgate(...add);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'tollgate: no live merchant can be added while the clock is ahead of real time; `tollgate clock reset` brings it back\n',
  ]);
  const reset = await tollgate('clock', 'reset', '--json');
  expect([reset.code, JSON.parse(reset.stdout).advanced_ms]).toEqual([0, 0]);
  // Every running gateway has gone back with it.
  for (const each of [own, other]) expect(Math.abs(await aheadMs(each))).toBeLessThan(DAY_MS / 2);
  expect((await tollgate(...add)).code).toBe(0);
  const moved = await tollgate('clock', 'advance', '1s');
  expect([moved.code, moved.stderr]).toEqual([
    1,
    'tollgate: the clock cannot be moved while a live merchant exists\n',
  ]);
  expect((await tollgate('clock', 'reset')).code).toBe(0);
  await other.close();
});

test('a process whose clock is still ahead → accepts no live merchant until its clock is right', async () => {
  const own = await testGateway();
  const database = operatorsDatabase(own);
  const add = () => addMerchant(database, 'operator:test', 1, 'Live', { live: true });
  await own.sql('INSERT INTO process (advanced_ms) VALUES (1000)');
  await expect(add()).rejects.toThrow(/has a clock that is ahead; try again in 20 seconds$/);
  await own.sql(`UPDATE process SET seen_at = now() - interval '21 seconds' WHERE advanced_ms = 1000`);
  expect(await add()).toMatchObject({ mode: 'live' });
  await database.close();
});

test('the clock is advanced and a live merchant added at once, many times → never both', async () => {
  const { url, drop } = await testDatabase();
  await addCast(url);
  const [moving, adding] = [1, 2].map(() => new Database(url, { maxConnections: 1 })) as [Database, Database];
  const undone = `ALTER TABLE merchant DISABLE TRIGGER mode_is_kept; UPDATE merchant SET mode = 'test';
    ALTER TABLE merchant ENABLE TRIGGER mode_is_kept; UPDATE gateway SET advanced_ms = 0`;
  for (let round = 0; round < 20; round += 1) {
    const both = await Promise.allSettled([
      advanceClock(moving, 'operator:test', 1_000),
      addMerchant(adding, 'operator:test', 1, 'Live', { live: true }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await administer(url, undone);
  }
  await Promise.all([moving.close(), adding.close()]);
  await drop();
});
