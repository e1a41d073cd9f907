// Transactions as a file of comma-separated values: exactly those of a filter, a page at a time, however many there are.
import { journal } from '../../journal/journal.js';
import type { Queryable } from '../../postgres/database.js';
import { withShortTimeouts } from '../../postgres/short-timeout.js';
import { csvLine, csvLines } from '../../values/csv.js';
import type { OrganisationId } from '../../values/ids.js';
import { outward } from '../../values/snake-case.js';
import type { HistoryFilter } from './history.js';
import { narrowedBy } from './listed-transactions.js';
import { everyTransaction, type FoundTransaction, type SearchScope } from './transaction-search.js';

const COLUMNS = [
  'organisation',
  'merchant',
  'mode',
  'audit',
  'gateway_timestamp',
  'transaction_type',
  'status',
  'amount_cents',
  'currency',
  'reference',
  'correlation_id',
  'card',
  'card_type',
  'bank_account',
  'response_code',
  'settlement_date',
  'target_audit',
  'acquirer',
] as const;

/** That somebody takes them away is journalled before the first line. */
export async function transactionFile(
  database: Queryable,
  actor: string,
  scope: SearchScope,
  filter: HistoryFilter,
  /** Aborted when whoever wanted the file is gone. */
  signal?: AbortSignal,
): Promise<AsyncGenerator<string>> {
  // What is refused is refused before a file is begun.
  const pages = everyTransaction(withShortTimeouts(database), scope, filter);
  const first = await pages.next();
  await journal(database, {
    actor,
    // guard(console: that a file was taken is journalled): exported ⇒ resolved
    action: 'transaction.exported',
    organisationId: scope.organisation as OrganisationId | undefined,
    detail: `to the console${narrowedBy(filter)}`,
  });
  return lines(first, pages, signal);
}

async function* lines(
  first: IteratorResult<FoundTransaction[]>,
  pages: AsyncGenerator<FoundTransaction[]>,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  for (let page = first; page.done !== true && signal?.aborted !== true; page = await pages.next()) {
    if (page.value.length > 0) yield csvLines(COLUMNS, page.value.map(outward));
  }
}
