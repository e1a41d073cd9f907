// A gateway killed while a payment is rerouted: its successor asks the stored link, and no other.
import { beforeAll, expect, test } from 'vitest';
import { addAcquirer } from '../../src/acquirers/acquirer-tasks.js';
import { setMerchant } from '../../src/organisations/merchants.js';
import { setRoute } from '../../src/organisations/routing/route-tasks.js';
import { EnvironmentKeys } from '../../src/vault/keys/local-keys.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { type Installation, installation, outcomeOf } from '../../testkit/cloned-installation.js';
import { dataDirectory } from '../../testkit/gateway-process.js';
import { AS2805 } from '../../testkit/iso8583-host/dialects.js';
import { Host } from '../../testkit/iso8583-host/host.js';
import { heard } from '../organisations/routed-shops.js';

const OPERATOR = 'operator:test';

let shared: Installation;
let down: Host;
let up: Host;
const stored = new Map<string, string>();
beforeAll(async () => {
  shared = await installation();
  const folder = await dataDirectory();
  down = await Host.open({ dialect: AS2805, ledgerPath: `${folder}/down` });
  up = await Host.open({ dialect: AS2805, ledgerPath: `${folder}/up` });
  await down.stopListening();
  const database = operatorsDatabase(shared);
  const provider = new EnvironmentKeys(Buffer.alloc(32, 1).toString('base64'));
  for (const [name, { port }] of Object.entries({ down, up }))
    await addAcquirer(database, OPERATOR, provider, { name, address: `127.0.0.1:${port}`, test: true });
  await setMerchant(database, OPERATOR, 1, { acceptorId: 'SHOP', terminals: ['T1'] });
  await setRoute(database, OPERATOR, 1, { acquirer: 'down', order: 1 });
  await setRoute(database, OPERATOR, 1, { acquirer: 'up', order: 2 });
  await database.close();
  for (const point of ['claimed', 'rerouted', 'answered']) {
    const doomed = await shared.start({ CRASH_AT: point });
    await expect(doomed.api.purchase({ correlationId: point })).rejects.toThrow();
    expect((await doomed.ended).signal).toBe('SIGKILL');
    const [row] = await shared.sql<{ acquirer: string }>(
      'SELECT acquirer FROM transaction WHERE correlation_id = $1',
      [point],
    );
    stored.set(point, row?.acquirer ?? 'nothing');
  }
});

const about = (host: Host, mti: string) => heard(host).filter((message) => message.startsWith(mti)).length;

// catches(routes: the other link is stored before it is asked, killed between) slow, processes
test('killed → the stored link is the one it may have been sent over', () => {
  expect(Object.fromEntries(stored)).toEqual({ claimed: 'down', rerouted: 'up', answered: 'up' });
  // Only the last one was asked.
  expect([about(up, '0200'), about(down, '0200')]).toEqual([1, 0]);
});

test('another process → asks that link: reversed there, never over the other', async () => {
  const { api } = await shared.start();
  for (const point of ['rerouted', 'answered']) {
    expect((await outcomeOf(api, point)).status).toMatchObject({
      gateway_status_code: 2,
      transaction_status_code: 'error',
    });
  }
  expect([about(up, '0420'), about(down, '0420')]).toEqual([2, 0]);
  const [row] = await shared.sql(`SELECT status FROM transaction WHERE correlation_id = 'claimed'`);
  // Its link is not open yet.
  expect(row).toEqual({ status: 'unknown' });
  await down.listen();
  expect((await outcomeOf(api, 'claimed')).status).toMatchObject({ gateway_status_code: 2 });
  expect([about(up, '0420'), about(down, '0420')]).toEqual([2, 1]);
  const positions = [...up.books.positions().values(), ...down.books.positions().values()];
  expect(positions.filter((position) => position.includes('charged'))).toEqual([]);
  await Promise.all([up.close(), down.close()]);
});
