// Routes about the day: its figures, and what is told each second while a page is open.

import { Type } from '../../api/typebox.js';
import type { LiveFigures } from '../../figures/live.js';
import { showToday } from '../../figures/today.js';
import { TRANSACTION_TYPES } from '../../payments/transaction.js';
import { outward } from '../../values/snake-case.js';
import { DAY_PATTERN } from '../../values/time.js';
import { permissionOf } from '../all-tasks.js';
import type { LiveEvent, TodayAnswer } from '../interface.js';
import { queryReader } from '../query.js';
import { EventStream, type Route, route } from '../route.js';
import { Scope } from './scope.js';

const readToday = queryReader(
  Type.Object({
    organisation: Scope.organisation,
    mode: Scope.mode,
    date: Type.Optional(Type.String({ pattern: DAY_PATTERN, format: 'date' })),
    transaction_type: Type.Optional(Type.Enum([...TRANSACTION_TYPES])),
  }),
);
const readLive = queryReader(Type.Object({ organisation: Scope.organisation, mode: Scope.mode }));

export const TODAY_ROUTES: readonly Route[] = [
  route(
    { method: 'GET', path: '/today', permission: permissionOf('transaction figures') },
    async ({ query, database, fence, parts }): Promise<TodayAnswer> => {
      const { organisation, mode, date, transaction_type: transactionType } = readToday(query);
      // guard(console: the figures of an operator keep within the organisation): : fence ?? organisation ⇒
      const wish = { organisation: fence ?? organisation, mode, date, transactionType };
      return outward(await showToday(database, wish, await parts.latency.read()));
    },
  ),
  route(
    { method: 'GET', path: '/live', permission: permissionOf('transaction figures'), background: true },
    ({ query, fence, parts, signal }) => {
      const { organisation, mode } = readLive(query);
      // guard(console: a stream keeps within the organisation): : fence ?? organisation ⇒
      const scope = { organisation: fence ?? organisation, mode };
      return new EventStream(events(parts.live.figures(scope, signal)));
    },
  ),
];

async function* events(figures: AsyncIterable<LiveFigures>): AsyncGenerator<LiveEvent> {
  for await (const moment of figures) yield outward(moment);
}
