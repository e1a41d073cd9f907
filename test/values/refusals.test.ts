// What operators can do, called as functions: a refusal says what it is by a code and what it is about by named details.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { advanceClock } from '../../src/clock/clock-tasks.js';
import { setDirectEntry, showDirectEntry } from '../../src/directdebit/direct-entry.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { readJournal } from '../../src/journal/journal-tasks.js';
import { addMerchant, listMerchants, setMerchant } from '../../src/organisations/merchants.js';
import { addOrganisation } from '../../src/organisations/organisations.js';
import { setSurcharges, showSurcharges } from '../../src/organisations/surcharges.js';
import type { CredentialKey } from '../../src/organisations/users/credentials.js';
import { addUser, grantMerchant, revokeUser, rotateSecret } from '../../src/organisations/users/users.js';
import type { SurchargeRule, SurchargeScope } from '../../src/plugins/surcharge.js';
import type { Database } from '../../src/postgres/database.js';
import { Refusal } from '../../src/values/refusal.js';
import { REAL_BANK } from '../../testkit/bank-day.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { addCast, credentialKeyOf, type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';

const NOBODY = 2_147_483_647;
const OPERATOR = 'operator:test';

let own: TestDatabase;
let database: Database;
let key: CredentialKey;

beforeAll(async () => {
  own = await testDatabase();
  const dataDir = await dataDirectory();
  const settings = readSettings({ TOLLGATE_DATA_DIR: dataDir });
  await addCast(own.url, settings);
  database = operatorsDatabase({ databaseUrl: own.url, dataDir });
  key = await credentialKeyOf(database, settings);
});
afterAll(async () => {
  await database.close();
  await own.drop();
});

type Case = [what: string, work: () => Promise<unknown>, code: string, details: object | undefined];

const DEFAULT = [{ scope: 'default', thousandths: 1_000 }] as const;

const CASES: Case[] = [
  [
    'a name with a card number',
    () => addOrganisation(database, OPERATOR, '4111111111111111'),
    'name_not_allowed',
    undefined,
  ],
  [
    'a merchant of nobody',
    () => addMerchant(database, OPERATOR, NOBODY, 'Shop'),
    'organisation_not_found',
    { organisation: NOBODY },
  ],
  [
    'no such merchant to change',
    () => setMerchant(database, OPERATOR, NOBODY, {}),
    'merchant_not_found',
    { merchant: NOBODY },
  ],
  [
    'a user name of two words',
    () => addUser(database, OPERATOR, key, 'two words', { merchant: 1 }),
    'username_not_allowed',
    undefined,
  ],
  [
    'a user of no merchant',
    () => addUser(database, OPERATOR, key, 'new', { merchant: NOBODY }),
    'merchant_not_found',
    { merchant: NOBODY },
  ],
  [
    'a user that exists',
    () => addUser(database, OPERATOR, key, 'owner', { merchant: 1 }),
    'user_exists',
    { username: 'owner' },
  ],
  [
    'a merchant of another organisation',
    () => grantMerchant(database, OPERATOR, key, 'owner', 4),
    'merchant_of_another_organisation',
    { merchant: 4, organisation: 1 },
  ],
  [
    'no such user',
    () => revokeUser(database, OPERATOR, key, 'nobody'),
    'user_not_found',
    { username: 'nobody' },
  ],
  [
    'surcharges without a rule',
    () => setSurcharges(database, OPERATOR, 1, []),
    'surcharge_without_rules',
    undefined,
  ],
  [
    'surcharges that end before they begin',
    () => setSurcharges(database, OPERATOR, 1, DEFAULT, { from: '2026-10-02', until: '2026-10-01' }),
    'surcharge_ends_before_it_begins',
    { from: '2026-10-02', until: '2026-10-01' },
  ],
  [
    'surcharges of no merchant',
    () => showSurcharges(database, NOBODY),
    'merchant_not_found',
    { merchant: NOBODY },
  ],
  [
    'the bank of no merchant',
    () => showDirectEntry(database, NOBODY),
    'merchant_not_found',
    { merchant: NOBODY },
  ],
  [
    'settings that no bank takes',
    () => setDirectEntry(database, OPERATOR, 1, { ...REAL_BANK, bank: 'cba', userId: '1' }),
    'direct_entry_not_allowed',
    {
      problems: [
        { field: 'bank', rule: 'takes the three capital letters of the bank, such as CBA' },
        { field: 'userId', rule: 'takes the six digits of the APCA user ID' },
      ],
    },
  ],
  [
    'a clock more than ten years ahead',
    () => advanceClock(database, OPERATOR, 4_000 * 86_400_000),
    'clock_too_far_ahead',
    undefined,
  ],
];

async function refusalOf(work: () => Promise<unknown>): Promise<Refusal> {
  const before = await readJournal(database, { limit: 1 });
  const error = await work().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Refusal);
  expect(await readJournal(database, { limit: 1 })).toEqual(before);
  return error as Refusal;
}

describe('refused, with nothing in the journal', () => {
  test.each(CASES)('%s → its code and details', async (_, work, code, details) => {
    expect(await refusalOf(work)).toMatchObject({ code, details });
  });

  test('a revoked user’s secret → its code and name', async () => {
    await revokeUser(database, OPERATOR, key, 'colleague');
    const refusal = await refusalOf(() => rotateSecret(database, OPERATOR, key, 'colleague'));
    expect(refusal).toMatchObject({ code: 'user_revoked', details: { username: 'colleague' } });
  });

  test('a live merchant’s surcharge and bank → codes, the scopes and the merchant', async () => {
    const { id: merchant } = await addMerchant(database, OPERATOR, 1, 'Live', { live: true });
    expect(await listMerchants(database, 1)).toContainEqual(expect.objectContaining({ id: merchant }));
    expect(await refusalOf(() => setSurcharges(database, OPERATOR, merchant, DEFAULT))).toMatchObject({
      code: 'surcharge_perhaps_forbidden',
      details: { scopes: ['default'] },
    });
    expect(await refusalOf(() => showDirectEntry(database, merchant))).toMatchObject({
      code: 'bank_not_set',
      details: { merchant },
    });
    const simulated = { ...REAL_BANK, simulated: true };
    expect(await refusalOf(() => setDirectEntry(database, OPERATOR, merchant, simulated))).toMatchObject({
      code: 'live_merchant_needs_real_bank',
      details: { merchant },
    });
    expect(await refusalOf(() => advanceClock(database, OPERATOR, 1_000))).toMatchObject({
      code: 'clock_has_live_merchant',
    });
  });
});

describe('surcharges of a live merchant', () => {
  async function liveMerchant(): Promise<number> {
    return (await addMerchant(database, OPERATOR, 1, 'Live', { live: true })).id;
  }
  const set = (merchant: number, rules: SurchargeRule[]) =>
    setSurcharges(database, OPERATOR, merchant, rules);
  const rule = (scope: SurchargeScope, thousandths = 1_000) => ({ scope, thousandths });

  test.each<SurchargeScope>(['default', 'method:creditcard', 'card:eftpos', 'card:visa', 'card:mastercard'])(
    'on %s → refused without --i-may; for a test merchant → accepted',
    async (scope) => {
      const live = await liveMerchant();
      await expect(set(live, [rule('card:amex'), rule(scope)])).rejects.toThrow(
        `may forbid surcharges in Australia (here: ${scope})`,
      );
      expect(await showSurcharges(database, live)).toEqual([]);
      const { id: test } = await addMerchant(database, OPERATOR, 1, 'Test');
      expect(await set(test, [rule(scope)])).toHaveLength(1);
    },
  );

  test('on payments of none of those, or adding nothing → accepted', async () => {
    const rules = [rule('card:amex'), rule('card:diners'), rule('method:bankaccount'), rule('card:visa', 0)];
    expect(await set(await liveMerchant(), rules)).toHaveLength(4);
  });
});
