// Whether the checks of `npm run proof crash` notice: a story in which all is well, spoilt in one place at a time.
import { beforeEach, expect, test } from 'vitest';
import { brokenPromises } from '../../proof/arena/promises.js';

/** A purchase of 100, refunded by 30 after one try was not found, and a purchase that was voided. */
function story() {
  const row = (audit: number, type: string, amountCents: number, change: object) => ({
    audit,
    type,
    amountCents,
    acquirerReference: `X-1-${audit}`,
    targetAudit: null,
    status: 'approved',
    refundedCents: 0,
    completedCents: 0,
    completedBy: null,
    voidedBy: null,
    ...change,
  });
  const rows = [
    row(1, 'purchase', 100, { reference: 'a', correlationId: 'a.1', refundedCents: 30 }),
    row(2, 'refund', 30, { reference: 'b', correlationId: 'b.2', targetAudit: 1 }),
    row(3, 'purchase', 50, { reference: 'c', correlationId: 'c.1', status: 'voided', voidedBy: 4 }),
    row(4, 'void', 50, { reference: 'd', correlationId: 'd.1', targetAudit: 3 }),
  ];
  const entry = (audit: number, operation: string, amountCents: number, target?: number) => ({
    reference: `X-1-${audit}`,
    operation,
    amountCents,
    responseCode: '00',
    ...(target !== undefined && { targetReference: `X-1-${target}` }),
  });
  const entries = [
    entry(1, 'purchase', 100),
    entry(2, 'refund', 30, 1),
    entry(3, 'purchase', 50),
    entry(4, 'void', 50, 3),
  ];
  const told = (correlationId: string, audit: number) => ({
    correlationId,
    audit,
    status: 'approved',
    end: 'answered',
  });
  const orders = [
    { reference: 'a', kind: 'purchase', amountCents: 100, attempts: [told('a.1', 1)] },
    {
      reference: 'b',
      kind: 'refund',
      amountCents: 30,
      targetAudit: 1,
      attempts: [{ correlationId: 'b.1', end: 'not found' }, told('b.2', 2)],
    },
    { reference: 'c', kind: 'purchase', amountCents: 50, attempts: [told('c.1', 3)] },
    { reference: 'd', kind: 'void', targetAudit: 3, attempts: [told('d.1', 4)] },
  ];
  const lookups = new Map(
    rows.map((one) => [
      one.audit,
      {
        status: { transaction_status_code: one.status },
        transaction: {
          transaction_type: one.type,
          reference: (one as { reference?: string }).reference,
          ...(one.targetAudit !== null && { target_audit: one.targetAudit }),
          amount_details: { total_amount: String(one.amountCents) },
        },
      },
    ]),
  );
  // biome-ignore lint/suspicious/noExplicitAny: it is there to be spoilt
  return { rows, entries, orders, lookups } as any;
}

let told: ReturnType<typeof story>;
beforeEach(() => {
  told = story();
});

function broken(): string[] {
  return Object.entries(brokenPromises(told))
    .filter(([, cases]) => cases.length > 0)
    .map(([promise]) => promise);
}

test('all is well → no promise broken', () => {
  expect(broken()).toEqual([]);
});

const BOOKS = 'the books agree to the cent';
const ONCE = 'no order is paid twice';
const TRUE = 'what was said stays true';
const NOT_FOUND = 'what was not found is not processed';

test('a cent is missing in the ledger → reports the books', () => {
  told.entries[0].amountCents = 99;
  expect(broken()).toEqual([BOOKS]);
});

test('a line of the ledger is missing → reports the books, and the order that was not paid', () => {
  told.entries.splice(1, 1);
  expect(broken()).toEqual([BOOKS, ONCE]);
});

test('the acquirer reversed what the gateway calls approved → reports the books, and the order that was not paid', () => {
  told.entries.push({ reference: 'X-1-1', operation: 'reversal' });
  expect(broken()).toEqual([BOOKS, ONCE]);
});

test('a void is missing in the ledger → reports the books, and the void that did not happen', () => {
  told.entries.pop();
  expect(broken()).toEqual([BOOKS, ONCE]);
});

test('the first try was processed after all → reports paid twice, and processed although not found', () => {
  told.rows.push({ ...told.rows[1], audit: 5, acquirerReference: 'X-1-5', correlationId: 'b.1' });
  told.entries.push({ ...told.entries[1], reference: 'X-1-5' });
  told.rows[0].refundedCents = 60;
  expect(broken()).toEqual([ONCE, NOT_FOUND]);
});

test('the first try was processed late without effect → no promise broken', () => {
  told.rows.push({
    ...told.rows[1],
    audit: 5,
    acquirerReference: 'X-1-5',
    correlationId: 'b.1',
    status: 'error',
  });
  expect(broken()).toEqual([]);
});

test('charged although the shop got a decline → reports the order', () => {
  told.orders[0].attempts[0].status = 'declined';
  expect(broken()).toEqual([ONCE, TRUE]);
});

test.each([
  ['status', { status: { transaction_status_code: 'declined' } }],
  ['kind', { transaction_type: 'preauthorisation' }],
  ['reference', { reference: 'z' }],
  ['amount', { amount_details: { total_amount: '1000' } }],
  ['target', { target_audit: 4 }],
])('a look-up shows another %s → reports the contradiction', (_name, change) => {
  const lookup = told.lookups.get(1);
  told.lookups.set(
    1,
    'status' in change
      ? { ...lookup, ...change }
      : { ...lookup, transaction: { ...lookup.transaction, ...change } },
  );
  expect(broken()).toEqual([TRUE]);
});

test('a look-up finds nothing → reports the contradiction', () => {
  told.lookups.delete(2);
  expect(broken()).toEqual([TRUE]);
});

test('voided though the shop voided nothing → reports the contradiction', () => {
  told.orders.pop();
  expect(broken()).toEqual([TRUE]);
});

test('the shop complains → reports valid requests', () => {
  told.orders[0].attempts[0].complaint = 'refused with 409';
  expect(broken()).toEqual(['proper requests are served']);
});

test('the acquirer was asked again, and declined → reports a repeated payment', () => {
  told.entries.push({ ...told.entries[0], responseCode: '12' });
  expect(broken()).toEqual(['nothing is asked twice']);
});

test('a transaction is unknown at the end → reports every transaction in doubt', () => {
  const unheard = { ...told.rows[0], audit: 9, acquirerReference: 'X-1-9', reference: 'z', refundedCents: 0 };
  told.rows.push({ ...unheard, correlationId: 'z.1', status: 'unknown' });
  expect(broken()).toEqual(['every doubt is resolved']);
});

test.each([{ refundedCents: 31 }, { completedCents: 1 }, { completedBy: 2 }, { voidedBy: 2 }])(
  'a reservation without an operation, %o → reports reservations',
  (change) => {
    Object.assign(told.rows[0], change);
    expect(broken()).toContain('reservations are the sum of what is live');
  },
);
