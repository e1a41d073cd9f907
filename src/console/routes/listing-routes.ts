// Routes that list what is set up, and what the installation knows of itself: each answers with what the command of its task prints.
import { listAcquirers, showAcquirer } from '../../acquirers/acquirer-tasks.js';
import { listOperators } from '../../operators/operators.js';
import { showRoutes } from '../../organisations/routing/route-tasks.js';
import { showSurcharges } from '../../organisations/surcharges.js';
import { listUsers } from '../../organisations/users/users.js';
import { outward } from '../../values/snake-case.js';
import { numberIn } from '../fence.js';
import { type Call, type Route, route } from '../route.js';

export const LISTING_ROUTES: readonly Route[] = [
  route({ method: 'GET', path: '/users', task: 'user list' }, async (call) =>
    (await listUsers(call.database, call.parts.key, call.fence ?? given(call, 'organisation'))).map(outward),
  ),
  route({ method: 'GET', path: '/routes', task: 'route show' }, async ({ database, query }) =>
    (await showRoutes(database, numberIn(query.get('merchant')))).map(outward),
  ),
  route({ method: 'GET', path: '/surcharges', task: 'surcharge show' }, async ({ database, query }) =>
    (await showSurcharges(database, numberIn(query.get('merchant')))).map(outward),
  ),
  route({ method: 'GET', path: '/acquirers', task: 'acquirer list' }, async ({ database }) =>
    (await listAcquirers(database)).map(outward),
  ),
  route(
    { method: 'GET', path: '/acquirers/:name', task: 'acquirer show' },
    async ({ database, actor, parts, params }) =>
      outward(await showAcquirer(database, actor, parts.provider, params.name)),
  ),
  route({ method: 'GET', path: '/operators', task: 'operator list' }, async ({ database, parts }) =>
    (await listOperators(database, parts.key)).map(outward),
  ),
];

function given({ query }: Pick<Call, 'query'>, name: string): number | undefined {
  const value = query.get(name);
  return value === null || value === '' ? undefined : numberIn(value);
}
