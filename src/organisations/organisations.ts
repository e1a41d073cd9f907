// Organisations, which own merchants and users: added and listed by the operator. This room owns their table; the counters
// in it are moved on by whoever numbers by them.
import { journal } from '../journal/journal.js';
import type { Queryable } from '../postgres/database.js';
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
