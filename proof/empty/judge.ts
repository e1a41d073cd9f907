// What an empty answer promises, held against the books: of what was sent before it nothing comes, and nothing was there.
import { type StoredTransaction, standingEntries } from '../../testkit/books.js';
import type { PlacedEntry } from '../../testkit/installation.js';
import type { Request, Search } from './round.js';

/** A request counts as sent before a search if it was so by this much: clocks are read before and after the fact. */
const MARGIN_MS = 10;

export interface Asked {
  readonly requests: readonly Request[];
  readonly searches: readonly Search[];
}

export interface Books {
  readonly rows: readonly Pick<
    StoredTransaction,
    'reference' | 'correlationId' | 'audit' | 'acquirerReference' | 'status'
  >[];
  readonly entries: readonly PlacedEntry[];
}

/** Pairs of a request and a search for it that was sent later, and told that there is nothing. */
export function foundOutLate({ requests, searches }: Asked) {
  const emptyById = new Map<string, Search[]>();
  for (const search of nothing(searches)) {
    emptyById.set(search.id, [...(emptyById.get(search.id) ?? []), search]);
  }
  return requests
    .flatMap(({ id, reference, sentMs }) => (sentMs === undefined ? [] : [{ id, reference, sentMs }]))
    .flatMap((request) =>
      (emptyById.get(request.id) ?? [])
        .filter((search) => request.sentMs + MARGIN_MS <= search.sentMs)
        .slice(0, 1)
        .map((search) => ({ request, search })),
    );
}

/** Every broken promise in words, by the promise. Expects that everything has been decided. */
export function brokenPromises({ requests, searches, rows, entries }: Asked & Books) {
  const rowOf = new Map(rows.map((row) => [row.reference, row]));
  const standing = new Set(standingEntries(entries).map(({ reference }) => reference));
  const idOf = new Map(rows.map((row) => [row.acquirerReference, row.correlationId]));
  const inLedgerAt = new Map(
    entries.map(({ reference, endsAt }) => [idOf.get(reference), endsAt] as const).reverse(),
  );
  return {
    'what was sent before an empty answer is not processed after it': foundOutLate({
      requests,
      searches,
    }).flatMap(({ request, search }) => {
      const row = rowOf.get(request.reference);
      if (row === undefined || (row.status === 'error' && !standing.has(row.acquirerReference))) return [];
      const aheadMs = Math.round(search.sentMs - request.sentMs);
      return [
        `${request.reference}: sent ${aheadMs} ms before a search that found nothing, and audit ${row.audit} is ${row.status}`,
      ];
    }),
    'what is in the ledger is found': nothing(searches)
      .filter(({ id, ledgerBytes }) => (inLedgerAt.get(id) ?? Number.POSITIVE_INFINITY) <= ledgerBytes)
      .map(({ id }) => `${id}: in the ledger, and a search found nothing`),
    'what was answered is found': requests
      .filter(({ status }) => status === 201)
      .flatMap((request) =>
        nothing(searches)
          .filter(
            ({ id, sentMs }) =>
              id === request.id && sentMs > (request.answeredMs ?? Number.POSITIVE_INFINITY),
          )
          .map(() => `${request.reference}: answered, and a search found nothing`),
      ),
    'every doubt is resolved': rows
      .filter(({ status }) => status === 'unknown')
      .map(({ audit, correlationId }) => `audit ${audit} (${correlationId}) is still unknown`),
  };
}

function nothing(searches: readonly Search[]): Search[] {
  return searches.filter(({ found }) => found === 'nothing');
}
