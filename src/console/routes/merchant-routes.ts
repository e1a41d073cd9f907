// Routes that change the routes and the surcharges of merchants.
import { Type } from '../../api/typebox.js';
import { removeRoutes, setRoute } from '../../organisations/routing/route-tasks.js';
import { removeSurcharges, setSurcharges } from '../../organisations/surcharges.js';
import { parsePercent, SURCHARGE_SCOPES, type SurchargeScope } from '../../plugins/surcharge.js';
import { outward } from '../../values/snake-case.js';
import { isDay } from '../../values/time.js';
import { numberIn } from '../fence.js';
import { DAY, TEXT, TEXTS } from '../fields.js';
import { ConsoleProblem } from '../problems.js';
import { type Route, route } from '../route.js';

const CONDITIONS = {
  card: Type.Optional(TEXT),
  bins: Type.Optional(TEXTS),
  currency: Type.Optional(TEXT),
  order: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
};

const RULE = Type.Object({
  scope: Type.Enum([...SURCHARGE_SCOPES]),
  percent: TEXT,
  from: Type.Optional(DAY),
  until: Type.Optional(DAY),
});

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
  route(
    {
      method: 'POST',
      path: '/surcharges/:merchant/set',
      task: 'surcharge set',
      body: Type.Object({
        rules: Type.Array(RULE, { minItems: 1, maxItems: 100 }),
        /** That a live merchant may surcharge whatever schemes say. */
        permitted: Type.Optional(Type.Boolean()),
      }),
    },
    async ({ database, actor, params, body }) => {
      const rules = body.rules.map(({ scope, percent, from = null, until = null }, place) => {
        const thousandths = parsePercent(percent);
        if (thousandths === undefined) throw wrong(place, 'percent');
        for (const [name, day] of Object.entries({ from, until }))
          if (day !== null && !isDay(day)) throw wrong(place, name);
        return { scope: scope as SurchargeScope, thousandths, from, until };
      });
      const { permitted = false } = body;
      return (await setSurcharges(database, actor, numberIn(params.merchant), rules, { permitted })).map(
        outward,
      );
    },
  ),
  route(
    { method: 'POST', path: '/surcharges/:merchant/off', task: 'surcharge off' },
    async ({ database, actor, params }) =>
      (await removeSurcharges(database, actor, numberIn(params.merchant))).map(outward),
  ),
];

function wrong(place: number, name: string): ConsoleProblem {
  return new ConsoleProblem('field_format', ['body', 'rules', String(place), name]);
}
