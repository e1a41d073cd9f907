// Routes that list what is set up, and what the installation knows of itself: each answers with what the command of its task prints.
import { listAcquirers, showAcquirer } from '../../acquirers/acquirer-tasks.js';
import { listOperators } from '../../operators/operators.js';
import { outward } from '../../values/snake-case.js';
import { type Route, route } from '../route.js';

export const LISTING_ROUTES: readonly Route[] = [
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
