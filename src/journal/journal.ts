// The journal: who did what, when, and under which correlation ID. Append-only, and without secrets.
import type { Queryable } from '../postgres/database.js';
import type { JournalEntry } from './entry.js';
import { signerOf } from './entry-signer.js';
import { APPEND_ALL_TO_JOURNAL, APPEND_TO_JOURNAL, ENTRIES } from './journal.sql.js';
import { nextSeal, type SealedRow } from './seals.js';

export type { JournalAction, JournalEntry } from './entry.js';

/** To be called in the transaction of the change. `row`: as the change has left it, if it is one that is sealed; it must be locked. */
export async function journal(connection: Queryable, entry: JournalEntry, row?: SealedRow): Promise<void> {
  const signer = await signerOf(connection);
  const address = entry.address ?? signer?.address;
  const seal = row && (await nextSeal(connection, row));
  await connection.query(APPEND_TO_JOURNAL, [
    entry.organisationId ?? null,
    entry.merchantId ?? null,
    entry.actor,
    entry.action,
    entry.customerId ?? null,
    entry.tokenId ?? null,
    entry.audit ?? null,
    entry.correlationId ?? null,
    entry.detail ?? null,
    address ?? null,
    signer?.macOf({ ...entry, address, ...seal }) ?? null,
    seal?.subject ?? null,
    seal?.subjectVersion ?? null,
    seal?.seal ?? null,
  ]);
}

/** The same for several entries, in one statement. */
export async function journalAll(connection: Queryable, entries: readonly JournalEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const signer = await signerOf(connection);
  const signed = entries.map((entry) => {
    const address = entry.address ?? signer?.address;
    return { ...entry, address, mac: signer?.macOf({ ...entry, address }) };
  });
  await connection.query(APPEND_ALL_TO_JOURNAL, ENTRIES.encode(signed));
}
