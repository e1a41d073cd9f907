// Seals: a ciphertext opens in its own place under its own key, and nowhere else.
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { MerchantId, OrganisationId } from '../../../src/values/ids.js';
import { type DataKey, open, type Place, SealBroken, seal } from '../../../src/vault/keys/keys.js';

const keys: DataKey[] = [1, 2].map((version) => ({ version, key: randomBytes(32) }));
const PLACE: Place = {
  table: 'token',
  organisationId: 1 as OrganisationId,
  merchantId: 1 as MerchantId,
  row: 1,
  field: 'account',
  says: 'one thing',
};

test('sealed data opens in its own place, with its own key', () => {
  const [key] = keys as [DataKey, DataKey];
  expect(open(key, PLACE, seal(key, PLACE, 'a secret'))).toBe('a secret');
});

test('data sealed by earlier releases opens', () => {
  const key: DataKey = { version: 1, key: Buffer.alloc(32, 7) };
  const stored = '72920c4f4cc3d15a9ad173cf82979c32a8f79cc31d995da2321608c51ae2ddff5d1ad309';
  expect(open(key, PLACE, Buffer.from(stored, 'hex'))).toBe('a secret');
});

test('the same text sealed twice looks different each time', () => {
  const [key] = keys as [DataKey, DataKey];
  const sealed = Array.from({ length: 2_000 }, () => seal(key, PLACE, 'a secret').toString('hex'));
  expect(new Set(sealed).size).toBe(2_000);
  expect(new Set(sealed.map((text) => text.slice(0, 24))).size).toBe(2_000);
});

/** Without twenty thousand expectations. Any other error is a failure. */
function opens(key: DataKey, place: Place, sealed: Buffer): boolean {
  try {
    open(key, place, sealed);
    return true;
  } catch (error) {
    if (error instanceof SealBroken) return false;
    throw error;
  }
}

// catches(seal: bound to its field)
// catches(seal: bound to its row)
// catches(seal: bound to its merchant)
// catches(seal: bound to its organisation)
// catches(seal: bound to its table)
test('ten thousand ciphertexts swapped between rows, fields, merchants, organisations, tables and key versions: none opens', () => {
  const places: Place[] = [];
  for (const table of ['token', 'transaction'] as const) {
    for (const organisationId of [1, 11] as OrganisationId[]) {
      for (const merchantId of [1, 2, 11] as MerchantId[]) {
        for (const row of [1, 2, 11]) {
          for (const field of ['account', 'card'])
            places.push({ table, organisationId, merchantId, row, field, says: 'one thing' });
        }
      }
    }
  }
  const sealed = places.flatMap((place) =>
    keys.map((key) => ({ place, key, bytes: seal(key, place, 'a secret') })),
  );
  let tried = 0;
  const opened: [Place, Place][] = [];
  for (const from of sealed) {
    for (const to of sealed) {
      if (from === to) continue;
      tried += 1;
      if (opens(to.key, to.place, from.bytes)) opened.push([from.place, to.place]);
      // Under its own key in another place, too: the place binds it, not only the key.
      if (from.place !== to.place && opens(from.key, to.place, from.bytes))
        opened.push([from.place, to.place]);
    }
  }
  expect(opened).toEqual([]);
  expect(tried).toBeGreaterThanOrEqual(10_000);
});

// catches(seal: bound to its key version)
test('sealed data does not open in the same place with the same key under another version', () => {
  const [{ key }] = keys as [DataKey, DataKey];
  const sealed = seal({ version: 1, key }, PLACE, 'a secret');
  expect(() => open({ version: 2, key }, PLACE, sealed)).toThrow(SealBroken);
});

// catches(seal: bound to what its row says)
test('sealed data does not open if the row’s other values were changed', () => {
  const [key] = keys as [DataKey, DataKey];
  const sealed = seal(key, PLACE, 'a secret');
  expect(() => open(key, { ...PLACE, says: 'another thing' }, sealed)).toThrow(SealBroken);
});

test('a ciphertext with any bit flipped, cut short or extended does not open', () => {
  const [key] = keys as [DataKey, DataKey];
  const sealed = seal(key, PLACE, 'a secret');
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const spoilt = Buffer.from(sealed);
    spoilt[bit >> 3] = (spoilt[bit >> 3] as number) ^ (1 << (bit & 7));
    expect(() => open(key, PLACE, spoilt)).toThrow(SealBroken);
  }
  for (let length = 0; length < sealed.length; length += 1) {
    expect(() => open(key, PLACE, sealed.subarray(0, length))).toThrow(SealBroken);
  }
  expect(() => open(key, PLACE, Buffer.concat([sealed, Buffer.of(0)]))).toThrow(SealBroken);
});
