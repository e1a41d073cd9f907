// What an empty answer promises, held against the books: of what was sent before it nothing comes, and nothing was there.
import { standingEntries } from './books.js';

/** A request counts as sent before a search if it was so by this much: clocks are read before and after the fact. */
const MARGIN_MS = 10;

/** Pairs of a request and a search for it that was sent later, and told that there is nothing. */
export function foundOutLate({ requests, searches }) {
  const emptyById = new Map();
  for (const search of nothing(searches)) {
    emptyById.set(search.id, [...(emptyById.get(search.id) ?? []), search]);
  }
  return requests
    .filter(({ sentMs }) => sentMs !== undefined)
    .flatMap((request) =>
      (emptyById.get(request.id) ?? [])
        .filter((search) => request.sentMs + MARGIN_MS <= search.sentMs)
        .slice(0, 1)
        .map((search) => ({ request, search })),
    );
}

/**
 * Every broken promise in words, by the promise. Expects that everything has been decided.
 * @param {import('./empty-round.js').Request[]} requests
 * @param {import('./empty-round.js').Search[]} searches
 */
export function brokenPromises({ requests, searches, rows, entries }) {
  const rowOf = new Map(rows.map((row) => [row.reference, row]));
  const standing = new Set(standingEntries(entries).map(({ reference }) => reference));
  const idOf = new Map(rows.map((row) => [row.acquirerReference, row.correlationId]));
  const inLedgerAt = new Map(entries.map(({ reference, endsAt }) => [idOf.get(reference), endsAt]).reverse());
  return {
    'what was sent before an empty answer is not processed after it': foundOutLate({ requests, searches })
      .map((pair) => ({ ...pair, row: rowOf.get(pair.request.reference) }))
      .filter(({ row }) => row && (row.status !== 'error' || standing.has(row.acquirerReference)))
      .map(
        ({ request, search, row }) =>
          `${request.reference}: sent ${Math.round(search.sentMs - request.sentMs)} ms before a search that found nothing, ` +
          `and audit ${row.audit} is ${row.status}`,
      ),
    'what is in the ledger is found': nothing(searches)
      .filter(({ id, ledgerBytes }) => inLedgerAt.get(id) <= ledgerBytes)
      .map(({ id }) => `${id}: in the ledger, and a search found nothing`),
    'what was answered is found': requests
      .filter(({ status }) => status === 201)
      .flatMap((request) =>
        nothing(searches)
          .filter(({ id, sentMs }) => id === request.id && sentMs > request.answeredMs)
          .map(() => `${request.reference}: answered, and a search found nothing`),
      ),
    'every doubt is resolved': rows
      .filter(({ status }) => status === 'unknown')
      .map(({ audit, correlationId }) => `audit ${audit} (${correlationId}) is still unknown`),
  };
}

function nothing(searches) {
  return searches.filter(({ found }) => found === 'nothing');
}
