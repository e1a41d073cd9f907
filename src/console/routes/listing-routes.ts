// Routes that list what is set up, and what the installation knows of itself: each answers with what the command of its task prints.
import { showKeys } from '../../installation/keys.js';
import { outward } from '../../values/snake-case.js';
import { type Route, route } from '../route.js';

export const LISTING_ROUTES: readonly Route[] = [
  route({ method: 'GET', path: '/keys', task: 'keys status' }, async ({ database }) =>
    (await showKeys(database)).map(outward),
  ),
];
