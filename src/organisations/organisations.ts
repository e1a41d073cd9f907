// Organisations, which own merchants and users: added and listed by the operator. This room owns their table; the counters
// in it are moved on by whoever numbers by them.
import { journal } from '../journal/journal.js';
import type { Queryable } from '../postgres/database.js';
import { TEXT } from '../tasks/kinds.js';
import { needed, task } from '../tasks/task.js';
import type { OrganisationId } from '../values/ids.js';
import { checkedName } from './names.js';
import { ADD_ORGANISATION, LIST_ORGANISATIONS } from './organisations.sql.js';

export interface OrganisationView {
  readonly id: OrganisationId;
  readonly name: string;
}

export interface ListedOrganisation extends OrganisationView {
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
  ],
} as const;
