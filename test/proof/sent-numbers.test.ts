// What the proofs over ISO 8583 make of the numbers that a gateway has stored.
import { expect, test } from 'vitest';
import { SentNumbers } from '../../proof/arena/sent-numbers.js';
import type { Installation } from '../../testkit/installation.js';

const DAY_MS = 86_400_000;
const NOON_MS = Date.UTC(2026, 10, 16, 12);

interface Sent {
  readonly stan: number;
  readonly terminal?: string;
  readonly reference?: string;
  readonly target?: number;
  readonly sentMs?: number;
}

/** Audits count up from 1. */
function numbers(sent: readonly Sent[], reversals: readonly { audit: number; stan: number }[] = []) {
  const rows = sent.map(({ stan, terminal = 'T1', reference, target, sentMs = NOON_MS }, index) => ({
    audit: index + 1,
    targetAudit: target ?? null,
    prepared: { stan, terminal, retrievalReference: reference ?? `R${index}`, sentMs },
  }));
  const reversed = reversals.map((each) => ({ ...each, begunMs: NOON_MS }));
  const installation = {
    sql: async (text: string) => (text.includes('acquirer_reversal') ? reversed : rows),
  };
  return SentNumbers.read(installation as unknown as Installation);
}

test('one STAN for two payments, or for a payment and a reversal → used twice', async () => {
  const sent = await numbers([{ stan: 7 }, { stan: 7 }, { stan: 8 }], [{ audit: 1, stan: 8 }]);
  expect(sent.usedTwice()).toEqual([
    'T1/1116/000007: audit 1 and audit 2',
    'T1/1116/000008: audit 3 and the reversal of audit 1',
  ]);
});

test('the same STAN over another terminal or on another day → not used twice', async () => {
  const sent = await numbers([
    { stan: 7 },
    { stan: 7, terminal: 'T2' },
    { stan: 7, sentMs: NOON_MS + DAY_MS },
  ]);
  expect(sent.usedTwice()).toEqual([]);
});

test('one retrieval reference for two payments → used twice; for a payment and its refund → not', async () => {
  const payments = await numbers([
    { stan: 1, reference: 'A' },
    { stan: 2, reference: 'A' },
  ]);
  expect(payments.usedTwice()).toEqual(['T1, retrieval reference A: audit 1 and audit 2']);
  const refunded = await numbers([
    { stan: 1, reference: 'A' },
    { stan: 2, reference: 'A', target: 1 },
  ]);
  expect(refunded.usedTwice()).toEqual([]);
  expect(refunded.differentReferences(new Map([['T1/1116/000002', 'A']]))).toEqual([]);
  expect(refunded.differentReferences(new Map([['T1/1116/000002', 'B']]))).toHaveLength(1);
});

test('a number that the host has and the gateway never sent → reported', async () => {
  const sent = await numbers([{ stan: 1 }]);
  expect(sent.differentReferences(new Map([['T1/1116/000009', 'R0']]))).toHaveLength(1);
  expect([sent.auditOf('T1/1116/000001'), sent.keyOf(1), sent.keyOf(2)]).toEqual([
    1,
    'T1/1116/000001',
    undefined,
  ]);
});
