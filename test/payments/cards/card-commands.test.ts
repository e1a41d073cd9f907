// `tollgate cards`: the operators' view of the sealed cards.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reviewedAtOnce } from '../../../testkit/card-reviews.js';
import { runHere } from '../../../testkit/command-here.js';
import { commands, wordsOf } from '../../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { DECLINED_CARD } from '../../../testkit/test-cards.js';
import { vaultOf } from '../../../testkit/vault-client.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const tollgate = (line: string) =>
  runHere(wordsOf(line), { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir });
const { json, text, refusal } = commands(tollgate);
const AN_INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);

test('cards status → how many there are, why each is kept and until when; none of a declined payment', async () => {
  expect(await json('cards status')).toEqual({
    cards: 0,
    overdue: 0,
    oldest: null,
    bank_accounts: 0,
    destroyed: 0,
    merchants: [],
  });
  const { api } = gateway;
  const vault = vaultOf(api);
  await vault.newToken();
  await api.purchase({ pan: DECLINED_CARD });
  const { gateway_timestamp } = (await api.purchase()).body;
  await api.purchase();
  await api.preauthorise();
  await api.standaloneRefund();
  await api.purchase({ merchant: 2 });
  await api.purchase({ bankAccount: {} });
  const status = await json('cards status');
  expect(status).toMatchObject({ cards: 6, overdue: 0, bank_accounts: 1 });
  expect(Date.parse(status.oldest)).toBe(Date.parse(gateway_timestamp));
  const row = (merchant: number, why: string, cards: number, until: unknown = AN_INSTANT) => ({
    merchant,
    why,
    cards,
    oldest: AN_INSTANT,
    until,
    overdue: 0,
  });
  expect(status.merchants).toEqual([
    row(1, 'completable', 1),
    row(1, 'direct debit', 1, null),
    row(1, 'refundable', 2),
    row(1, 'token', 1, null),
    row(1, 'voidable', 1),
    row(2, 'refundable', 1),
  ]);
  const days = (name: string) => {
    const { oldest, until } = status.merchants.find(({ why }: { why: string }) => why === name);
    return Math.round((Date.parse(until) - Date.parse(oldest)) / 86_400_000);
  };
  expect([days('completable'), days('refundable')]).toEqual([7, 120]);
  expect((await json('cards status --merchant 2')).merchants).toEqual([row(2, 'refundable', 1)]);
  const shown = (await text('cards status')).split('\n');
  expect(shown[0]).toMatch(/^6 sealed cards; the oldest transaction with one is of \d{4}-/);
  expect(shown.slice(1, 3)).toEqual([
    'None of them should be gone.',
    '1 sealed bank accounts of direct debits. 0 cards have been destroyed.',
  ]);
  expect(shown[3]).toMatch(/^merchant +why +cards +oldest +until +overdue$/);
});

test('merchant set --card-days → the cards of earlier payments are destroyed, too; the journal has it', async () => {
  expect(await json('merchant set 2 --card-days 1')).toMatchObject({ card_days: 1 });
  await gateway.advance('6d');
  await reviewedAtOnce(gateway);
  expect(await json('cards status --merchant 2')).toMatchObject({ cards: 0, destroyed: 1, merchants: [] });
  const [entry] = await json('journal --merchant 2 --limit 1');
  expect(entry).toMatchObject({
    action: 'merchant.changed',
    detail: 'test, with vault, cards kept 1 days, simulator',
  });
  expect(await refusal('merchant set 2 --card-days 0')).toMatch(/whole number from 1 to 3650/);
});

test('an overdue card → counted as overdue, exit code 1; cards review → destroyed', async () => {
  const { audit } = (await gateway.api.purchase({ merchant: 3, pan: DECLINED_CARD })).body;
  await gateway.advance('2h');
  await reviewedAtOnce(gateway);
  // As written by an earlier version under a clock that was far behind.
  await gateway.sql(
    `UPDATE transaction SET payment_details_sealed = '\\x01', payment_details_key_version = 1 WHERE audit = $1`,
    [audit],
  );
  const found = await tollgate('cards status --merchant 3 --json');
  expect(found.code).toBe(1);
  expect(JSON.parse(found.stdout)).toMatchObject({
    cards: 1,
    overdue: 1,
    merchants: [{ merchant: 3, why: 'ended', cards: 1, overdue: 1 }],
  });
  expect((await tollgate('cards status --merchant 3')).stdout).toMatch(
    /^1 of them should be gone, and are not\.$/m,
  );
  expect(await json('cards review --merchant 3')).toEqual({ merchants: 1 });
  await reviewedAtOnce(gateway);
  expect(await json('cards status --merchant 3')).toMatchObject({ cards: 0, overdue: 0 });
  expect(await json('journal --merchant 3 --limit 1')).toMatchObject([{ action: 'cards.review_begun' }]);
  expect(await text('cards review')).toBe(
    'The cards of 4 merchants are looked at again, by the gateways that are running.',
  );
});

test.each(['cards status --merchant 99', 'cards review --merchant 99'])(
  '%s → no such merchant',
  async (line) => {
    expect(await refusal(line)).toBe('there is no merchant 99');
  },
);
