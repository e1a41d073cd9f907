// The gateway's clock, moved by the operator while two gateways run.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, testGateway } from '../support/gateway.js';
import { type Ended, run } from '../support/process.js';

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
  return run(['clock', ...args], { DATABASE_URL: gateway.databaseUrl });
}

async function aheadMs(of: TestGateway): Promise<number> {
  const { audit } = (await of.api.purchase()).body;
  return Date.parse((await of.api.lookUp(audit)).body.gateway_timestamp) - Date.now();
}

test('clock show, not advanced → Sydney’s time, nought ahead', async () => {
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
  ['4000d', /^tollgate: the clock can be at most ten years ahead, and never goes back\n$/],
])('clock advance %s → one line, exit code 1, and the clock stays', async (duration, line) => {
  const before = (await gateway.sql<{ advanced_ms: number }>('SELECT advanced_ms FROM gateway'))[0];
  const { code, stdout, stderr } = await clock('advance', duration);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(line);
  expect(stderr.split('\n')).toHaveLength(2);
  expect((await gateway.sql('SELECT advanced_ms FROM gateway'))[0]).toEqual(before);
});

test('clock advance, a merchant has an acquirer that is not simulated → refused, and the clock stays', async () => {
  await gateway.sql(`UPDATE merchant SET acquirer = 'a-real-bank' WHERE id = 4`);
  const before = (await gateway.sql('SELECT advanced_ms FROM gateway'))[0];
  const { code, stdout, stderr } = await clock('advance', '1d');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(
    'tollgate: the clock can be moved only where every acquirer is simulated, not with a-real-bank\n',
  );
  expect((await gateway.sql('SELECT advanced_ms FROM gateway'))[0]).toEqual(before);
  expect((await clock('show')).code).toBe(0);
});
