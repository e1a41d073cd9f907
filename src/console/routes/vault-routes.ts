// Routes that change the vault: tokens switched off and on, tokens and customers deleted.
import { destroyCardsOfCustomer } from '../../payments/cards/card-destruction.js';
import { outward } from '../../values/snake-case.js';
import { deleteCustomer, deleteToken, switchToken } from '../../vault/vault-tasks.js';
import { numberIn } from '../fence.js';
import { type Route, route } from '../route.js';

export const VAULT_ROUTES: readonly Route[] = [
  route(
    { method: 'POST', path: '/customers/:organisation/:id/delete', task: 'customer delete' },
    async ({ database, actor, params }) => {
      const wish = { organisation: numberIn(params.organisation), customer: numberIn(params.id) };
      return outward(await deleteCustomer(database, actor, wish, destroyCardsOfCustomer));
    },
  ),
  switching('activate', true),
  switching('deactivate', false),
  route(
    { method: 'POST', path: '/tokens/:organisation/:id/delete', task: 'token delete' },
    async ({ database, actor, parts, params }) => {
      const wish = { organisation: numberIn(params.organisation), token: numberIn(params.id) };
      return outward(await deleteToken(database, actor, parts.provider, wish));
    },
  ),
];

function switching(name: 'activate' | 'deactivate', active: boolean): Route {
  return route(
    { method: 'POST', path: `/tokens/:organisation/:id/${name}`, task: `token ${name}` },
    async ({ database, actor, parts, params }) => {
      const { organisation, id } = params as { organisation: string; id: string };
      const wish = { organisation: numberIn(organisation), token: numberIn(id), active };
      return outward(await switchToken(database, actor, parts.provider, wish));
    },
  );
}
