// Routes for operators who are there already: another role or organisation, where they are signed in, and to sign them out.
import { Type } from '../../api/typebox.js';
import { permissionFor } from '../../operators/operator-roles.js';
import { addOperator, linkOperator, removeOperator, setOperator } from '../../operators/operators.js';
import { listSessions, signOutEverywhere } from '../../operators/sessions.js';
import { OPERATOR_ROLES } from '../../tasks/task.js';
import { outward } from '../../values/snake-case.js';
import { ID, TEXT } from '../fields.js';
import { checkNamed } from '../named.js';
import { ConsoleProblem } from '../problems.js';
import { type Route, route } from '../route.js';

export const OPERATOR_ROUTES: readonly Route[] = [
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
  route(
    {
      method: 'POST',
      path: '/operators/:name/set',
      task: 'operator set',
      recent: true,
      body: Type.Object({
        role: Type.Optional(Type.Enum([...OPERATOR_ROLES])),
        // Null: of the whole installation.
        organisation: Type.Optional(Type.Union([ID, Type.Null()])),
      }),
    },
    async ({ database, actor, parts, params: { name }, body }) =>
      outward(await setOperator(database, actor, parts.key, name, body)),
  ),
  route(
    { method: 'GET', path: '/operators/:name/sessions', task: 'operator sessions' },
    async ({ database, operator, params: { name } }) => {
      await checkNamed({ database, operator }, permissionFor('operator sessions'), { operators: [name] });
      return (await listSessions(database, name)).map(({ current: _, ...session }) => outward(session));
    },
  ),
  route(
    { method: 'POST', path: '/operators/:name/sign-out', task: 'operator sign-out', recent: true },
    async ({ database, actor, operator, params: { name } }) => {
      await checkNamed({ database, operator }, permissionFor('operator sign-out'), { operators: [name] });
      return { name, ended: await signOutEverywhere(database, actor, name) };
    },
  ),
];
