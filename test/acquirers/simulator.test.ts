// The simulated acquirer: what it answers to each card, and what it books.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AcquirerRequest } from '../../src/acquirers/contract.js';
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
import { acquirerContract } from './contract-suite.js';

async function openSimulator() {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-simulator-'));
  const path = join(directory, 'ledger.ndjson');
  const ledger = await SimulatorLedger.open(path);
  let closed = false;
  const close = () => {
    if (!closed) ledger.close();
    closed = true;
  };
  return {
    path,
    ledger,
    acquirer: new Simulator(ledger),
    close: async () => {
      close();
      await rm(directory, { recursive: true, force: true });
    },
    breakDown: async () => close(),
  };
}

acquirerContract('the simulator', async () => {
  const simulator = await openSimulator();
  return { ...simulator, cardAnsweredWith, written: () => readFile(simulator.path, 'latin1') };
});

describe('the simulator', () => {
  let simulator: Awaited<ReturnType<typeof openSimulator>>;
  beforeEach(async () => {
    simulator = await openSimulator();
  });
  afterEach(() => simulator.close());

  let sent = 0;
  function request(pan: string, change: Partial<AcquirerRequest> = {}): AcquirerRequest {
    const number = new CardNumber(pan);
    sent += 1;
    return {
      operation: 'purchase',
      reference: `S-1-${sent}`,
      amountCents: cents('100'),
      currency: 'AUD',
      card: { number, expiry: { month: 6, year: 2030 } },
      cardMask: number.mask,
      atMs: Date.parse('2026-11-15T00:00:00Z'),
      ...change,
    };
  }

  const ledger = () => wholeLedger(simulator.path);
  const ask = (asked: AcquirerRequest, deadlineMs = 1_000) => simulator.acquirer.ask(asked, deadlineMs);

  /** Whether there is still no answer after a while. */
  async function unanswered(answer: Promise<unknown>): Promise<boolean> {
    return Promise.race([answer.then(() => false), sleep(100).then(() => true)]);
  }

  test('an ordinary card → one entry with everything but the card number', async () => {
    const asked = request(CARD, { reference: 'ABCDEF-1-17' });
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

  test('every response code → the answer of that code, with some words', async () => {
    for (let number = 0; number < 100; number += 1) {
      const code = String(number).padStart(2, '0');
      const answer = await ask(request(cardAnsweredWith(code)));
      expect(answer).toMatchObject({ responseCode: code, responseMessage: expect.stringMatching(/./) });
    }
  });

  test.each([
    ['2030-06-30T13:59:59Z', '00'],
    ['2030-06-30T14:00:00Z', '54'],
  ])('a card good until June 2030, at %s → %s, since July begins at midnight in Sydney', async (at, code) => {
    expect(await ask(request(CARD, { atMs: Date.parse(at) }))).toMatchObject({ responseCode: code });
  });

  test('a refund of a card that has expired since → approved: no card is presented', async () => {
    const { card: _, ...refund } = request(CARD, {
      operation: 'refund',
      atMs: Date.parse('2050-01-01T00:00:00Z'),
    });
    expect(await ask(refund)).toMatchObject({ kind: 'approved' });
  });

  /** A refund of a payment with this card, of which only the mask is known. */
  async function refundOf(pan: string, change: Partial<AcquirerRequest> = {}): Promise<AcquirerRequest> {
    const payment = request(pan);
    await Promise.race([ask(payment), sleep(100)]);
    const { card: _, ...refund } = request(pan, { operation: 'refund', targetReference: payment.reference });
    return { ...refund, ...change };
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
      expect(await simulator.acquirer.inquire(refund.reference)).toMatchObject({ kind: 'approved' });
    },
  );

  test('an operation on an operation on a payment with a test card → as the card asks for, too', async () => {
    const refund = await refundOf(cardWithFaultLater('03'));
    await unanswered(ask(refund));
    const { card: _, ...voiding } = request(cardWithFaultLater('03'), {
      operation: 'void',
      targetReference: refund.reference,
    });
    expect(await unanswered(ask(voiding))).toBe(true);
  });

  test('an operation on a payment with a card whose mask only looks like a test card → approved', async () => {
    for (const pan of ['4100001000000510', '4200001000000039', '4300001000000513', '4400001000000025']) {
      expect(await ask(await refundOf(pan))).toMatchObject({ kind: 'approved', responseCode: '00' });
    }
  });

  test('an operation on a payment with a test card that another process took in → as the card asks for', async () => {
    const payment = request(cardAnsweredLaterWith('05'));
    await ask(payment);
    const other = await SimulatorLedger.open(simulator.path);
    const { card: _, ...refund } = request(cardAnsweredLaterWith('05'), {
      operation: 'refund',
      targetReference: payment.reference,
    });
    expect(await new Simulator(other).ask(refund, 1_000)).toMatchObject({ responseCode: '05' });
    other.close();
  });

  test('fault 01 → not sent, and nothing in the ledger', async () => {
    expect(await ask(request(UNREACHABLE_CARD))).toEqual({ kind: 'not_sent' });
    expect(await ledger()).toEqual([]);
  });

  test('fault 02 → no answer, and nothing in the ledger', async () => {
    const asked = request(LOST_REQUEST_CARD);
    expect(await unanswered(ask(asked))).toBe(true);
    expect(await ledger()).toEqual([]);
    expect(await simulator.acquirer.inquire(asked.reference)).toEqual({ kind: 'not_seen' });
  });

  test('fault 03 → no answer, but approved in the ledger', async () => {
    const asked = request(LOST_ANSWER_CARD);
    expect(await unanswered(ask(asked))).toBe(true);
    expect(await simulator.acquirer.inquire(asked.reference)).toMatchObject({ kind: 'approved' });
  });

  test('fault 04 → approved in the ledger, and the answer comes after the deadline', async () => {
    const asked = request(LATE_ANSWER_CARD);
    const deadline = sleep(200).then(() => 'deadline');
    const answer = ask(asked, 200);
    expect(await Promise.race([answer, deadline])).toBe('deadline');
    expect(await simulator.acquirer.inquire(asked.reference)).toMatchObject({ kind: 'approved' });
  });

  test('fault 05 → unreadable, but approved in the ledger', async () => {
    const asked = request(UNREADABLE_ANSWER_CARD);
    expect(await ask(asked)).toEqual({ kind: 'unknown', reason: 'unreadable' });
    expect(await simulator.acquirer.inquire(asked.reference)).toMatchObject({ kind: 'approved' });
  });

  test('fault 06 → not in the ledger at first; approved in the end, or refused if it was reversed meanwhile', async () => {
    const [kept, reversed] = [request(SLOW_CARD), request(SLOW_CARD)];
    const answers = [ask(kept, 10_000), ask(reversed, 10_000)];
    expect(await simulator.acquirer.inquire(kept.reference)).toEqual({ kind: 'not_seen' });
    await simulator.acquirer.reverse(reversed.reference);
    const [first, second] = await Promise.all(answers);
    expect(first).toMatchObject({ kind: 'approved' });
    expect(second).toMatchObject({ kind: 'declined', responseCode: '12' });
  });

  test('a card that only begins like a test card → approved', async () => {
    for (const pan of ['4100001000000510', '4200000000001020', '4200000000000075']) {
      expect(await ask(request(pan))).toMatchObject({ kind: 'approved', responseCode: '00' });
    }
  });
});
