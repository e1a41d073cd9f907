// The journal as the operator reads it: who did what, when. It is written where things are done (`src/journal`).
import type { Queryable } from '../postgres/database.js';
import type { Audit, CustomerId, MerchantId, OrganisationId, TokenId } from '../values/ids.js';
import { READ_JOURNAL } from './journal.sql.js';

export interface JournalFilter {
  readonly merchant?: number | undefined;
  readonly token?: number | undefined;
  /** How many entries at most. */
  readonly limit: number;
}

export interface JournalView {
  readonly id: number;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly organisation: OrganisationId | null;
  readonly merchant: MerchantId | null;
  readonly customer: CustomerId | null;
  readonly token: TokenId | null;
  readonly audit: Audit | null;
  readonly correlationId: string | null;
  readonly detail: string | null;
}

/** The newest first. */
export async function readJournal(
  database: Queryable,
  { merchant, token, limit }: JournalFilter,
): Promise<JournalView[]> {
  return (await database.query<JournalView>(READ_JOURNAL, [merchant ?? null, token ?? null, limit])).rows;
}
