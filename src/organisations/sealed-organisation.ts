// An organisation as the journal seals it: the host name under which its clients call, and the cell in which it lives. Whoever could
// write these would send clients elsewhere with their cards, or have two cells pay for one organisation.
import { type JournalEntry, journal } from '../journal/journal.js';
import { checkSeal, fitNow, type ReadRow } from '../journal/seals.js';
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
  /** Nothing is processed for it that a process has received before it heard of this absence; 0 if it never came from another cell. */
  readonly arrivedAbsence: number;
  /** Its newest seal in the journal, behind its version. */
  readonly newestOfOrganisation: Buffer | null;
}

export interface SealedOrganisation extends Abode {
  readonly id: OrganisationId;
}

/** How an organisation is served in this cell. */
export interface Home {
  /** Under this name only; null: under every name that is no other organisation's. */
  readonly hostName: string | null;
  /** In another cell. */
  readonly hasMoved: boolean;
  /** The name of that cell. */
  readonly movedTo?: string | undefined;
  /** Whether something may be created or changed for it here, and looked up. */
  readonly writes: boolean;
  readonly reads: boolean;
  /** As `Abode` has it. */
  readonly arrivedAbsence: number;
  /** Where its clients are to call, if that is known. */
  readonly base: string | undefined;
}

/** One whose row somebody has changed in the database is not served: it may have moved. */
export async function homeAsSealed(database: Queryable, id: OrganisationId, abode: Abode): Promise<Home> {
  const { hostName, residence, movedToAddress, arrivedAbsence } = abode;
  const fit = await fitNow(database, rowOfOrganisation({ ...abode, id }));
  // guard(cells: nobody acts for an organisation that is not as it was sealed): fit.kind === 'misfit' ⇒ fit.version < 0
  if (fit.kind === 'misfit')
    return { hostName: null, hasMoved: false, writes: false, reads: false, arrivedAbsence, base: undefined };
  const base = hostName === null ? movedToAddress : `https://${hostName}`;
  return {
    hostName,
    hasMoved: residence === 'moved',
    ...(residence === 'moved' && { movedTo: abode.movedTo ?? '' }),
    writes: residence === 'here',
    // guard(cells: an organisation that moves is looked up in one cell): residence === 'closing' ⇒ residence !== 'moved'
    reads: residence === 'here' || residence === 'closing',
    arrivedAbsence,
    base: base === null ? undefined : `${base}/`,
  };
}

/** An organisation that has never moved, and has no host name, needs no seal: that is what an absent row says. */
export function rowOfOrganisation(organisation: SealedOrganisation): ReadRow {
  const { id, hostName, residence, movedTo, movedToAddress, newestOfOrganisation } = organisation;
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

/** Refuses for an organisation that moves or has moved, or whose row is not as it was sealed. */
export async function needOrganisationHere(database: Queryable, organisation: number): Promise<void> {
  const found = await findSealedOrganisation(database, organisation);
  if (found === undefined) refuse('organisation_not_found', { organisation });
  await checkSeal(database, rowOfOrganisation(found));
  const { residence } = found;
  if (residence !== 'here') refuse('organisation_not_here', { organisation, residence });
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
