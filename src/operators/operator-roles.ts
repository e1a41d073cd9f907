// What each role of operators may do, on the command line and on the console.
import { journal } from '../journal/journal.js';
import type { Queryable } from '../postgres/database.js';
import type { NamedThings, OperatorRole, Permission } from '../tasks/task.js';
import type { OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import type { SealedOperator } from './operator.js';
import { ORGANISATIONS_OF_NAMED } from './operators.sql.js';

/** Who acts: an operator as it was sealed. */
export type ActingOperator = Pick<SealedOperator, 'name' | 'role' | 'organisationId'>;

/** From the least to the most. */
const RANKS: Readonly<Record<OperatorRole, number>> = { viewer: 0, operator: 1, administrator: 2 };

export function isAtLeast(role: OperatorRole, least: OperatorRole): boolean {
  return RANKS[role] >= RANKS[least];
}

/** Of these, what an operator may do as far as that is known before anything is named. */
export function permittedTo(
  {
    role,
    organisation,
  }: {
    readonly role: OperatorRole;
    readonly organisation: OrganisationId | undefined;
  },
  permissions: readonly Permission[],
): Permission[] {
  return permissions.filter(
    ({ role: least, scope }) =>
      least !== undefined &&
      isAtLeast(role, least) &&
      (organisation === undefined || scope !== 'installation'),
  );
}

/** Refuses what the operator may not do. The journal has what was refused. */
export async function permit(
  database: Queryable,
  operator: ActingOperator,
  permission: Permission,
  named: NamedThings = {},
): Promise<void> {
  // An operator of the whole installation may name everything, and what is not there.
  const organisations = operator.organisationId === null ? [] : await organisationsOf(database, named);
  try {
    check(operator, permission, organisations);
  } catch (error) {
    const { name, organisationId } = operator;
    await journal(database, {
      actor: `operator:${name}`,
      // guard(operators: what is refused is in the journal): refused ⇒ link_made
      action: 'operator.refused',
      organisationId: organisationId ?? undefined,
      detail: permission.name,
    });
    throw error;
  }
}

/** Null stands for what belongs to the whole installation, or is not there. */
function check(
  { name, role, organisationId }: ActingOperator,
  { name: task, role: least, scope }: Permission,
  organisations: readonly (OrganisationId | null)[],
): void {
  if (least === undefined) return;
  // guard(operators: no more than their role): !isAtLeast(role, least) ⇒ RANKS[role] < 0
  if (!isAtLeast(role, least)) refuse('operator_role_too_low', { name, role, task, least });
  if (organisationId === null || scope === 'nobody') return;
  if (scope === 'installation') refuse('operator_of_one_organisation', { name, organisationId, task });
  if (organisations.length === 0) refuse('operator_must_name_organisation', { name, organisationId });
  // guard(operators: of one organisation, and not of another): some((each) => each !== organisationId ⇒ every((each) => each === null
  if (organisations.some((each) => each !== organisationId))
    refuse('operator_of_another_organisation', { name, organisationId });
}

/** Null for what belongs to the whole installation, or is not there. */
export async function organisationsOf(
  database: Queryable,
  { organisations, merchants, users, endpoints, operators }: NamedThings,
): Promise<(OrganisationId | null)[]> {
  const values = [organisations, merchants, users, endpoints, operators].map((named) => named ?? []);
  const { rows } = await database.query<{ organisation: OrganisationId | null }>(
    ORGANISATIONS_OF_NAMED,
    values,
  );
  return rows.map(({ organisation }) => organisation);
}
