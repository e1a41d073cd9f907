// Routes for the differences of settlement: which are open, and that somebody has looked at one, or at a whole day.
import { acquirerNames } from '../../acquirers/configured.js';
import { Type } from '../../api/typebox.js';
import { listDifferences, lookAtDay, lookAtDifference, openDays } from '../../settlement/difference-tasks.js';
import { outward } from '../../values/snake-case.js';
import { DAY_PATTERN, isDay } from '../../values/time.js';
import { numberIn } from '../fence.js';
import { TEXT } from '../fields.js';
import { ConsoleProblem } from '../problems.js';
import { type Route, route } from '../route.js';

const LISTED = 500;

export const DIFFERENCE_ROUTES: readonly Route[] = [
  route(
    { method: 'GET', path: '/settlement/differences', task: 'settlement differences' },
    async ({ database, query }) => {
      const date = query.get('date') || undefined;
      if (date !== undefined && !isDay(date)) throw new ConsoleProblem('field_format', ['query', 'date']);
      const all = query.get('all') === 'true';
      const [differences, days, acquirers] = await Promise.all([
        listDifferences(database, { date, acquirer: query.get('acquirer') || undefined, all, limit: LISTED }),
        openDays(database),
        acquirerNames(database),
      ]);
      return outward({ differences, days, acquirers });
    },
  ),
  route(
    {
      method: 'POST',
      path: '/settlement/differences/looked-at',
      task: 'settlement looked-at',
      body: Type.Object({
        date: Type.String({ pattern: DAY_PATTERN, format: 'calendar-day' }),
        acquirer: Type.String({ maxLength: 64 }),
        note: TEXT,
        open: Type.Integer({ minimum: 1 }),
      }),
    },
    async ({ database, actor, body }) => outward(await lookAtDay(database, actor, body)),
  ),
  route(
    {
      method: 'POST',
      path: '/settlement/differences/:difference/looked-at',
      task: 'settlement looked-at',
      body: Type.Object({ note: TEXT }),
    },
    async ({ database, actor, params, body }) =>
      outward(await lookAtDifference(database, actor, numberIn(params.difference), body.note)),
  ),
];
