// Sealed cards live as long as their transactions allow any operation, and no longer.

import { describe, expect, test } from 'vitest';
import { Database } from '../../../src/postgres/database.js';
import {
  auditOf,
  destructionOn,
  hasCard,
  OLD_PURCHASES,
  reviewed,
  reviewedAtOnce,
  unreviewed,
  watchedCards,
} from '../../../testkit/card-reviews.js';
import { operatorsDatabase } from '../../../testkit/cast.js';
import { addCast, testDatabase, testGateway } from '../../../testkit/gateway.js';
import { locker } from '../../../testkit/locks.js';
import { operatorOf } from '../../../testkit/sealed-rows.js';
import { DECLINED_CARD } from '../../../testkit/test-cards.js';

const DAY_MS = 86_400_000;

// catches(card: a completion leads to the card at the last look)
// catches(card: what ends between the looks is held)
// catches(card: destroyed only when it has ended)
// catches(card: kept for the refunds of a completion)
// catches(refund: no longer than the card is kept)
test('cards of payments → each is destroyed once no operation can need it, not before', async () => {
  const gateway = await testGateway();
  const { api } = gateway;
  await gateway.sqlSealed('UPDATE merchant SET card_days = 30 WHERE id = 2');
  const cards = watchedCards(gateway);
  cards.add('purchase', await api.purchase());
  cards.add('of thirty days', await api.purchase({ merchant: 2 }));
  const partly = cards.add('refunded in part', await api.purchase({ amount: 100 }));
  const wholly = cards.add('refunded', await api.purchase({ amount: 100 }));
  for (const amount of [40, 60]) expect((await api.refund(wholly, amount)).status).toBe(201);
  expect((await api.refund(partly, 40)).status).toBe(201);
  cards.add('standalone refund', await api.standaloneRefund());
  cards.add('hold', await api.preauthorise({ amount: 100 }));
  const completed = cards.add('completed', await api.preauthorise({ amount: 100 }));
  const refundedLate = cards.add('completed, refunded late', await api.preauthorise({ amount: 100 }));
  const debit = auditOf(await api.purchase({ bankAccount: {} }));
  await reviewedAtOnce(gateway);
  expect(await cards.alive()).toEqual([
    'purchase',
    'of thirty days',
    'refunded in part',
    'refunded',
    'standalone refund',
    'hold',
    'completed',
    'completed, refunded late',
  ]);

  // Settled: it can no longer be voided.
  await gateway.advance('6d');
  await reviewedAtOnce(gateway);
  expect(await cards.alive()).toEqual([
    'purchase',
    'of thirty days',
    'refunded in part',
    'hold',
    'completed',
    'completed, refunded late',
  ]);
  await api.complete(completed, 100);
  const completion = auditOf(await api.complete(refundedLate, 100));

  // The hold has expired.
  await gateway.advance('2d');
  await reviewedAtOnce(gateway);
  expect(await cards.alive()).toEqual([
    'purchase',
    'of thirty days',
    'refunded in part',
    'completed',
    'completed, refunded late',
  ]);
  expect((await api.complete(cards.of('hold'), 100)).code).toBe('target_not_completable');

  await gateway.advance('23d');
  await reviewedAtOnce(gateway);
  expect(await cards.alive()).toEqual([
    'purchase',
    'refunded in part',
    'completed',
    'completed, refunded late',
  ]);
  const late = await api.refund(cards.of('of thirty days'), 1, { merchant: 2 });
  expect([late.status, late.code]).toEqual([422, 'target_not_refundable']);

  await gateway.advance('90d');
  await reviewedAtOnce(gateway);
  // The completions are six days younger.
  expect(await cards.alive()).toEqual(['completed', 'completed, refunded late']);
  for (const name of ['purchase', 'refunded in part']) {
    const refused = await api.refund(cards.of(name), 1);
    expect([refused.status, refused.code]).toEqual([422, 'target_not_refundable']);
    const { _links, kvps } = (await api.lookUp(cards.of(name))).body;
    expect(Object.keys(_links)).toEqual(['self']);
    expect(Object.keys(kvps)).toEqual(['GATEWAY.RESPONSE.KVP.MODE']);
  }
  expect((await api.lookUp(completion)).body._links).toHaveProperty('refund');
  expect((await api.refund(completion, 1)).status).toBe(201);

  await gateway.advance('12d');
  await reviewed(gateway);
  expect(await cards.alive()).toEqual([]);
  // A direct debit can be refunded, and its file written again: bank accounts do not end.
  expect(await hasCard(gateway, debit)).toBe(true);
  expect((await api.refund(debit, 1)).status).toBe(201);
  // Nothing is held in vain.
  expect(await gateway.sql('SELECT audit FROM card_held')).toEqual([]);
});

test('a card that was kept too long → is destroyed, however old it is', async () => {
  const gateway = await testGateway();
  const { api } = gateway;
  const declined = auditOf(await api.purchase({ pan: DECLINED_CARD }));
  const voided = auditOf(await api.purchase());
  await api.void(voided);
  const debit = auditOf(await api.purchase({ bankAccount: {} }));
  await api.void(debit);
  await gateway.sql(
    `UPDATE transaction SET payment_details_sealed = '\\x01', payment_details_key_version = 1 WHERE audit = ANY ($1)`,
    [[declined, voided, debit]],
  );
  await gateway.sql(OLD_PURCHASES, [1, 1, 2_500, '400 days', null]);
  await gateway.advance('1h');
  await reviewedAtOnce(gateway);
  for (const audit of [declined, voided, debit, 1_000_001, 1_002_500])
    expect(await hasCard(gateway, audit)).toBe(false);
  expect(await gateway.sql('SELECT destroyed::integer FROM card_review WHERE merchant_id = 1')).toEqual([
    { destroyed: 2_503 },
  ]);
});

test('a merchant’s card days lowered, and raised → the new number counts from then on', async () => {
  const gateway = await testGateway();
  const { api } = gateway;
  const first = auditOf(await api.purchase());
  await gateway.advance('20d');
  const second = auditOf(await api.purchase());
  await gateway.advance('11d');
  await gateway.sqlSealed('UPDATE merchant SET card_days = 30 WHERE id = 1');
  await reviewedAtOnce(gateway);
  expect([await hasCard(gateway, first), await hasCard(gateway, second)]).toEqual([false, true]);
  await gateway.sqlSealed('UPDATE merchant SET card_days = 60 WHERE id = 1');
  await gateway.advance('30d');
  await reviewedAtOnce(gateway);
  expect(await hasCard(gateway, second)).toBe(true);
  await gateway.advance('20d');
  await reviewedAtOnce(gateway);
  expect(await hasCard(gateway, second)).toBe(false);
});

// catches(card destruction: nobody is waited for) slow
test('a locked transaction → is skipped, and reviewed later', async () => {
  const gateway = await testGateway();
  const locked = auditOf(await gateway.api.purchase());
  const free = auditOf(await gateway.api.purchase());
  const holder = await locker(gateway);
  await holder.query('SELECT FROM transaction WHERE audit = $1 FOR UPDATE', [locked]);
  await gateway.advance('121d');
  await reviewedAtOnce(gateway);
  expect([await hasCard(gateway, locked), await hasCard(gateway, free)]).toEqual([true, false]);
  await holder.rollback();
  await gateway.advance('5m');
  await reviewedAtOnce(gateway);
  expect(await hasCard(gateway, locked)).toBe(false);
});

test('keys rotated while cards are destroyed → no destroyed card reappears', async () => {
  const gateway = await testGateway();
  const operator = await operatorOf(gateway);
  try {
    const { audit } = (await gateway.api.purchase()).body;
    await gateway.sql(
      `INSERT INTO transaction (organisation_id, merchant_id, audit, created_at, amount_cents, gateway_status_code, transaction_type,
         status, currency, correlation_id, reference, acquirer, card_mask, card_type, decided_at)
       SELECT 1, 1, 1000000 + n, now(), 100, 0, 'purchase', 'approved', 'AUD', 'old-' || n, 'old', 'simulator', '411111******1111',
         'visa', now() FROM generate_series(1, 20) n`,
    );
    const rotating = operator.rotation.rotate(1, () => {});
    await gateway.advance('121d');
    await reviewedAtOnce(gateway);
    await rotating;
    // Cards locked at that moment are reviewed a minute later.
    await gateway.advance('5m');
    await reviewedAtOnce(gateway);
    expect(await hasCard(gateway, audit)).toBe(false);
    expect(
      await gateway.sql('SELECT FROM transaction WHERE payment_details_key_version IS NOT NULL'),
    ).toEqual([]);
  } finally {
    await operator.close();
  }
});

// catches(card destruction: one process at a time)
test('another process is destroying cards → this one does nothing; afterwards it does', async () => {
  const gateway = await testGateway();
  const audit = auditOf(await gateway.api.purchase());
  const release = await unreviewed(gateway);
  await gateway.advance('121d');
  const database = operatorsDatabase(gateway);
  await destructionOn(database, 121 * DAY_MS)
    .run()
    .finally(() => database.close());
  expect(await hasCard(gateway, audit)).toBe(true);
  await release();
  await reviewed(gateway);
  expect(await hasCard(gateway, audit)).toBe(false);
});

describe('merchants in turn', () => {
  // catches(card destruction: merchants in turns)
  test('one has very many cards to destroy → cards of another are destroyed in between', async () => {
    const own = await testDatabase();
    const database = new Database(own.url, { maxConnections: 2 });
    const sql = async <Row>(text: string, values: unknown[] = []) =>
      (await database.query<Row>({ name: '', text }, values)).rows;
    try {
      await addCast(own.url);
      await sql(OLD_PURCHASES, [1, 1, 20_000, '200 days', null]);
      await sql(OLD_PURCHASES, [2, 4, 1, '200 days', null]);
      await sql(`UPDATE transaction SET correlation_id = correlation_id || '-' || organisation_id`);
      const destruction = destructionOn(database);
      const left = async (organisation: number) =>
        (
          await sql(
            `SELECT FROM transaction WHERE organisation_id = $1 AND payment_details_sealed IS NOT NULL`,
            [organisation],
          )
        ).length;
      for (let run = 0; run < 1_000 && (await left(2)) > 0; run += 1) await destruction.run();
      expect(await left(2)).toBe(0);
      expect(await left(1)).toBeGreaterThan(0);
      for (let run = 0; run < 1_000 && (await left(1)) > 0; run += 1) await destruction.run();
      expect(await left(1)).toBe(0);
    } finally {
      await database.close();
      await own.drop();
    }
  });

  // catches(card destruction: a turn that fails is put back) slow
  test('one whose cards cannot be read → cards of the others are destroyed; the log names the failing one', async () => {
    const gateway = await testGateway();
    const stuck = auditOf(await gateway.api.purchase({ merchant: 2 }));
    const audit = auditOf(await gateway.api.purchase());
    await gateway.sql(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
      CREATE TRIGGER refuse BEFORE UPDATE ON transaction FOR EACH ROW
        WHEN (NEW.merchant_id = 2 AND NEW.payment_details_sealed IS NULL) EXECUTE FUNCTION refuse()`);
    await gateway.advance('121d');
    await reviewed(gateway);
    expect([await hasCard(gateway, stuck), await hasCard(gateway, audit)]).toEqual([true, false]);
    expect(gateway.logged()).toMatch(/"merchant":2,[^\n]*"cards of a merchant could not be reviewed"/);
    await gateway.sql('DROP TRIGGER refuse ON transaction');
    await reviewed(gateway);
    expect(await hasCard(gateway, stuck)).toBe(false);
  });
});
