// Routes that change links to acquirers.
import { addAcquirer, removeAcquirer, setAcquirer, testAcquirer } from '../../acquirers/acquirer-tasks.js';
import { Type } from '../../api/typebox.js';
import { outward } from '../../values/snake-case.js';
import { LONG_TEXT, TEXT } from '../fields.js';
import { type Route, route } from '../route.js';

const SETTINGS = {
  tls: Type.Optional(Type.Boolean()),
  trusted: Type.Optional(Type.Union([LONG_TEXT, Type.Null()])),
  dialect: Type.Optional(TEXT),
  connections: Type.Optional(Type.Number()),
  institution: Type.Optional(Type.Union([TEXT, Type.Null()])),
  deadline_ms: Type.Optional(Type.Number()),
  mac_keys: Type.Optional(Type.Union([TEXT, Type.Null()])),
};

function inward<Given extends { readonly deadline_ms?: number; readonly mac_keys?: string | null }>(
  given: Given,
) {
  const { deadline_ms: deadlineMs, mac_keys: macKeys, ...rest } = given;
  return { ...rest, deadlineMs, ...(macKeys !== undefined && { macKeys }) };
}

export const ACQUIRER_ROUTES: readonly Route[] = [
  route(
    {
      method: 'POST',
      path: '/acquirers',
      task: 'acquirer add',
      recent: true,
      body: Type.Object({ name: TEXT, address: TEXT, test: Type.Optional(Type.Boolean()), ...SETTINGS }),
    },
    async ({ database, actor, parts, body }) =>
      outward(await addAcquirer(database, actor, parts.provider, inward(body))),
  ),
  route(
    {
      method: 'POST',
      path: '/acquirers/:name',
      task: 'acquirer set',
      recent: true,
      body: Type.Object({ address: Type.Optional(TEXT), ...SETTINGS }),
    },
    async ({ database, actor, parts, params, body }) =>
      outward(await setAcquirer(database, actor, parts.provider, params.name, inward(body))),
  ),
  route(
    { method: 'POST', path: '/acquirers/:name/remove', task: 'acquirer remove', recent: true },
    async ({ database, actor, params }) => outward(await removeAcquirer(database, actor, params.name)),
  ),
  route(
    { method: 'POST', path: '/acquirers/:name/test', task: 'acquirer test' },
    async ({ database, actor, parts, params }) =>
      outward(await testAcquirer(database, actor, parts.provider, params.name)),
  ),
];
