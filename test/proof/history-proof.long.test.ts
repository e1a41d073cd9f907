// The short form of `npm run proof history`, and whether its own judge can tell right from wrong.
import { expect, test } from 'vitest';
import { brokenPromises } from '../../proof/history/judge.js';
import type { Recorded, Shown } from '../../proof/history/record.js';
import { runProof } from './program.js';

test('clients race under kills, freezes and a hostile acquirer → the history is linearizable, and all books agree', async () => {
  const args = [
    '--operations',
    '120',
    '--clients',
    '8',
    '--seed',
    '20240422',
    '--judge',
    'own',
    '--holds',
    '0',
  ];
  const { code, output } = await runProof('history', args);
  expect(output).toMatch(/^history: seed 20240422, [1-9]\d+ operations .*; 0 promises broken$/m);
  expect(code).toBe(0);
});

const bought: Shown = {
  audit: 7,
  type: 'purchase',
  reference: 'r-1',
  amountCents: 1_000,
  status: 'approved',
  gatewayCode: 0,
  refundableCents: 1_000,
};
const purchase: Recorded = {
  kind: 'purchase',
  correlationId: 'one',
  reference: 'r-1',
  amountCents: 1_000,
  client: 0,
  gateway: 0,
  sentMs: 10,
  leftMs: 11,
  endMs: 20,
  status: 201,
  audit: 7,
  shown: [bought],
};
const refund: Recorded = {
  ...purchase,
  kind: 'refund',
  correlationId: 'two',
  reference: 'r-2',
  targetAudit: 7,
  amountCents: 400,
  sentMs: 30,
  leftMs: 31,
  endMs: 40,
  audit: 8,
  shown: [],
};
const refunded: Shown = {
  ...bought,
  audit: 8,
  type: 'refund',
  reference: 'r-2',
  targetAudit: 7,
  amountCents: 400,
};

const look = (sentMs: number, change: Partial<Shown> = {}): Recorded => ({
  kind: 'lookup',
  correlationId: 'look',
  targetAudit: 7,
  client: 1,
  gateway: 1,
  sentMs,
  endMs: sentMs + 5,
  status: 200,
  shown: [{ ...bought, ...change }],
});
const search = (sentMs: number, shown: readonly Shown[]): Recorded => ({
  ...look(sentMs),
  kind: 'search',
  correlationId: 'one',
  shown,
});
const event = (version: number, status: string) => ({
  id: `evt_1_transaction_7_${version}`,
  version,
  type: `transaction.${status}`,
});

const SEEN = 'what was seen decided is never seen otherwise';
const AMOUNTS = 'amounts fit';
const VOIDS = 'a void is approved exactly if its target is voided';
const HOLDERS = 'a correlation ID has one transaction';
const EMPTY = 'what was said not to be there is never processed';
const TRUE = 'what was answered turns out to be true';
const EVENTS = 'events tell of allowed ways, in order';

test.each<[string, Recorded[], string[], ReturnType<typeof event>[]?]>([
  ['bought and looked at', [purchase, look(50)], []],
  [
    'in doubt, then approved',
    [{ ...purchase, status: 504, shown: [] }, look(30, { status: 'unknown' }), look(50)],
    [],
  ],
  ['approved, then in doubt', [purchase, look(50, { status: 'unknown' })], [SEEN]],
  ['in doubt while another sees it approved', [look(48), look(50, { status: 'unknown' }), look(90)], []],
  ['an error, then approved', [look(30, { status: 'error', gatewayCode: 2 }), look(50)], [SEEN]],
  ['another amount later', [look(30), look(50, { amountCents: 1 })], [SEEN, AMOUNTS]],
  ['voided without a void', [look(50, { status: 'voided' })], [VOIDS]],
  [
    'refunded, and shown so',
    [purchase, refund, { ...look(50), shown: [refunded] }, look(60, { refundableCents: 600 })],
    [],
  ],
  ['refunded, and not shown', [purchase, refund, { ...look(50), shown: [refunded] }, look(60)], [AMOUNTS]],
  [
    'refunded too much',
    [purchase, refund, { ...look(50), shown: [{ ...refunded, amountCents: 1_001 }] }, look(60)],
    [AMOUNTS, TRUE],
  ],
  ['two transactions under one ID', [purchase, search(50, [{ ...bought, audit: 9 }]), look(70)], [HOLDERS]],
  [
    '409 for the sake of the first',
    [purchase, { ...purchase, reference: 'r-3', sentMs: 12, status: 409, shown: [] }],
    [],
  ],
  [
    '409 before the first was sent',
    [purchase, { ...purchase, reference: 'r-3', sentMs: 1, endMs: 5, status: 409, shown: [] }],
    [HOLDERS],
  ],
  ['not found, and sent afterwards', [search(1, []), purchase], []],
  ['not found after it was answered', [purchase, search(50, []), look(90)], [EMPTY]],
  ['not found after it had left', [{ ...purchase, endMs: 80 }, search(50, []), look(90)], [EMPTY]],
  [
    'not found after it had left, and nothing was sent',
    [
      { ...purchase, endMs: 80, shown: [{ ...bought, status: 'error', gatewayCode: 1 }] },
      search(50, []),
      look(90, { status: 'error', gatewayCode: 1 }),
    ],
    [],
  ],
  ['refused as not processed, and there', [{ ...purchase, status: 503, shown: [] }, look(50)], [TRUE]],
  ['500', [{ ...purchase, status: 500, shown: [] }], [TRUE]],
  ['looked up, seen before and gone', [purchase, { ...look(50), status: 404, shown: [] }, look(90)], [TRUE]],
  ['events in order', [], [], [event(1, 'unknown'), event(2, 'approved'), event(3, 'voided')]],
  ['an event left out', [], [EVENTS], [event(1, 'unknown'), event(3, 'voided')]],
  ['decided twice', [], [EVENTS], [event(1, 'error'), event(2, 'approved')]],
])('the judge, %s → reports that violation, and nothing else', (_what, history, expected, events = []) => {
  const broken = Object.entries(brokenPromises(history, events)).filter(([, cases]) => cases.length > 0);
  expect(broken.map(([promise]) => promise)).toEqual(expected);
});
