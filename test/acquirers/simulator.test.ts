// The simulated acquirer: what it answers to each card, and what it books.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Order } from '../../src/acquirers/contract.js';
import { SimulatorLedger } from '../../src/acquirers/simulator/ledger.js';
import { Simulator } from '../../src/acquirers/simulator/simulator.js';
import { CardNumber } from '../../src/values/card.js';
import { cents } from '../../src/values/money.js';
import { CARD } from '../../testkit/client.js';
import { wholeLedger } from '../../testkit/gateway.js';
import {
  cardAnsweredLaterWith,
  cardAnsweredWith,
  cardWithFaultLater,
  LATE_ANSWER_CARD,
  LOST_ANSWER_CARD,
  LOST_REQUEST_CARD,
  SLOW_CARD,
  UNREACHABLE_CARD,
  UNREADABLE_ANSWER_CARD,
} from '../../testkit/test-cards.js';
import { linkContract } from './contract-suite.js';
import { onTarget, type PaymentOrder, stored } from './orders.js';

async function openSimulator(deadlineMs = 1_000, slowMs = 2_000) {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-simulator-'));
  const path = join(directory, 'ledger.ndjson');
  const ledger = new SimulatorLedger(path);
  const link = new Simulator({ ledger, deadlineMs, slowMs });
  await link.open();
  return {
    path,
    link,
    cleanUp: async () => {
      await link.close();
      await rm(directory, { recursive: true, force: true });
    },
    breakDown: () => link.close(),
  };
}

linkContract('the simulator', { takes: 'card', inquiries: true, prepares: false }, async () => {
  const simulator = await openSimulator();
  return { ...simulator, cardAnsweredWith, written: () => readFile(simulator.path, 'latin1') };
});

describe('the simulator', () => {
  let simulator: Awaited<ReturnType<typeof openSimulator>>;
  beforeEach(async () => {
    simulator = await openSimulator();
  });
  afterEach(() => simulator.cleanUp());

  let sent = 0;
  function payment(pan: string, change: Partial<PaymentOrder> = {}): PaymentOrder {
    const card = { number: new CardNumber(pan), expiry: { month: 6, year: 2030 } };
    sent += 1;
    return {
      operation: 'purchase',
      reference: `S-1-${sent}`,
      organisationId: 1,
      merchantId: 1,
      amountCents: cents('100'),
      currency: 'AUD',
      atMs: Date.parse('2026-11-15T00:00:00Z'),
      method: { kind: 'card', card },
      ...change,
    } as PaymentOrder;
  }

  const ledger = () => wholeLedger(simulator.path);
  const ask = (order: Order) => simulator.link.ask(order);
  const inquire = (order: Order) => simulator.link.inquire(stored(order));

  /** Whether there is still no answer after a while, which only time shows. */
  async function unanswered(answer: Promise<unknown>): Promise<boolean> {
    return Promise.race([answer.then(() => false), sleep(100).then(() => true)]);
  }

  test('an ordinary card → one entry with everything but the card number', async () => {
    const asked = payment(CARD, { reference: 'ABCDEF-1-17' });
    const answer = await ask(asked);
    expect(await ledger()).toEqual([
      {
        atMs: expect.any(Number),
        reference: 'ABCDEF-1-17',
        operation: 'purchase',
        amountCents: 100,
        currency: 'AUD',
        cardMask: '411111******1111',
        responseCode: '00',
        authorisationCode: 'authorisationCode' in answer ? answer.authorisationCode : undefined,
      },
    ]);
  });

  test('every response code → the answer has that code and a text', async () => {
    for (let number = 0; number < 100; number += 1) {
      const code = String(number).padStart(2, '0');
      const answer = await ask(payment(cardAnsweredWith(code)));
      expect(answer).toMatchObject({ responseCode: code, responseMessage: expect.stringMatching(/./) });
    }
  });

  test.each([
    ['2030-06-30T13:59:59Z', '00'],
    ['2030-06-30T14:00:00Z', '54'],
  ])('a card good until June 2030, at %s → %s, since July begins at midnight in Sydney', async (at, code) => {
    expect(await ask(payment(CARD, { atMs: Date.parse(at) }))).toMatchObject({ responseCode: code });
  });

  test('a refund of a card that has expired since → approved: no card is presented', async () => {
    const refund = onTarget('refund', payment(CARD));
    const since = Date.parse('2050-01-01T00:00:00Z');
    expect(await ask({ ...refund, atMs: since })).toMatchObject({ kind: 'approved' });
  });

  /** A refund of a payment with this card, which is not presented again. */
  async function refundOf(pan: string): Promise<Order> {
    const paid = payment(pan);
    await Promise.race([ask(paid), inLedger(paid)]);
    return onTarget('refund', paid);
  }

  async function inLedger(order: Order): Promise<void> {
    const approved = async () => expect(await inquire(order)).toMatchObject({ kind: 'approved' });
    await vi.waitFor(approved, { timeout: 300_000, interval: 5 });
  }

  test.each([
    cardAnsweredWith('08'),
    cardAnsweredLaterWith('51'),
    cardAnsweredLaterWith('05'),
    cardAnsweredLaterWith('96'),
  ])('an operation on a payment with %s → the code that the card asks for', async (pan) => {
    expect(await ask(await refundOf(pan))).toMatchObject({ responseCode: pan.slice(13, 15) });
    const [payment] = await ledger();
    expect(payment).toMatchObject({ responseCode: pan.startsWith('41') ? '08' : '00' });
  });

  test.each([LOST_ANSWER_CARD, cardWithFaultLater('03')])(
    'an operation on a payment with %s → the fault that the card asks for',
    async (pan) => {
      const refund = await refundOf(pan);
      expect(await unanswered(ask(refund))).toBe(true);
      await inLedger(refund);
    },
  );

  test('an operation on an operation on a payment with a test card → as the card asks for', async () => {
    const refund = await refundOf(cardWithFaultLater('03'));
    void ask(refund);
    await inLedger(refund);
    expect(await unanswered(ask(onTarget('void', refund)))).toBe(true);
  });

  test('an operation on a payment with a card that only looks like a test card → approved', async () => {
    for (const pan of ['4100001000000510', '4200001000000039', '4300001000000513', '4400001000000025']) {
      expect(await ask(await refundOf(pan))).toMatchObject({ kind: 'approved', responseCode: '00' });
    }
  });

  test('an operation on a payment with a test card that another process accepted → as the card asks for', async () => {
    const other = new Simulator({
      ledger: new SimulatorLedger(simulator.path),
      deadlineMs: 1_000,
      slowMs: 1,
    });
    await other.open();
    const refund = await refundOf(cardAnsweredLaterWith('05'));
    expect(await other.ask(refund)).toMatchObject({ responseCode: '05' });
    await other.close();
  });

  test('fault 01 → not sent, and nothing in the ledger', async () => {
    expect(await ask(payment(UNREACHABLE_CARD))).toEqual({ kind: 'not_sent' });
    expect(await ledger()).toEqual([]);
  });

  test('fault 02 → no answer, and nothing in the ledger', async () => {
    const asked = payment(LOST_REQUEST_CARD);
    expect(await unanswered(ask(asked))).toBe(true);
    expect(await ledger()).toEqual([]);
    expect(await inquire(asked)).toEqual({ kind: 'not_seen' });
  });

  test('fault 03 → no answer, but approved in the ledger', async () => {
    const asked = payment(LOST_ANSWER_CARD);
    expect(await unanswered(ask(asked))).toBe(true);
    await inLedger(asked);
  });

  test('fault 04 → approved in the ledger, and the answer comes after the deadline', async () => {
    const asked = payment(LATE_ANSWER_CARD);
    const deadline = sleep(1_000).then(() => 'deadline');
    expect(await Promise.race([ask(asked), deadline])).toBe('deadline');
    expect(await inquire(asked)).toMatchObject({ kind: 'approved' });
  });

  test('fault 05 → unreadable, but approved in the ledger', async () => {
    const asked = payment(UNREADABLE_ANSWER_CARD);
    expect(await ask(asked)).toEqual({ kind: 'unknown', reason: 'unreadable' });
    expect(await inquire(asked)).toMatchObject({ kind: 'approved' });
  });

  test('fault 06 → not in the ledger at first; approved in the end, or refused if it was reversed meanwhile', async () => {
    const [kept, reversed] = [payment(SLOW_CARD), payment(SLOW_CARD)];
    const answers = [ask(kept), ask(reversed)];
    expect(await inquire(kept)).toEqual({ kind: 'not_seen' });
    await simulator.link.reverse(stored(reversed));
    const [first, second] = await Promise.all(answers);
    expect(first).toMatchObject({ kind: 'approved' });
    expect(second).toMatchObject({ kind: 'declined', responseCode: '12' });
  });

  test('a card that only begins like a test card → approved', async () => {
    for (const pan of ['4100001000000510', '4200000000001020', '4200000000000075']) {
      expect(await ask(payment(pan))).toMatchObject({ kind: 'approved', responseCode: '00' });
    }
  });
});
