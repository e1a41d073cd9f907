// What stands in the way of a move, all of it at once, and how large the organisation is.
import type { Queryable } from '../../postgres/database.js';
import { PROGRAM_VERSION } from '../../values/program.js';
import { CELL, OPEN_REQUESTS, ORGANISATION } from './moves.sql.js';
import {
  IDS,
  LINKS,
  LINKS_USED,
  OPERATORS_OF,
  RELEASES,
  SAMPLE,
  SIZE_OF_ORGANISATION,
  TAKEN_IDS,
} from './obstacles.sql.js';

export interface CellRow {
  readonly installation: string;
  readonly cell: string;
  readonly spread: boolean;
  readonly lost: boolean;
  readonly cursorKey: string;
  readonly nowMs: number;
}

export interface OrganisationRow {
  readonly id: number;
  readonly name: string;
  readonly createdAt: string;
  readonly residence: string;
  readonly hostName: string | null;
  readonly movedTo: string | null;
  readonly nextAudit: number;
  readonly nextCustomerId: number;
  readonly nextTokenId: number;
  readonly nextCheckout: number;
}

interface LinkRow {
  readonly name: string;
  readonly mode: string;
}

export interface Size {
  readonly merchants: number;
  readonly users: number;
  readonly customers: number;
  readonly tokens: number;
  readonly transactions: number;
  readonly events: number;
  readonly journalEntries: number;
  /** As far as reading a sample tells. */
  readonly estimatedSeconds: number;
}

/** Times decide what can be refunded, and when a day closes. */
const MOST_APART_MS = 2_000;
/** Writing takes several times as long as reading. */
const WRITING = 6;

export async function cellRow(database: Queryable): Promise<CellRow> {
  return (await database.query<CellRow>(CELL)).rows[0] as CellRow;
}

export async function organisationRow(
  database: Queryable,
  organisation: number,
): Promise<OrganisationRow | undefined> {
  return (await database.query<OrganisationRow>(ORGANISATION, [organisation])).rows[0];
}

/** Each in words. Empty if the organisation can move. */
export async function findObstacles(
  source: Queryable,
  destination: Queryable,
  organisation: OrganisationRow,
): Promise<string[]> {
  const { id } = organisation;
  const askedMs = performance.now();
  const there = await cellRow(source);
  const here = await cellRow(destination);
  const apartMs = Math.abs(here.nowMs - there.nowMs - (performance.now() - askedMs));
  return [
    ...(apartMs > MOST_APART_MS
      ? [`the clocks of the cells are ${Math.round(apartMs / 1000)} seconds apart`]
      : []),
    ...[there, here].flatMap(({ cell, spread, lost }) => [
      ...(spread ? [`the transactions of cell ${cell} are spread by Citus`] : []),
      ...(lost ? [`cell ${cell} was restored, and its lost time is not reconciled`] : []),
    ]),
    ...(there.installation === here.installation
      ? [`both cells are called ${here.installation} at acquirers: one is a copy of the other`]
      : []),
    ...(await otherReleases(source, there.cell)),
    ...(await otherReleases(destination, here.cell)),
    ...(await openRequests(source, id)),
    ...(await missingLinks(source, destination, id)),
    ...(await collisions(source, destination, organisation)),
    ...(await anotherOrganisation(destination, organisation, here.cell)),
  ];
}

async function otherReleases(database: Queryable, cell: string): Promise<string[]> {
  const { rows } = await database.query<{ release: string }>(RELEASES, [PROGRAM_VERSION]);
  return rows.map(
    ({ release }) => `gateways of cell ${cell} run release ${release}, and this is ${PROGRAM_VERSION}`,
  );
}

async function openRequests(source: Queryable, id: number): Promise<string[]> {
  const { rows } = await source.query<{ id: number }>(OPEN_REQUESTS, [id]);
  return rows.length === 0
    ? []
    : [`requests of operators wait: ${rows.map((request) => request.id).join(', ')}`];
}

async function missingLinks(source: Queryable, destination: Queryable, id: number): Promise<string[]> {
  const { rows: used } = await source.query<LinkRow>(LINKS_USED, [id]);
  const { rows: there } = await destination.query<LinkRow>(LINKS, [used.map(({ name }) => name)]);
  const known = new Map(there.map((link) => [link.name, link]));
  return used.flatMap((link) => {
    const same = known.get(link.name);
    if (same === undefined) return [`the destination has no link ${link.name}`];
    return JSON.stringify(same) === JSON.stringify(link)
      ? []
      : [`the link ${link.name} is another one at the destination (mode, address, dialect or institution)`];
  });
}

async function collisions(
  source: Queryable,
  destination: Queryable,
  { id, hostName }: OrganisationRow,
): Promise<string[]> {
  interface Ids {
    readonly merchants: readonly number[];
    readonly usernames: readonly string[];
    readonly users: readonly number[];
    readonly endpoints: readonly number[];
    readonly terminals: string;
  }
  const ids = (await source.query<Ids>(IDS, [id])).rows[0] as Ids;
  const { merchants, usernames, users, endpoints, terminals } = ids;
  const values = [id, merchants, usernames, users, endpoints, hostName, terminals];
  const { rows } = await destination.query<{ what: string }>(TAKEN_IDS, values);
  return rows.map(({ what }) => `${what} is another organisation’s at the destination`);
}

/** One that was there before, or whose move there was taken back, may come again. */
async function anotherOrganisation(
  destination: Queryable,
  { id, createdAt }: OrganisationRow,
  cell: string,
): Promise<string[]> {
  const found = await organisationRow(destination, id);
  if (found === undefined) return [];
  if (found.createdAt !== createdAt) return [`cell ${cell} has another organisation ${id}`];
  return found.residence === 'moved' || found.residence === 'arriving'
    ? []
    : [`organisation ${id} is ${found.residence} in cell ${cell}, too`];
}

/** Operators who are limited to the organisation: they are people of this cell, and do not go along. */
export async function operatorsOf(source: Queryable, id: number): Promise<string[]> {
  const { rows } = await source.query<{ name: string }>(OPERATORS_OF, [id]);
  return rows.map(({ name }) => name);
}

export async function sizeOf(source: Queryable, id: number): Promise<Size> {
  const size = (await source.query<Omit<Size, 'estimatedSeconds'>>(SIZE_OF_ORGANISATION, [id]))
    .rows[0] as Size;
  const beganMs = performance.now();
  const { rows } = await source.query(SAMPLE, [id]);
  const msPerRow = rows.length === 0 ? 0 : (performance.now() - beganMs) / rows.length;
  const { customers, tokens, transactions, events, journalEntries } = size;
  const all = customers + tokens + transactions + events + journalEntries;
  return { ...size, estimatedSeconds: Math.ceil((all * Math.max(msPerRow, 0.02) * WRITING) / 1000) };
}
