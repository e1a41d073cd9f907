// The history of an organisation goes along: its journal entries, each checked under the key of the source and signed by the destination,
// with their time and who did it. Among them are those by which things are decided: deleted tokens, destroyed keys, reversals.
import type { EntrySigner, SignedEntry } from '../../journal/entry-signer.js';
import type { Queryable } from '../../postgres/database.js';
import { bytea } from './copying.js';
import {
  APPEND_MOVED_ENTRIES,
  ENTRIES_ARE_COMPLETE_UP_TO,
  ENTRIES_OF_ORGANISATION,
  ENTRIES_THAT_CAME,
} from './history.sql.js';

interface Entry extends SignedEntry {
  readonly id: number;
  /** The installation that has written it first, and its ID there. */
  readonly origin: string;
  readonly at: string;
  readonly merchantId: number | null;
  readonly mark: Buffer | null;
}

type Came = SignedEntry & Pick<Entry, 'origin' | 'mark'>;

interface Journal {
  readonly database: Queryable;
  readonly signer: EntrySigner;
  readonly installation: string;
}

export interface HistoryParts {
  readonly organisation: number;
  readonly source: Journal;
  readonly destination: Journal;
  /** An entry that Tollgate did not write, here or there. Throws unless an operator has named it. */
  readonly onBroken: (what: string) => void;
  readonly tell: (entries: number) => void;
}

const PAGE = 1_000;

/**
 * After this entry, and up to where no earlier one can come any more; at the end (`whole`) everything. Returns how far it has come and how
 * many entries were new.
 */
export async function copyHistory(
  parts: HistoryParts,
  from: number,
  whole: boolean,
): Promise<{ readonly upTo: number; readonly entries: number }> {
  const { organisation, source, tell } = parts;
  type Complete = { readonly upTo: number };
  const [complete] = (await source.database.query<Complete>(ENTRIES_ARE_COMPLETE_UP_TO)).rows;
  const upTo = whole ? Number.MAX_SAFE_INTEGER : (complete?.upTo ?? 0);
  let after = from;
  let entries = 0;
  for (;;) {
    const { rows } = await source.database.query<Entry>(ENTRIES_OF_ORGANISATION, [organisation, after, PAGE]);
    const page = rows.filter(({ id }) => id <= upTo);
    entries += await append(parts, page);
    tell(entries);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE)
      return { upTo: Math.max(from, complete?.upTo ?? 0), entries };
    after = last.id;
  }
}

async function append(
  { source, destination, onBroken }: HistoryParts,
  page: readonly Entry[],
): Promise<number> {
  // guard(moving: an entry that Tollgate did not write does not become genuine): source.signer.isSigned(entry, entry.mark) ⇒ true
  const genuine = page.filter((entry) => {
    const isGenuine = source.signer.isSigned(entry, entry.mark);
    if (!isGenuine) onBroken(`journal/${entry.id}`);
    return isGenuine;
  });
  // What the destination has written itself, and has come back to it.
  const own = `${destination.installation}/`;
  const foreign = genuine.filter(({ origin }) => !origin.startsWith(own));
  if (foreign.length === 0) return 0;
  return destination.database.transaction(async (connection) => {
    const origins = foreign.map(({ origin }) => origin);
    const { rows } = await connection.query<Came>(ENTRIES_THAT_CAME, [origins]);
    const came = new Map(rows.map((row) => [row.origin, row]));
    const missing = foreign.filter((entry) => {
      const there = came.get(entry.origin);
      // Somebody has put an entry in its place, so that it would be missing.
      if (
        there !== undefined &&
        !(destination.signer.isSigned(there, there.mark) && says(there) === says(entry))
      )
        onBroken(`journal entry from ${entry.origin}`);
      return there === undefined;
    });
    if (missing.length === 0) return 0;
    const signed = missing.map((entry) => {
      const { organisationId, actor, action, customerId, tokenId, audit, correlationId, detail, address } =
        entry;
      const said = {
        organisationId,
        actor,
        action,
        customerId,
        tokenId,
        audit,
        correlationId,
        detail,
        address,
      };
      return {
        at: entry.at,
        organisation_id: organisationId,
        merchant_id: entry.merchantId,
        actor,
        action,
        customer_id: customerId,
        token_id: tokenId,
        audit,
        correlation_id: correlationId,
        detail,
        address,
        mark: bytea(destination.signer.macOf(said)),
        moved_from: entry.origin,
      };
    });
    await connection.query(APPEND_MOVED_ENTRIES, [JSON.stringify(signed)]);
    return signed.length;
  });
}

/** Without what it sealed: rows are sealed anew at the destination. */
function says(entry: SignedEntry): string {
  const { organisationId, actor, action, customerId, tokenId, audit, correlationId, detail, address } = entry;
  const all = [organisationId, actor, action, customerId, tokenId, audit, correlationId, detail, address];
  return JSON.stringify(all.map((each) => each ?? null));
}
