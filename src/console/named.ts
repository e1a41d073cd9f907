// What a route names otherwise than by its organisation or merchant: a user, an endpoint, an operator. Whose it is, is looked up.
import { permit } from '../operators/operator-roles.js';
import type { NamedThings, Permission } from '../tasks/task.js';
import { Refusal } from '../values/refusal.js';
import { ConsoleProblem } from './problems.js';
import type { Call } from './route.js';

/** What lies outside the operator's organisation is not there. */
export async function checkNamed(
  { database, operator }: Pick<Call, 'database' | 'operator'>,
  permission: Permission,
  named: NamedThings,
): Promise<void> {
  const { name, role, organisation = null } = operator;
  // guard(console: what is named otherwise than by its merchant lies inside the fence, too): organisation } ⇒ null }
  await permit(database, { name, role, organisationId: organisation }, permission, named).catch(
    (error: unknown) => {
      if (error instanceof Refusal && error.code === 'operator_of_another_organisation')
        throw new ConsoleProblem('not_found');
      throw error;
    },
  );
}
