// Declined, failed and voided transactions keep no card; those in doubt, or still voidable, do.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { moveClockByMs } from '../../../testkit/bank-day.js';
import { auditOf, hasCard, reviewedAtOnce } from '../../../testkit/card-reviews.js';
import type { Client } from '../../../testkit/client.js';
import { type TestGateway, testGateway } from '../../../testkit/gateway.js';
import { ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';
import {
  cardAnsweredLaterWith,
  cardAnsweredWith,
  DECLINED_CARD,
  LATE_ANSWER_CARD,
  LOST_REQUEST_CARD,
  UNREACHABLE_CARD,
} from '../../../testkit/test-cards.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('as soon as a payment is decided', () => {
  let gateway: TestGateway;
  let api: Client;
  beforeAll(async () => {
    gateway = await testGateway();
    api = gateway.api;
  });
  afterAll(() => gateway.close());

  test.each([
    ['declined', DECLINED_CARD, 'declined'],
    ['the acquirer has failed', cardAnsweredWith('96'), 'error'],
    ['the acquirer could not be reached', UNREACHABLE_CARD, 'error'],
    // catches(card: not kept of what was declined or has failed)
  ])('purchase, preauthorisation and standalone refund, %s → no card is kept', async (_, pan, status) => {
    for (const pay of [api.purchase, api.preauthorise, api.standaloneRefund]) {
      const { body } = await pay({ pan });
      expect(body.status.transaction_status_code).toBe(status);
      expect(await hasCard(gateway, body.audit)).toBe(false);
    }
  });

  test('purchase in doubt → its card is kept for the reversal; reversed → destroyed', async () => {
    const unknown = await api.purchase({ pan: LOST_REQUEST_CARD });
    expect(unknown.status).toBe(504);
    const audit = Number(unknown.headers.get('location')?.split('/').at(-1));
    const { status } = await api.decided(audit);
    expect(status.gateway_status_code).toBe(2);
    expect(await hasCard(gateway, audit)).toBe(false);
  });

  // catches(card: kept of what was approved)
  test('purchase in doubt that turns out to be approved → its card is kept', async () => {
    const unknown = await api.purchase({ pan: LATE_ANSWER_CARD });
    const audit = Number(unknown.headers.get('location')?.split('/').at(-1));
    expect(await hasCard(gateway, audit)).toBe(true);
    expect((await api.decided(audit)).status.transaction_status_code).toBe('approved');
    expect(await hasCard(gateway, audit)).toBe(true);
  });

  // catches(card: kept where a void was declined)
  // catches(card: not kept of what was voided)
  test('voided purchase, preauthorisation and standalone refund → no card is kept; a declined void changes nothing', async () => {
    for (const pay of [api.purchase, api.preauthorise, api.standaloneRefund]) {
      const audit = auditOf(await pay());
      expect(await hasCard(gateway, audit)).toBe(true);
      expect((await api.void(audit)).status).toBe(201);
      expect(await hasCard(gateway, audit)).toBe(false);
    }
    const kept = auditOf(await api.purchase({ pan: cardAnsweredLaterWith('05') }));
    expect((await api.void(kept)).body.status.transaction_status_code).toBe('declined');
    expect(await hasCard(gateway, kept)).toBe(true);
  });

  test('direct debit voided before it is in a file → no account is kept', async () => {
    const audit = auditOf(await api.purchase({ bankAccount: {} }));
    expect(await hasCard(gateway, audit)).toBe(true);
    expect((await api.void(audit)).status).toBe(201);
    expect(await hasCard(gateway, audit)).toBe(false);
  });
});

// catches(card: a completion that was voided leads to the card)
test('completion voided, or refunded in full, after the check → the card is destroyed, since its preauthorisation has ended', async () => {
  const gateway = await testGateway();
  const { api } = gateway;
  const holds = [
    auditOf(await api.preauthorise({ amount: 100 })),
    auditOf(await api.preauthorise({ amount: 100 })),
  ];
  const [voided, refunded] = holds as [number, number];
  const completions = [auditOf(await api.complete(voided, 100)), auditOf(await api.complete(refunded, 100))];
  await gateway.sql(
    `UPDATE transaction SET completable_until = now(), voidable_until = now() WHERE audit = ANY ($1)`,
    [holds],
  );
  await gateway.sql(
    `UPDATE transaction SET voidable_until = now() + interval '2 hours' WHERE audit = ANY ($1)`,
    [completions],
  );
  const cards = async () => [await hasCard(gateway, voided), await hasCard(gateway, refunded)];
  await gateway.advance('1h');
  await reviewedAtOnce(gateway);
  expect(await cards()).toEqual([true, true]);
  expect(await gateway.sql('SELECT FROM card_held')).toEqual([]);
  expect((await api.void(completions[0] as number)).status).toBe(201);
  const refund = auditOf(await api.refund(completions[1] as number, 100));
  await gateway.sql('UPDATE transaction SET voidable_until = created_at WHERE audit = $1', [refund]);
  await gateway.advance('1h');
  await reviewedAtOnce(gateway);
  expect(await cards()).toEqual([false, false]);
});

// catches(card: kept while a refund is in doubt)
test('refund in doubt after the card days → the card is kept until it is decided', async () => {
  const acquirer = new ScriptedAcquirer();
  const gateway = await testGateway({ acquirers: [acquirer] });
  const { api } = gateway;
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
  const purchase = auditOf(await api.purchase({ amount: 100 }));
  await moveClockByMs(gateway, 119 * DAY_MS);
  let confirmed = false;
  acquirer.nextAnswers(() => ({ kind: 'unknown', reason: 'unreadable' }));
  acquirer.nextFindings(...Array(500).fill(() => ({ kind: 'not_seen' })));
  acquirer.nextReversals(...Array(500).fill(() => (confirmed ? 'reversed' : 'no_answer')));
  const unknown = await api.refund(purchase, 100);
  expect(unknown.status).toBe(502);
  await moveClockByMs(gateway, 9 * DAY_MS);
  await reviewedAtOnce(gateway);
  expect(await hasCard(gateway, purchase)).toBe(true);
  confirmed = true;
  await api.decided(Number(unknown.headers.get('location')?.split('/').at(-1)));
  await moveClockByMs(gateway, 2 * HOUR_MS);
  await reviewedAtOnce(gateway);
  expect(await hasCard(gateway, purchase)).toBe(false);
});

// catches(card: kept while a void is in doubt)
test('void in doubt after its day → the card is kept for its reversal', async () => {
  const acquirer = new ScriptedAcquirer();
  const gateway = await testGateway({ acquirers: [acquirer] });
  const { api } = gateway;
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
  const purchase = auditOf(await api.purchase());
  acquirer.nextAnswers(() => ({ kind: 'unknown', reason: 'unreadable' }));
  acquirer.nextFindings(...Array(500).fill(() => ({ kind: 'no_answer' })));
  expect((await api.void(purchase)).status).toBe(502);
  await moveClockByMs(gateway, 6 * DAY_MS);
  await reviewedAtOnce(gateway);
  expect(await hasCard(gateway, purchase)).toBe(true);
});

// catches(card: kept while the refund of a completion can be voided)
// catches(card: kept while a refund can be voided)
test('refunded in full, with a refund that can still be voided → the card is kept for that', async () => {
  const gateway = await testGateway();
  const { api } = gateway;
  const purchase = auditOf(await api.purchase({ amount: 100 }));
  const preauthorisation = auditOf(await api.preauthorise({ amount: 100 }));
  const completion = auditOf(await api.complete(preauthorisation, 100));
  const refunds = [auditOf(await api.refund(purchase, 100)), auditOf(await api.refund(completion, 100))];
  await gateway.sql(
    `UPDATE transaction SET voidable_until = now() + interval '20 days' WHERE audit = ANY ($1)`,
    [refunds],
  );
  const cards = async () => [await hasCard(gateway, purchase), await hasCard(gateway, preauthorisation)];
  await gateway.advance('10d');
  await reviewedAtOnce(gateway);
  expect(await cards()).toEqual([true, true]);
  await gateway.advance('11d');
  await reviewedAtOnce(gateway);
  expect(await cards()).toEqual([false, false]);
});
