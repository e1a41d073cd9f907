// The books of shops, held against the gateway's rows and the acquirer's ledger.
import type { LedgerEntry } from '../../src/acquirers/simulator/ledger.js';
import { askedAgain, differences, type StoredTransaction, standingEntries } from '../../testkit/books.js';
import type { BookedOrder } from './shop.js';

export interface Evidence {
  readonly orders: readonly BookedOrder[];
  readonly rows: readonly StoredTransaction[];
  readonly entries: readonly LedgerEntry[];
  /** What was bought before the shops opened. */
  readonly before?: StoredTransaction | undefined;
}

const KNOWN = ['paid', 'declined', 'refused'];

/** Every broken promise in words, by the promise. */
export function brokenBooks({ orders, rows, entries: all, before }: Evidence) {
  const entries = all.filter(({ reference }) => reference !== before?.acquirerReference);
  const charges = chargesByCorrelationId(rows, entries);
  const ours = new Set(orders.flatMap(({ correlationIds }) => correlationIds));
  return {
    'no order is charged twice, or for nothing': orders.flatMap((order) => wronglyCharged(order, charges)),
    'every order has a known outcome': orders
      .filter(({ state }) => !KNOWN.includes(state))
      .map(({ name, state }) => `${name} is ${state}`),
    'proper orders are not refused': orders
      .filter(({ state }) => state === 'refused')
      .map(({ name, correlationIds }) => `${name} [${correlationIds}]`),
    'an order keeps its correlation ID': orders
      .filter(({ correlationIds }) => correlationIds.length !== 1)
      .map(({ name, correlationIds }) => `${name} [${correlationIds}]`),
    'every charge belongs to an order': [...charges.keys()].filter((id) => !ours.has(id)),
    'what the shop knows is true': untrue(orders, rows),
    'the gateway’s books agree with the acquirer’s to the cent': differences(
      rows.filter(({ status }) => status !== 'unknown'),
      entries,
    ),
    'nothing is asked twice': askedAgain(entries),
    'every doubt is resolved': rows
      .filter(({ status }) => status === 'unknown')
      .map(({ audit }) => `audit ${audit}`),
  };
}

/** Cents that the acquirer has charged and not reversed. */
function chargesByCorrelationId(
  rows: readonly StoredTransaction[],
  entries: readonly LedgerEntry[],
): Map<string, number[]> {
  const idOf = new Map(
    rows.map(({ acquirerReference, correlationId }) => [acquirerReference, correlationId]),
  );
  const charges = new Map<string, number[]>();
  for (const { reference, amountCents = 0 } of standingEntries(entries)) {
    const id = idOf.get(reference) ?? `no transaction for ${reference}`;
    charges.set(id, [...(charges.get(id) ?? []), amountCents]);
  }
  return charges;
}

function wronglyCharged(order: BookedOrder, charges: ReadonlyMap<string, readonly number[]>): string[] {
  const { name, state, amountCents, correlationIds } = order;
  const charged = correlationIds.flatMap((id) => charges.get(id) ?? []);
  const due = state === 'paid' ? [amountCents] : [];
  return charged.join() === due.join()
    ? []
    : [`${name} is ${state} for ${amountCents}, and charged: ${charged.join(', ') || 'nothing'}`];
}

function untrue(orders: readonly BookedOrder[], rows: readonly StoredTransaction[]): string[] {
  const rowOf = new Map(rows.map((row) => [row.correlationId, row]));
  return orders.flatMap(({ name, state, audit, correlationIds }) => {
    const meant = state === 'paid' ? ['approved'] : ['declined', 'error'];
    if (state !== 'paid' && state !== 'declined') return [];
    const row = rowOf.get(correlationIds[0] ?? '');
    return row?.audit === audit && meant.includes(row?.status ?? '')
      ? []
      : [`${name} is ${state} by audit ${audit}, and stored: audit ${row?.audit} ${row?.status}`];
  });
}
