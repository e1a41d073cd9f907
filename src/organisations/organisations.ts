// Organisations, which own merchants and users: added and listed by the operator. This room owns their table; the counters
// in it are moved on by whoever numbers by them.
import { journal } from '../journal/journal.js';
import { isUniqueViolation, type Queryable } from '../postgres/database.js';
import { ID, TEXT } from '../tasks/kinds.js';
import { needed, nullable, task } from '../tasks/task.js';
import type { OrganisationId } from '../values/ids.js';
import { Refusal } from '../values/refusal.js';
import { checkedHostName, checkedName } from './names.js';
import { ADD_ORGANISATION, LIST_ORGANISATIONS, SET_HOST_NAME } from './organisations.sql.js';
import {
  journalOrganisation,
  lockOrganisation,
  needOrganisationHere,
  type Residence,
} from './sealed-organisation.js';

export interface OrganisationView {
  readonly id: OrganisationId;
  readonly name: string;
}

export interface ListedOrganisation extends OrganisationView {
  /** Under which its clients call; null: under every name that is no other organisation's. */
  readonly hostName: string | null;
  /** Whether it is in this cell, and where it has moved to. */
  readonly residence: Residence;
  readonly movedTo: string | null;
  readonly createdAt: Date;
}

export async function addOrganisation(
  database: Queryable,
  operator: string,
  name: string,
): Promise<OrganisationView> {
  const values = [checkedName(name)];
  return database.transaction(async (connection) => {
    const { rows } = await connection.query<OrganisationView>(ADD_ORGANISATION, values);
    const added = rows[0] as OrganisationView;
    await journal(connection, { actor: operator, action: 'organisation.added', organisationId: added.id });
    return added;
  });
}

export async function listOrganisations(database: Queryable): Promise<ListedOrganisation[]> {
  return (await database.query<ListedOrganisation>(LIST_ORGANISATIONS)).rows;
}

/** Null takes the name away. Within two seconds its clients are served under this name alone. */
export async function setHostName(
  database: Queryable,
  operator: string,
  organisation: number,
  name: string | null,
): Promise<{ readonly organisation: number; readonly hostName: string | null }> {
  const hostName = name === null ? null : checkedHostName(name);
  return database.transaction(async (connection) => {
    await lockOrganisation(connection, organisation);
    // Of one that moves, the other cell has copied the name.
    await needOrganisationHere(connection, organisation);
    await connection.query(SET_HOST_NAME, [organisation, hostName]).catch((error: unknown) => {
      throw isUniqueViolation(error) ? new Refusal('host_name_taken', undefined) : error;
    });
    const entry = { actor: operator, action: 'organisation.host_set', detail: hostName ?? 'none' } as const;
    await journalOrganisation(connection, entry, organisation);
    return { organisation, hostName };
  });
}

export const ORGANISATIONS = {
  name: 'organisation',
  help: 'organisations own merchants and users',
  tasks: [
    task({
      name: 'organisation add',
      help: 'add an organisation',
      role: 'administrator',
      scope: 'installation',
      route: 'POST /organisations',
      fresh: true,
      input: { name: needed(TEXT, '<name>', 'what it is called') },
      run: ({ database, actor }, { name }) => addOrganisation(database, actor, name),
      says: ({ id, name }) => `Organisation ${id} (${name}) added.`,
    }),
    task({
      name: 'organisation list',
      help: 'list the organisations',
      role: 'viewer',
      scope: 'installation',
      route: 'GET /organisations',
      input: {},
      run: ({ database }) => listOrganisations(database),
    }),
    task({
      name: 'organisation host',
      help: 'serve an organisation under a host name of its own, and under no other, within two seconds',
      role: 'administrator',
      scope: 'installation',
      route: 'POST /organisations/:organisation/host',
      fresh: true,
      input: {
        organisation: needed(ID, '<id>', 'the ID of the organisation', { names: 'organisations' }),
        name: nullable(TEXT, '--name <host>', 'for example acme.pay.example', {
          without: ['--none', 'under every name that is no other organisation’s'],
          excludes: '--none',
          neededByPage: true,
        }),
      },
      misfit: ({ name }) => (name === undefined ? 'name a host, or say --none' : undefined),
      run: ({ database, actor }, { organisation, name = null }) =>
        setHostName(database, actor, organisation, name),
      says: ({ organisation, hostName }) =>
        hostName === null
          ? `Organisation ${organisation} is served under every name that is no other organisation’s.`
          : `Organisation ${organisation} is served at https://${hostName} alone.`,
    }),
  ],
} as const;
