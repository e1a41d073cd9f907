// Search fences over time: when they are forgotten, and what a process may promise that others have given up.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refusalOf } from '../../../src/api/refusals.js';
import { SearchFence } from '../../../src/payments/finding/search-fence.js';
import { FORGET_FENCES } from '../../../src/payments/finding/search-fence.sql.js';
import { Database } from '../../../src/postgres/database.js';
import type { MerchantId, OrganisationId } from '../../../src/values/ids.js';
import type { Answer } from '../../../testkit/client.js';
import { type Connection, connect, purchaseText, statusesOf } from '../../../testkit/connection.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';

const PATIENT = { ACQUIRER_DEADLINE_MS: '60000' };

let one: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  one = await testGateway({ settings: PATIENT });
  other = await testGateway({ settings: PATIENT, shareWith: one });
});
afterAll(async () => {
  await other.close();
  await one.close();
});

const NOTHING = { results: [] };

/** A purchase of which the last part of the body is missing. It has been received when this returns. */
async function halfSent(gateway: TestGateway, id: string): Promise<Connection & { sendTheRest(): void }> {
  const connection = await connect(gateway);
  const text = purchaseText(gateway, id);
  connection.socket.write(text.slice(0, -20));
  // Whatever came before it on another connection has been answered, so it has been read.
  await gateway.api.get('/transactions/1');
  return { ...connection, sendTheRest: () => void connection.socket.write(text.slice(-20)) };
}

async function until(status: number, send: () => Promise<Answer>): Promise<void> {
  await expect.poll(async () => (await send()).status, { timeout: 300_000, interval: 200 }).toBe(status);
}

test('a request older than the deleted fences → not processed', async () => {
  const { sendTheRest, closed } = await halfSent(one, 'forgotten');
  expect((await other.api.search('forgotten')).body).toEqual(NOTHING);
  await one.sql('UPDATE gateway SET forgotten_absence = newest_absence');
  await one.sql('DELETE FROM absence');
  sendTheRest();
  expect(statusesOf(await closed)).toEqual([503]);
  await until(201, () => one.api.purchase({ correlationId: 'forgotten' }));
});

test('old fences that every process has passed → deleted, and later requests are processed', async () => {
  const database = new Database(one.databaseUrl, { maxConnections: 1 });
  expect((await one.api.search('of-old')).body).toEqual(NOTHING);
  await one.sql(`UPDATE absence SET made_at = now() - interval '11 minutes'`);
  await expect
    .poll(
      async () => {
        await database.query(FORGET_FENCES);
        return one.sql(`SELECT FROM absence WHERE correlation_id = 'of-old'`);
      },
      { timeout: 300_000, interval: 100 },
    )
    .toEqual([]);
  await database.close();
  await until(201, () => other.api.purchase({ correlationId: 'of-old' }));
});

test('a process that was declared dead and returns under another name → still honours the fence for what it had received', async () => {
  const names = async () =>
    (await one.sql<{ id: number }>('SELECT id FROM process ORDER BY id')).map(({ id }) => id);
  const before = await names();
  const { sendTheRest, closed } = await halfSent(one, 'renamed');
  await one.sql('DELETE FROM process');
  await expect.poll(async () => (await names()).length).toBe(2);
  expect(await names()).not.toEqual(before);
  expect((await other.api.search('renamed')).body).toEqual(NOTHING);
  sendTheRest();
  expect(statusesOf(await closed)).toEqual([503]);
  expect((await one.api.search('renamed')).body).toEqual(NOTHING);
  await until(201, () => one.api.purchase({ correlationId: 'renamed' }));
});

test('a search in a process that others may have declared dead → no definite answer', async () => {
  const database = new Database(one.databaseUrl, { maxConnections: 1 });
  const fence = new SearchFence({
    database,
    process: { id: 1, alive: false },
    forgotten: 0,
    newest: 0,
    backlog: 0,
  });
  const key = { organisationId: 1 as OrganisationId, merchantId: 1 as MerchantId, correlationId: 'given-up' };
  const nothing = async () => undefined;
  const ending = fence
    .findOrFence(key, { look: nothing, prove: nothing })
    .catch((error: unknown) => refusalOf(error, false));
  expect(await ending).toMatchObject({ status: 503 });
  await database.close();
});
