// Routes that change the routes of merchants.
import { Type } from '../../api/typebox.js';
import { removeRoutes, setRoute } from '../../organisations/routing/route-tasks.js';
import { outward } from '../../values/snake-case.js';
import { numberIn } from '../fence.js';
import { TEXT, TEXTS } from '../fields.js';
import { type Route, route } from '../route.js';

const CONDITIONS = {
  card: Type.Optional(TEXT),
  bins: Type.Optional(TEXTS),
  currency: Type.Optional(TEXT),
  order: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
};

export const MERCHANT_ROUTES: readonly Route[] = [
  route(
    {
      method: 'POST',
      path: '/routes/:merchant/set',
      task: 'route set',
      body: Type.Object({ acquirer: TEXT, share: Type.Optional(TEXT), ...CONDITIONS }),
    },
    async ({ database, actor, params, body }) => {
      const { order, ...wish } = body;
      const place = order === undefined ? {} : { order: String(order) };
      return (await setRoute(database, actor, numberIn(params.merchant), { ...wish, ...place })).map(outward);
    },
  ),
  route(
    {
      method: 'POST',
      path: '/routes/:merchant/off',
      task: 'route off',
      body: Type.Object({ acquirer: Type.Optional(TEXT), ...CONDITIONS }),
    },
    async ({ database, actor, params, body }) => {
      const { order, ...filter } = body;
      const place = order === undefined ? {} : { order: String(order) };
      return (await removeRoutes(database, actor, numberIn(params.merchant), { ...filter, ...place })).map(
        outward,
      );
    },
  ),
];
