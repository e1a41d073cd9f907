// An organisation as the journal seals it: the host name under which its clients call, and the cell in which it lives. Whoever could
// write these would send clients elsewhere with their cards, or have two cells pay for one organisation.
import { type JournalEntry, journal } from '../journal/journal.js';
import { checkSeal, type ReadRow } from '../journal/seals.js';
import type { Queryable } from '../postgres/database.js';
import type { OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { FIND_SEALED_ORGANISATION, LOCK_ORGANISATION } from './sealed-organisation.sql.js';

/** Whether an organisation is in this cell, or on its way into or out of it. It pays while it is `here` only. */
export type Residence = 'here' | 'arriving' | 'closing' | 'closed' | 'moved';

export interface Abode {
  readonly hostName: string | null;
  readonly residence: Residence;
  /** The other cell, by its name, and where its clients find that. */
  readonly movedTo: string | null;
  readonly movedToAddress: string | null;
  /** Its newest seal in the journal, behind its version. */
  readonly newestOfOrganisation: Buffer | null;
}

export interface SealedOrganisation extends Abode {
  readonly id: OrganisationId;
}

/** An organisation that has never moved, and has no host name, needs no seal: that is what an absent row says. */
export function rowOfOrganisation({ id, ...abode }: SealedOrganisation): ReadRow {
  const { hostName, residence, movedTo, movedToAddress, newestOfOrganisation } = abode;
  // guard(cells: an organisation is sealed with where its clients are sent): movedTo, movedToAddress] ⇒ movedTo]
  const state = [hostName, residence, movedTo, movedToAddress];
  const isUsual = residence === 'here' && state.every((each) => each === null || each === residence);
  return { subject: `organisation/${id}`, state: isUsual ? null : state, newest: newestOfOrganisation };
}

/** Locks an organisation that is to be changed. Refuses if it is not as it was sealed. */
export async function lockOrganisation(
  connection: Queryable,
  organisation: number,
): Promise<SealedOrganisation> {
  await connection.query(LOCK_ORGANISATION, [organisation]);
  const found = await findSealedOrganisation(connection, organisation);
  if (found === undefined) refuse('organisation_not_found', { organisation });
  await checkSeal(connection, rowOfOrganisation(found));
  return found;
}

/** Journals a change, and seals the organisation as it is now. */
export async function journalOrganisation(
  connection: Queryable,
  entry: Omit<JournalEntry, 'organisationId'>,
  organisation: number,
): Promise<SealedOrganisation> {
  const changed = (await findSealedOrganisation(connection, organisation)) as SealedOrganisation;
  await journal(connection, { ...entry, organisationId: changed.id }, rowOfOrganisation(changed));
  return changed;
}

async function findSealedOrganisation(
  connection: Queryable,
  organisation: number,
): Promise<SealedOrganisation | undefined> {
  return (await connection.query<SealedOrganisation>(FIND_SEALED_ORGANISATION, [organisation])).rows[0];
}
