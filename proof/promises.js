// What the gateway promises a shop, held against the shop's memory, the gateway's rows and the acquirer's ledger.
import { askedAgain, differences, standingEntries, wrongReservations } from './books.js';

/**
 * Every broken promise in words, by the promise. Expects that everything has been decided.
 * @param {import('./shop.js').Order[]} orders what was asked, and what the shop was told
 * @param rows the gateway's transactions
 * @param entries the acquirer's ledger
 * @param {Map<number, object | undefined>} lookups what a look-up says at the end, by audit
 */
export function brokenPromises({ orders, rows, entries, lookups }) {
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
function paidTwice({ orders, rows, entries }) {
  const orderOf = new Map(rows.map(({ acquirerReference, reference }) => [acquirerReference, reference]));
  const payments = new Map();
  for (const { reference } of standingEntries(entries)) {
    const order = orderOf.get(reference) ?? `no transaction for ${reference}`;
    payments.set(order, [...(payments.get(order) ?? []), reference]);
  }
  return orders.flatMap((order) => {
    const paid = payments.get(order.reference) ?? [];
    const due = order.attempts.at(-1).status === 'approved' ? 1 : 0;
    return paid.length === due
      ? []
      : [`${named(order)}: ${paid.length} times instead of ${due} (${paid.join(', ')})`];
  });
}

/** An outcome is for ever, but for what the shop itself has voided. */
function saidAndUntrue({ orders, lookups }) {
  const voided = new Set(
    orders
      .filter(({ kind, attempts }) => kind === 'void' && attempts.at(-1).status === 'approved')
      .map(({ targetAudit }) => targetAudit),
  );
  return orders.flatMap((order) =>
    order.attempts
      .filter(({ status }) => status !== undefined)
      .flatMap((attempt) => {
        const expected = {
          status: voided.has(attempt.audit) ? 'voided' : attempt.status,
          kind: order.kind,
          reference: order.reference,
          target: order.targetAudit,
          // A void has the amount of its target.
          amount: order.amountCents === undefined ? undefined : String(order.amountCents),
        };
        const found = shownBy(lookups.get(attempt.audit), order);
        const wrong = Object.keys(expected).filter((key) => expected[key] !== found?.[key]);
        return wrong.map((key) => `${named(order, attempt)}: ${key} ${expected[key]}, found ${found?.[key]}`);
      }),
  );
}

function shownBy(lookup, { amountCents }) {
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
function processedAfterAll({ orders, rows, entries }) {
  const rowOf = new Map(rows.map((row) => [row.correlationId, row]));
  const standing = new Set(standingEntries(entries).map(({ reference }) => reference));
  return orders.flatMap((order) =>
    order.attempts
      .filter(({ end }) => end === 'not found')
      .map((attempt) => ({ attempt, row: rowOf.get(attempt.correlationId) }))
      .filter(({ row }) => row && (row.status !== 'error' || standing.has(row.acquirerReference)))
      .map(
        ({ attempt, row }) =>
          `${named(order, attempt)}: not found, and later audit ${row.audit} ${row.status}`,
      ),
  );
}

function named(order, attempt) {
  const audits = (attempt === undefined ? order.attempts : [attempt])
    .map(({ correlationId, audit }) => `${correlationId}${audit === undefined ? '' : ` audit ${audit}`}`)
    .join(', ');
  return `${order.kind} ${order.reference} [${audits}]`;
}
