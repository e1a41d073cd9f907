// Which links are signed on: what `/readyz`, the log and the operator's commands say of it, while hosts come and go.
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  addAcquirer,
  listAcquirers,
  setAcquirer,
  showAcquirer,
} from '../../../src/acquirers/acquirer-tasks.js';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import type { Database } from '../../../src/postgres/database.js';
import { FileKeys } from '../../../src/vault/keys/local-keys.js';
import { operatorsDatabase } from '../../../testkit/cast.js';
import { CARD } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { answering, ScriptedHost } from './scripted-host.js';

const PATIENTLY = { timeout: 300_000, interval: 20 };
const OPERATOR = 'operator:test';
const { info: INFO, warn: WARN, error: ERROR } = pino.levels.values;
/** Nobody listens there. */
const NOWHERE = '127.0.0.1:1';

let first: TestGateway;
let second: TestGateway;
let host: ScriptedHost;
let database: Database;
let provider: FileKeys;
beforeAll(async () => {
  first = await testGateway();
  host = await new ScriptedHost(AS2805).listen();
  database = operatorsDatabase(first, 2);
  provider = new FileKeys(first.ledgerPath.replace('simulator-ledger.ndjson', 'key-encryption-key'));
  await addAcquirer(database, OPERATOR, provider, { name: 'away', address: NOWHERE, test: true });
  const address = `127.0.0.1:${host.port}`;
  await addAcquirer(database, OPERATOR, provider, { name: 'bank', address, test: true, connections: 2 });
  second = await testGateway({ shareWith: first });
});
afterAll(async () => {
  await database.close();
  await second.close();
  await first.close();
  await host.stop();
});

async function ready({ baseUrl }: TestGateway): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(new URL('/readyz', baseUrl));
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** The lines of a gateway with this message about this link. */
function told(gateway: TestGateway, message: string, link: string): Record<string, unknown>[] {
  return gateway
    .logged()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg, link: named }) => msg === message && named === link);
}

const shown = (signedOn: number) => ({
  status: 200,
  body: {
    status: 'ready',
    links: [
      { name: 'away', signed_on: 0, connections: 1 },
      { name: 'bank', signed_on: signedOn, connections: 2 },
    ],
  },
});

test('two links, one without a host → ready, and only the signed-on link is listed; the log has the state of each', async () => {
  for (const gateway of [first, second]) {
    await vi.waitFor(async () => expect(await ready(gateway)).toEqual(shown(2)), PATIENTLY);
    expect(told(gateway, 'acquirer link signed on', 'bank')).toMatchObject([{ level: INFO }]);
    expect(told(gateway, 'acquirer link signed on', 'away')).toEqual([]);
    const refused = 'acquirer link cannot be opened, payments over it are not sent; tried again';
    expect(told(gateway, refused, 'away')).toMatchObject([
      { level: ERROR, reason: 'cannot connect: ECONNREFUSED' },
    ]);
    expect(told(gateway, refused, 'bank')).toEqual([]);
  }
});

test('answers that need no credentials → show no address', async () => {
  const { body } = await ready(first);
  expect(JSON.stringify(body)).not.toContain(String(host.port));
});

test('the host goes away → still ready, other payments go on, logged once; back → logged once', async () => {
  const { port } = host;
  await host.stop();
  await vi.waitFor(async () => expect(await ready(first)).toEqual(shown(0)), PATIENTLY);
  const { body } = await first.api.purchase({ pan: CARD });
  expect(body.status.transaction_status_code).toBe('approved');
  const down = () => told(first, 'acquirer link down, payments over it are not sent', 'bank');
  const up = () => told(first, 'acquirer link up again', 'bank');
  await vi.waitUntil(() => down().length > 0, PATIENTLY);
  expect(up()).toEqual([]);
  host = await new ScriptedHost(AS2805).listen(port);
  for (const gateway of [first, second])
    await vi.waitFor(async () => expect(await ready(gateway)).toEqual(shown(2)), PATIENTLY);
  expect(down()).toMatchObject([{ level: ERROR, reason: expect.stringMatching(/./) }]);
  await vi.waitUntil(() => up().length > 0, PATIENTLY);
  expect(up()).toMatchObject([{ level: WARN, seconds: expect.any(Number) }]);
});

test('one of three gateways is refused by the host → an operator sees which one', async () => {
  host.network = (heard) => answering(heard, '91');
  const third = await testGateway({ shareWith: first });
  await vi.waitFor(async () => {
    const { gateways } = await showAcquirer(database, provider, 'bank');
    expect(gateways.map(({ signedOn, connections }) => [signedOn, connections])).toEqual([
      [2, 2],
      [2, 2],
      [0, 2],
    ]);
  }, PATIENTLY);
  expect(await listAcquirers(database)).toMatchObject([
    {
      ...{ name: 'away', gateways: 3, gatewaysSignedOn: 0 },
      ...{ condition: 'down', since: expect.any(Date), reason: 'cannot connect: ECONNREFUSED' },
    },
    {
      ...{ name: 'bank', gateways: 3, gatewaysSignedOn: 2 },
      ...{
        condition: 'partly_down',
        since: expect.any(Date),
        reason: 'sign-on failed: the host answered 91',
      },
    },
  ]);
  const { gateways } = await showAcquirer(database, provider, 'bank');
  expect(gateways[2]).toMatchObject({ machine: expect.stringMatching(/./), pid: process.pid, current: true });
  expect(await ready(third)).toEqual(shown(0));
  host.network = (heard) => answering(heard, '00');
});

test('settings with a wrong address → the operator sees that gateways still use the earlier ones', async () => {
  await setAcquirer(database, OPERATOR, provider, 'bank', { address: NOWHERE });
  await vi.waitFor(async () => {
    const { gateways } = await showAcquirer(database, provider, 'bank');
    expect(gateways.map(({ signedOn, current }) => [signedOn, current])).toEqual([
      [2, false],
      [2, false],
    ]);
  }, PATIENTLY);
});
