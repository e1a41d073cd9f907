// How long a data key seals, by age and by number of seals: shown, and enforced by the gateways themselves.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { showKeys } from '../../../src/installation/keys.js';
import {
  DEFAULT_KEY_LIMITS,
  type DueBecause,
  type KeyLimits,
  KeyRenewal,
} from '../../../src/vault/keys/renewal.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import {
  type Operator,
  opened,
  operatorOf,
  sealedRows,
  tokensOf,
  versionsIn,
} from '../../../testkit/sealed-rows.js';

let gateway: TestGateway;
let operator: Operator;
beforeAll(async () => {
  gateway = await testGateway();
  operator = await operatorOf(gateway);
});
afterAll(async () => {
  await operator.close();
  await gateway.close();
});

async function renewed(limits: Partial<KeyLimits>): Promise<DueBecause[]> {
  const because: DueBecause[] = [];
  const renewal = new KeyRenewal({
    database: operator.database,
    rotation: operator.rotation,
    limits: { ...DEFAULT_KEY_LIMITS, ...limits },
    onRenewed: (_merchant, told) => void because.push(told.because),
  });
  await renewal.run();
  return because;
}

const due = async (limits: Partial<KeyLimits>) =>
  (await showKeys(operator.database, { ...DEFAULT_KEY_LIMITS, ...limits })).map((key) => key.due);

// catches(renewal of keys: the seals of all processes count)
test('seals are counted, by every process that seals', async () => {
  await tokensOf(gateway, 1, 5);
  const second = await testGateway({ shareWith: gateway });
  await tokensOf(second, 1, 3);
  // A process records its seals when it ends, and otherwise every ten seconds.
  await second.close();
  const sealed = async () => (await showKeys(operator.database))[0]?.sealed;
  await vi.waitUntil(async () => ((await sealed()) ?? 0) >= 8, { timeout: 300_000 });
  expect(await sealed()).toBe(8);
});

// catches(renewal of keys: of those that have sealed too much)
// catches(renewal of keys: of those that are too old)
test('a key that is too old, or has sealed too often → shown as due, and everything is resealed under a new one', async () => {
  expect(await due({})).toEqual(['no']);
  expect(await renewed({})).toEqual([]);
  expect(await due({ seals: 8 })).toEqual(['seals']);
  const before = await opened(operator, await sealedRows(gateway));
  expect(await renewed({ seals: 8 })).toEqual(['seals']);
  expect(versionsIn(await sealedRows(gateway), 1)).toEqual([2]);
  // What the rotation itself has sealed is counted, too.
  expect(await due({ seals: 8 })).toEqual([null, 'seals']);
  await gateway.sql(
    `UPDATE data_key SET created_at = created_at - interval '100 days', emptied_at = now() WHERE version = 2`,
  );
  expect(await due({ days: 101 })).toEqual([null, 'no']);
  expect(await due({ days: 99 })).toEqual([null, 'age']);
  expect(await renewed({ days: 99 })).toEqual(['age']);
  expect(versionsIn(await sealedRows(gateway), 1)).toEqual([3]);
  expect(await opened(operator, await sealedRows(gateway))).toEqual(before);
});

// catches(renewal of keys: whoever comes second makes no further version)
// catches(renewal of keys: one that was interrupted is finished)
test('an interrupted rotation → the gateways continue it, and create no further version', async () => {
  await gateway.sql(
    `UPDATE data_key SET emptied_at = NULL, created_at = created_at - interval '20 minutes' WHERE version = 2`,
  );
  await gateway.sql(`UPDATE data_key SET created_at = created_at - interval '20 minutes' WHERE version = 3`);
  expect(await renewed({})).toEqual(['unfinished']);
  expect(versionsIn(await sealedRows(gateway), 1)).toEqual([3]);
  expect(await renewed({})).toEqual([]);
});
