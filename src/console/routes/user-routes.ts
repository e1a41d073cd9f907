// Routes that change users and operators: who may call the interface, and who may use the console.
import { Type } from '../../api/typebox.js';
import { permissionFor } from '../../operators/operator-roles.js';
import { addOperator, linkOperator, removeOperator } from '../../operators/operators.js';
import { PERMISSIONS } from '../../organisations/users/permissions.js';
import {
  addUser,
  grantMerchant,
  limitUser,
  MOST_OVERLAP_MS,
  revokeUser,
  rotateSecret,
  ungrantMerchant,
} from '../../organisations/users/users.js';
import { OPERATOR_ROLES } from '../../tasks/task.js';
import { outward } from '../../values/snake-case.js';
import { ID, TEXT, TEXTS } from '../fields.js';
import { checkNamed } from '../named.js';
import { ConsoleProblem } from '../problems.js';
import { type Route, route } from '../route.js';

const LIMITS = {
  allow: Type.Optional(Type.Array(Type.Enum([...PERMISSIONS]), { maxItems: PERMISSIONS.length })),
  from_addresses: Type.Optional(TEXTS),
  /** An instant; null: never. */
  expires: Type.Optional(Type.Union([TEXT, Type.Null()])),
};

interface Limits {
  readonly allow?: (typeof PERMISSIONS)[number][];
  readonly from_addresses?: string[];
  readonly expires?: string | null;
}

/** What is absent stays as it is. */
function inward({ allow, from_addresses, expires }: Limits) {
  const expiresMs = typeof expires === 'string' ? Date.parse(expires) : expires;
  if (Number.isNaN(expiresMs)) throw new ConsoleProblem('field_format', ['body', 'expires']);
  return {
    ...(allow !== undefined && { allow }),
    ...(from_addresses !== undefined && { fromAddresses: from_addresses }),
    ...(expiresMs !== undefined && { expiresMs }),
  };
}

export const USER_ROUTES: readonly Route[] = [
  route(
    {
      method: 'POST',
      path: '/users',
      task: 'user add',
      recent: true,
      body: Type.Object({
        username: TEXT,
        merchant: ID,
        grants: Type.Optional(Type.Array(ID, { maxItems: 1_000 })),
        ...LIMITS,
      }),
    },
    async ({ database, actor, parts, operator, body }) => {
      const { username, merchant, grants = [] } = body;
      await checkNamed({ database, operator }, permissionFor('user add'), {
        merchants: [merchant, ...grants],
      });
      const wish = { merchant, grants, ...inward(body) };
      return outward(await addUser(database, actor, parts.key, username, wish));
    },
  ),
  route(
    { method: 'POST', path: '/users/:username', task: 'user set', recent: true, body: Type.Object(LIMITS) },
    async ({ database, actor, parts, operator, params: { username }, body }) => {
      await checkNamed({ database, operator }, permissionFor('user set'), { users: [username] });
      return outward(await limitUser(database, actor, parts.key, username, inward(body)));
    },
  ),
  route(
    {
      method: 'POST',
      path: '/users/:username/grant',
      task: 'user grant',
      recent: true,
      body: Type.Object({ merchant: ID }),
    },
    async ({ database, actor, parts, operator, params: { username }, body: { merchant } }) => {
      await checkNamed({ database, operator }, permissionFor('user grant'), {
        users: [username],
        merchants: [merchant],
      });
      return outward(await grantMerchant(database, actor, parts.key, username, merchant));
    },
  ),
  route(
    {
      method: 'POST',
      path: '/users/:username/ungrant',
      task: 'user ungrant',
      body: Type.Object({ merchant: ID }),
    },
    async ({ database, actor, parts, operator, params: { username }, body: { merchant } }) => {
      await checkNamed({ database, operator }, permissionFor('user ungrant'), { users: [username] });
      return outward(await ungrantMerchant(database, actor, parts.key, username, merchant));
    },
  ),
  route(
    {
      method: 'POST',
      path: '/users/:username/rotate',
      task: 'user rotate',
      recent: true,
      body: Type.Object({
        overlap_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: MOST_OVERLAP_MS })),
      }),
    },
    async ({ database, actor, parts, operator, params: { username }, body }) => {
      await checkNamed({ database, operator }, permissionFor('user rotate'), { users: [username] });
      const { overlap_ms: overlapMs } = body;
      return outward(await rotateSecret(database, actor, parts.key, username, { overlapMs }));
    },
  ),
  route(
    { method: 'POST', path: '/users/:username/revoke', task: 'user revoke' },
    async ({ database, actor, parts, operator, params: { username } }) => {
      await checkNamed({ database, operator }, permissionFor('user revoke'), { users: [username] });
      return outward(await revokeUser(database, actor, parts.key, username));
    },
  ),
  route(
    {
      method: 'POST',
      path: '/operators',
      task: 'operator add',
      recent: true,
      body: Type.Object({
        name: TEXT,
        role: Type.Enum([...OPERATOR_ROLES]),
        organisation: Type.Optional(ID),
      }),
    },
    async ({ database, actor, parts, operator, fence, origin, body }) => {
      const { name, role, organisation } = body;
      // Whoever is of one organisation adds nobody of all of them.
      if (fence !== undefined && organisation === undefined)
        throw new ConsoleProblem('organisation_not_permitted');
      if (organisation !== undefined)
        await checkNamed({ database, operator }, permissionFor('operator add'), {
          organisations: [organisation],
        });
      return outward(await addOperator(database, actor, parts.key, origin, name, { role, organisation }));
    },
  ),
  route(
    { method: 'POST', path: '/operators/:name/link', task: 'operator link', recent: true },
    async ({ database, actor, parts, operator, origin, params: { name } }) => {
      await checkNamed({ database, operator }, permissionFor('operator link'), { operators: [name] });
      return outward(await linkOperator(database, actor, parts.key, origin, name));
    },
  ),
  route(
    { method: 'POST', path: '/operators/:name/remove', task: 'operator remove', recent: true },
    async ({ database, actor, parts, operator, params: { name } }) => {
      await checkNamed({ database, operator }, permissionFor('operator remove'), { operators: [name] });
      return outward(await removeOperator(database, actor, parts.key, name));
    },
  ),
];
