// Routes about the session: who is signed in, where else, and how it ends.

import { showCell } from '../../installation/fleet/cells.js';
import { readFleet } from '../../installation/fleet/fleet-file.js';
import { permittedTo } from '../../operators/operator-roles.js';
import { endSession, listSessions, makeToken, signOut, signOutEverywhere } from '../../operators/sessions.js';
import { modeOf } from '../../organisations/merchants.js';
import type { Queryable } from '../../postgres/database.js';
import type { OrganisationId } from '../../values/ids.js';
import { TASKS, type TaskName } from '../all-tasks.js';
import type { SessionAnswer } from '../interface.js';
import type { ConsoleParts } from '../parts.js';
import { type Route, route } from '../route.js';

/** A fleet file that cannot be read keeps nobody from the console: `tollgate fleet status` says what is wrong with it. */
async function cellsFor(
  fence: OrganisationId | undefined,
  database: Queryable,
  { settings: { fleet } }: Pick<ConsoleParts, 'settings'>,
): Promise<Pick<SessionAnswer, 'cell' | 'other_cells'>> {
  const { name: cell } = await showCell(database);
  if (fleet === undefined || fence !== undefined) return { cell, other_cells: [] };
  const { cells } = await readFleet(fleet).catch(() => ({ cells: [] }));
  const others = cells.filter(({ name, console }) => name !== cell && console !== undefined);
  return { cell, other_cells: others.map(({ name, console = '' }) => ({ name, console })) };
}

export const SESSION_ROUTES: readonly Route[] = [
  route(
    { method: 'GET', path: '/session', role: 'viewer', scope: 'organisation' },
    async ({ operator, fence, session, database, parts }): Promise<SessionAnswer> => ({
      ...(await cellsFor(fence, database, parts)),
      operator: operator.name,
      role: operator.role,
      organisation: operator.organisation ?? null,
      mode: await modeOf(database, fence),
      demo: parts.demo,
      version: parts.version,
      now: new Date().toISOString(),
      method: session.method,
      ends_at: new Date(session.endsMs).toISOString(),
      tasks: permittedTo(operator, TASKS).map(({ name }) => name as TaskName),
      recent: session.provedLately || session.method === 'demo',
    }),
  ),
  route(
    { method: 'POST', path: '/sign-out', role: 'viewer', scope: 'organisation' },
    async ({ database, actor, session, cookie }) => {
      await signOut(database, actor, session);
      cookie.clear();
    },
  ),
  route(
    { method: 'POST', path: '/sign-out-everywhere', role: 'viewer', scope: 'organisation' },
    async ({ database, actor, operator, cookie }) => {
      const ended = await signOutEverywhere(database, actor, operator.name);
      cookie.clear();
      return { ended };
    },
  ),
  route(
    { method: 'POST', path: '/command-line-token', role: 'viewer', scope: 'organisation', recent: true },
    ({ database, parts, session, address, agent }) =>
      makeToken(database, parts.key, session, { address, agent }),
  ),
  route(
    { method: 'GET', path: '/sessions', role: 'viewer', scope: 'organisation' },
    ({ database, operator, session, parts }) =>
      listSessions(database, operator.name, parts.settings.sessionIdleMs, session),
  ),
  route(
    { method: 'POST', path: '/sessions/:id/end', role: 'viewer', scope: 'organisation' },
    ({ database, actor, operator, params }) => endSession(database, actor, operator.name, params.id),
  ),
];
