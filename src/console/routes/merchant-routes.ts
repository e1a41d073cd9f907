// Routes that change organisations, merchants, their routes and their surcharges.
import { Type } from '../../api/typebox.js';
import { addMerchant, resumeMerchant, setMerchant, suspendMerchant } from '../../organisations/merchants.js';
import { addOrganisation } from '../../organisations/organisations.js';
import { removeRoutes, setRoute } from '../../organisations/routing/route-tasks.js';
import { removeSurcharges, setSurcharges } from '../../organisations/surcharges.js';
import { parsePercent, SURCHARGE_SCOPES, type SurchargeScope } from '../../plugins/surcharge.js';
import { outward } from '../../values/snake-case.js';
import { isDay } from '../../values/time.js';
import { numberIn } from '../fence.js';
import { DAY, ID, TEXT, TEXTS } from '../fields.js';
import { ConsoleProblem } from '../problems.js';
import { type Route, route } from '../route.js';

const ACCEPTOR = {
  acquirer: Type.Optional(Type.Union([TEXT, Type.Null()])),
  acceptor_id: Type.Optional(TEXT),
  terminals: Type.Optional(TEXTS),
  category_code: Type.Optional(TEXT),
};
const DAYS = {
  preauthorisation_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 365 })),
  card_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_650 })),
};

interface Acceptor {
  readonly acquirer?: string | null;
  readonly acceptor_id?: string;
  readonly terminals?: string[];
  readonly category_code?: string;
  readonly preauthorisation_days?: number;
  readonly card_days?: number;
}

function inward({
  acquirer,
  acceptor_id,
  terminals,
  category_code,
  preauthorisation_days,
  card_days,
}: Acceptor) {
  return {
    acquirer,
    acceptorId: acceptor_id,
    terminals,
    categoryCode: category_code,
    preauthorisationDays: preauthorisation_days,
    cardDays: card_days,
  };
}

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
    { method: 'POST', path: '/organisations', task: 'organisation add', body: Type.Object({ name: TEXT }) },
    async ({ database, actor, body }) => outward(await addOrganisation(database, actor, body.name)),
  ),
  route(
    {
      method: 'POST',
      path: '/merchants',
      task: 'merchant add',
      body: Type.Object({
        organisation: ID,
        name: TEXT,
        vault: Type.Optional(Type.Boolean()),
        live: Type.Optional(Type.Boolean()),
        ...ACCEPTOR,
        ...DAYS,
      }),
    },
    async ({ database, actor, body }) => {
      const { organisation, name, vault, live } = body;
      return outward(
        await addMerchant(database, actor, organisation, name, { vault, live, ...inward(body) }),
      );
    },
  ),
  route(
    {
      method: 'POST',
      path: '/merchants/:merchant',
      task: 'merchant set',
      body: Type.Object({
        name: Type.Optional(TEXT),
        vault: Type.Optional(Type.Boolean()),
        ...ACCEPTOR,
        ...DAYS,
      }),
    },
    async ({ database, actor, params, body }) => {
      const { name, vault } = body;
      const change = { name, vault, ...inward(body) };
      return outward(await setMerchant(database, actor, numberIn(params.merchant), change));
    },
  ),
  route(
    { method: 'POST', path: '/merchants/:merchant/suspend', task: 'merchant suspend' },
    async ({ database, actor, params }) =>
      outward(await suspendMerchant(database, actor, numberIn(params.merchant))),
  ),
  route(
    { method: 'POST', path: '/merchants/:merchant/resume', task: 'merchant resume' },
    async ({ database, actor, params }) =>
      outward(await resumeMerchant(database, actor, numberIn(params.merchant))),
  ),
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
