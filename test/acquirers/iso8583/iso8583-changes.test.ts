// What an operator changes of an ISO 8583 link while gateways use it: its address, its keys, and whether it is there at all.
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { removeAcquirer, setAcquirer, testAcquirer } from '../../../src/acquirers/acquirer-tasks.js';
import { AS2805 } from '../../../src/acquirers/iso8583/dialects/as2805.js';
import { RetailMac } from '../../../src/acquirers/iso8583/wire/mac.js';
import { rewrapKeys } from '../../../src/installation/keys.js';
import { setMerchant } from '../../../src/organisations/merchants.js';
import type { Database } from '../../../src/postgres/database.js';
import type { FileKeys } from '../../../src/vault/keys/local-keys.js';
import { CARD } from '../../../testkit/client.js';
import type { TestGateway } from '../../../testkit/gateway.js';
import { BookKeepingHost } from './book-keeping-host.js';
import { MAC_KEY } from './corpus.js';
import { GatewayAtHost, OPERATOR, PATIENTLY } from './gateway-at-host.js';

const OTHER_KEY = '7CA110454A1A6E570131D9619DC1376E';

let at: GatewayAtHost;
let gateway: TestGateway;
let host: BookKeepingHost;
let database: Database;
let provider: FileKeys;
beforeAll(async () => {
  at = await GatewayAtHost.start();
  ({ gateway, host, database, provider } = at);
});
afterAll(() => at.stop());
beforeEach(() => {
  host.script = (heard) => host.decide(heard);
});

test('the key-encryption key is renewed → the MAC keys are rewrapped too', async () => {
  const before = await gateway.sql('SELECT key_encryption_key, mac_keys FROM acquirer');
  await rewrapKeys(database, OPERATOR, provider);
  const after = await gateway.sql('SELECT key_encryption_key, mac_keys FROM acquirer');
  expect(after[0]?.key_encryption_key).not.toBe(before[0]?.key_encryption_key);
  expect(await testAcquirer(database, OPERATOR, provider, 'bank')).toMatchObject({ name: 'bank' });
});

test('another address and other MAC keys → gateways use them, and finish what they had sent to the old address', async () => {
  const moved = await new BookKeepingHost(AS2805, new RetailMac(Buffer.from(OTHER_KEY, 'hex'))).listen();
  let release = () => {};
  host.script = (heard) => {
    const answer = host.decide(heard);
    release = () => answer && host.send(answer, heard.connection);
    return undefined;
  };
  const paying = gateway.api.purchase({ pan: CARD });
  await vi.waitUntil(() => at.last('0200') && host.messages('0200').length > 0, PATIENTLY);
  await setAcquirer(database, OPERATOR, provider, 'bank', {
    address: `127.0.0.1:${moved.port}`,
    macKeys: OTHER_KEY,
  });
  await vi.waitUntil(() => moved.heard.length > 0, PATIENTLY);
  release();
  await paying;
  await vi.waitUntil(async () => {
    await gateway.api.purchase({ pan: CARD });
    return moved.messages('0200').length > 0;
  }, PATIENTLY);
  expect(moved.complaints).toEqual([]);
  await setAcquirer(database, OPERATOR, provider, 'bank', {
    address: `127.0.0.1:${host.port}`,
    macKeys: MAC_KEY,
  });
  await vi.waitUntil(
    () => moved.heard.filter(({ fields }) => fields.get(70) === '002').length >= 2,
    PATIENTLY,
  );
  await moved.stop();
});

test('removed → refused while a merchant uses it; afterwards its connections are closed', async () => {
  await expect(removeAcquirer(database, OPERATOR, 'bank')).rejects.toMatchObject({
    code: 'acquirer_in_use',
  });
  await setMerchant(database, OPERATOR, 1, { acquirer: 'simulator' });
  // Orders under way when the address changed are resolved first; only then is the link unused.
  await vi.waitUntil(async () => {
    const doubts = await gateway.sql("SELECT FROM transaction WHERE status = 'unknown'");
    return doubts.length === 0;
  }, PATIENTLY);
  const signedOff = () => host.heard.filter(({ fields }) => fields.get(70) === '002').length;
  const before = signedOff();
  await removeAcquirer(database, OPERATOR, 'bank');
  await vi.waitUntil(() => signedOff() >= before + 2, PATIENTLY);
  // Until the gateway has reloaded the merchant, it has no acquirer for it.
  await vi.waitUntil(async () => {
    const { status, code } = await gateway.api.purchase({ pan: CARD });
    if (status !== 201) expect([status, code]).toEqual([422, 'no_acquirer']);
    return status === 201;
  }, PATIENTLY);
});
