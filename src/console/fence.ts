// The fence of an operator who is limited to an organisation: whatever a request names as `organisation` or `merchant` lies inside it.
import { MAX_INTEGER } from '../api/limits.js';
import { organisationsOf } from '../operators/operator-roles.js';
import type { Queryable } from '../postgres/database.js';
import type { OrganisationId } from '../values/ids.js';
import { ConsoleProblem } from './problems.js';

export interface Named {
  readonly params: object;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

/** What lies outside is not there. */
export async function checkFence(
  database: Queryable,
  fence: OrganisationId | undefined,
  named: Named,
): Promise<void> {
  if (fence === undefined) return;
  for (const organisation of valuesOf(named, 'organisation'))
    if (numberIn(organisation) !== fence) throw new ConsoleProblem('not_found');
  const merchants = valuesOf(named, 'merchant').map(numberIn);
  if (merchants.length === 0) return;
  const owners = await organisationsOf(database, { merchants });
  if (owners.some((owner) => owner !== fence)) throw new ConsoleProblem('not_found');
}

/** An ID that stands in a path or a query; what is none leads to nothing. */
export function numberIn(value: unknown): number {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^[0-9]{1,12}$/.test(value));
  const number = isNumber ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number) || number < 1 || number > MAX_INTEGER)
    throw new ConsoleProblem('not_found');
  return number;
}

/** In the path, the query, and at the top of the body. */
function valuesOf({ params, query, body }: Named, name: 'organisation' | 'merchant'): unknown[] {
  const inObject = [params, body].flatMap((from) => {
    const value = (from as Record<string, unknown> | null)?.[name];
    return Array.isArray(value) ? value : [value];
  });
  return [...inObject, ...query.getAll(name)].filter((value) => value !== undefined && value !== null);
}
