// What the gateway promises a shop, held against the shop's memory, the gateway's rows and the acquirer's ledger.
import type { LedgerEntry } from '../../src/acquirers/simulator/ledger.js';
import type { Json } from '../../testkit/bodies.js';
import {
  askedAgain,
  differences,
  type StoredTransaction,
  standingEntries,
  wrongReservations,
} from '../../testkit/books.js';
import type { Attempt, Order } from './shop.js';

/** What is known when a trade is over. */
export interface Story {
  /** What was asked, and what the shop was told. */
  readonly orders: readonly Order[];
  /** The gateway's transactions. */
  readonly rows: readonly StoredTransaction[];
  /** The acquirer's ledger. */
  readonly entries: readonly LedgerEntry[];
  /** What a look-up says at the end, by audit. */
  readonly lookups: ReadonlyMap<number, Json | undefined>;
}

/** Every broken promise in words, by the promise. Expects that everything has been decided. */
export function brokenPromises({ orders, rows, entries, lookups }: Story) {
  return {
    'the books agree to the cent': differences(rows, entries),
    'no order is paid twice': paidTwice({ orders, rows, entries }),
    'what was said stays true': saidAndUntrue({ orders, lookups }),
    'what was not found is not processed': processedAfterAll({ orders, rows, entries }),
    'proper requests are served': orders.flatMap((order) =>
      order.attempts
        .filter(({ complaint }) => complaint !== undefined)
        .map((attempt) => `${named(order, attempt)}: ${attempt.complaint}`),
    ),
    'nothing is asked twice': askedAgain(entries),
    'every doubt is resolved': rows
      .filter(({ status }) => status === 'unknown')
      .map(({ audit, correlationId }) => `audit ${audit} (${correlationId}) is still unknown`),
    'reservations are the sum of what is live': wrongReservations(rows),
  };
}

/** Whom the money of an order moved for: once if the shop was told so, otherwise not at all. */
function paidTwice({ orders, rows, entries }: Pick<Story, 'orders' | 'rows' | 'entries'>): string[] {
  const orderOf = new Map(rows.map(({ acquirerReference, reference }) => [acquirerReference, reference]));
  const payments = new Map<string, string[]>();
  for (const { reference } of standingEntries(entries)) {
    const order = orderOf.get(reference) ?? `no transaction for ${reference}`;
    payments.set(order, [...(payments.get(order) ?? []), reference]);
  }
  return orders.flatMap((order) => {
    const paid = payments.get(order.reference) ?? [];
    const due = order.attempts.at(-1)?.status === 'approved' ? 1 : 0;
    return paid.length === due
      ? []
      : [`${named(order)}: ${paid.length} times instead of ${due} (${paid.join(', ')})`];
  });
}

/** An outcome is for ever, but for what the shop itself has voided. */
function saidAndUntrue({ orders, lookups }: Pick<Story, 'orders' | 'lookups'>): string[] {
  const voided = new Set(
    orders
      .filter(({ kind, attempts }) => kind === 'void' && attempts.at(-1)?.status === 'approved')
      .map(({ targetAudit }) => targetAudit),
  );
  return orders.flatMap((order) =>
    order.attempts
      .filter(({ status }) => status !== undefined)
      .flatMap((attempt) => {
        const audit = attempt.audit as number;
        const expected: Record<string, unknown> = {
          status: voided.has(audit) ? 'voided' : attempt.status,
          kind: order.kind,
          reference: order.reference,
          target: order.targetAudit,
          // A void has the amount of its target.
          amount: order.amountCents === undefined ? undefined : String(order.amountCents),
        };
        const found = shownBy(lookups.get(audit), order);
        const wrong = Object.keys(expected).filter((key) => expected[key] !== found?.[key]);
        return wrong.map((key) => `${named(order, attempt)}: ${key} ${expected[key]}, found ${found?.[key]}`);
      }),
  );
}

function shownBy(lookup: Json | undefined, { amountCents }: Order): Record<string, unknown> | undefined {
  return (
    lookup && {
      status: lookup.status.transaction_status_code,
      kind: lookup.transaction.transaction_type,
      reference: lookup.transaction.reference,
      target: lookup.transaction.target_audit,
      amount: amountCents === undefined ? undefined : lookup.transaction.amount_details.total_amount,
    }
  );
}

/** A shop that does not find a transaction pays again: so it must not come to anything later. */
function processedAfterAll({ orders, rows, entries }: Pick<Story, 'orders' | 'rows' | 'entries'>): string[] {
  const rowOf = new Map(rows.map((row) => [row.correlationId, row]));
  const standing = new Set(standingEntries(entries).map(({ reference }) => reference));
  return orders.flatMap((order) =>
    order.attempts
      .filter(({ end }) => end === 'not found')
      .flatMap((attempt) => {
        const row = rowOf.get(attempt.correlationId);
        return row && (row.status !== 'error' || standing.has(row.acquirerReference))
          ? [`${named(order, attempt)}: not found, and later audit ${row.audit} ${row.status}`]
          : [];
      }),
  );
}

function named(order: Order, attempt?: Attempt): string {
  const audits = (attempt === undefined ? order.attempts : [attempt])
    .map(({ correlationId, audit }) => `${correlationId}${audit === undefined ? '' : ` audit ${audit}`}`)
    .join(', ');
  return `${order.kind} ${order.reference} [${audits}]`;
}
