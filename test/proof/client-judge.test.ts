// The judge of `npm run proof client`: what it must notice in the books of shops.
import { expect, test } from 'vitest';
import { brokenBooks, type Evidence } from '../../proof/client/judge.js';
import type { BookedOrder } from '../../proof/client/shop.js';
import type { LedgerEntry } from '../../src/acquirers/simulator/ledger.js';
import type { StoredTransaction } from '../../testkit/books.js';

const order = (change: Partial<BookedOrder> = {}): BookedOrder => ({
  name: '1-0',
  correlationIds: ['id-1'],
  amountCents: 1_995,
  state: 'paid',
  audit: 1,
  ...change,
});

const row = (change: Partial<StoredTransaction> = {}) =>
  ({
    audit: 1,
    acquirerReference: 'r-1',
    type: 'purchase',
    status: 'approved',
    amountCents: 1_995,
    completedBy: null,
    correlationId: 'id-1',
    ...change,
  }) as StoredTransaction;

const charge = (change: Partial<LedgerEntry> = {}) =>
  ({
    reference: 'r-1',
    operation: 'purchase',
    responseCode: '00',
    amountCents: 1_995,
    ...change,
  }) as LedgerEntry;

const SOUND: Evidence = { orders: [order()], rows: [row()], entries: [charge()] };

/** The promises that were broken. */
function broken(change: Partial<Evidence>): string[] {
  return Object.entries(brokenBooks({ ...SOUND, ...change }))
    .filter(([, cases]) => cases.length > 0)
    .map(([promise]) => promise);
}

test('an order paid once, and a declined one → no promise broken', () => {
  const declined = order({ name: '1-1', correlationIds: ['id-2'], state: 'declined', audit: 2 });
  const stored = row({ audit: 2, acquirerReference: 'r-2', status: 'declined', correlationId: 'id-2' });
  const refusal = charge({ reference: 'r-2', responseCode: '51' });
  expect(
    broken({
      orders: [order(), declined],
      rows: [row(), stored],
      entries: [charge(), refusal],
    }),
  ).toEqual([]);
});

test.each<[string, Partial<Evidence>, string]>([
  [
    'charged under two IDs',
    {
      orders: [order({ correlationIds: ['id-1', 'id-2'] })],
      rows: [row(), row({ audit: 2, acquirerReference: 'r-2', correlationId: 'id-2' })],
      entries: [charge(), charge({ reference: 'r-2' })],
    },
    'no order is charged twice, or for nothing',
  ],
  ['paid, and not charged', { entries: [] }, 'no order is charged twice, or for nothing'],
  [
    'charged, and held for declined',
    { orders: [order({ state: 'declined' })] },
    'what the shop knows is true',
  ],
  [
    'charged for another amount',
    { orders: [order({ amountCents: 5 })] },
    'no order is charged twice, or for nothing',
  ],
  ['known by another audit', { orders: [order({ audit: 9 })] }, 'what the shop knows is true'],
  ['left in doubt', { orders: [order({ state: 'unknown' })] }, 'every order has a known outcome'],
  ['only begun', { orders: [order({ state: 'begun' })] }, 'every order has a known outcome'],
  ['refused', { orders: [order({ state: 'refused' })] }, 'proper orders are not refused'],
  ['charged, and in no book', { orders: [] }, 'every charge belongs to an order'],
  [
    'under two IDs',
    { orders: [order({ correlationIds: ['id-1', 'id-3'] })] },
    'an order keeps its correlation ID',
  ],
  ['unknown to the gateway', { rows: [row({ status: 'unknown' })] }, 'every doubt is resolved'],
])('an order that is %s → noticed', (_name, change, promise) => {
  expect(broken(change)).toContain(promise);
});
