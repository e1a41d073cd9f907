// The event operation of the interface: what has changed for a merchant, page by page, or as soon as it happens.
import { eventCursors } from '../../events/cursors.js';
import { EventFeed, type FeedPage } from '../../events/feed.js';
import type { EventWatcher, Waiter } from '../../events/watcher.js';
import { permittedMerchant } from '../../organisations/users/callers.js';
import type { FairConnections } from '../../postgres/fair-connections.js';
import { fault } from '../../values/faults.js';
import { PAGE_LIMIT } from '../limits.js';
import { operation } from '../operation.js';
import { shownSubjects } from '../permissions.js';
import { refused } from '../problems.js';
import { eventBodies } from './event-bodies.js';
import { EventList, EventQuery } from './event-schemas.js';
import { BASE_PATH } from './hal.js';

export interface EventServices {
  readonly eventWatcher: EventWatcher;
  readonly eventConnections: FairConnections;
}

export const EVENT_OPERATIONS = [
  operation({
    id: 'listEvents',
    tag: 'Events',
    method: 'GET',
    route: '/events',
    summary: 'List events',
    description:
      'Oldest first. `_links.next` is always there: follow it again and again, and no event is missed and none comes twice. Events of customers and tokens are for users with the permission `vault`.',
    query: EventQuery,
    success: { status: 200, description: 'Events, or none yet.', schema: EventList },
    problems: ['merchant_not_permitted'],
    waits: true,
    async handle({ caller, query, gone }, { eventWatcher, eventConnections }: EventServices) {
      const { id: merchantId } = permittedMerchant(caller, query.merchant_id ?? caller.assignedMerchantId);
      const { organisationId } = caller;
      const { limit = PAGE_LIMIT, wait = 0 } = query;
      const database = eventConnections.of(organisationId);
      const cursors = await eventCursors(database);
      const after = query.after === undefined ? 0 : cursors.decode(query.after);
      if (after === undefined) throw refused('field_format', ['query', 'after']);
      const feed = new EventFeed(database);
      const shown = { organisationId, merchantId, kinds: shownSubjects(caller.permissions) };
      const read = (from: number) => feed.readMerchantAfter(shown, from, limit);
      const page =
        wait === 0
          ? await eventWatcher.advance().then(() => read(after))
          : await waitForEvents(eventWatcher.enter(organisationId, merchantId), {
              after,
              read,
              limitMs: wait * 1000,
              gone,
            });
      if (page.skipped) throw fault('cursor_forgotten', 'cursor');
      const { after: _after, ...filters } = query;
      const parameters = new URLSearchParams(
        Object.entries({ ...filters, after: cursors.encode(page.position) }).map(
          ([name, value]): [string, string] => [name, String(value)],
        ),
      );
      return {
        status: 200,
        merchantId,
        body: {
          results: await eventBodies(database, page.events),
          _links: { next: { href: `${BASE_PATH}/events?${parameters}` } },
        },
      };
    },
  }),
];

interface Waiting {
  readonly after: number;
  readonly read: (after: number) => Promise<FeedPage>;
  readonly limitMs: number;
  readonly gone: AbortSignal | undefined;
}

/**
 * It has entered before it reads: whatever comes after that wakes it. New events get their positions at the watcher's next look, for all
 * who wait together, and not at each request.
 */
async function waitForEvents(waiter: Waiter, { after, read, limitMs, gone }: Waiting): Promise<FeedPage> {
  const untilMs = performance.now() + limitMs;
  let from = after;
  try {
    for (;;) {
      const page = await read(from);
      from = page.position;
      const leftMs = untilMs - performance.now();
      if (page.events.length > 0 || page.skipped || leftMs <= 0 || waiter.ended || gone?.aborted) return page;
      await waiter.news(leftMs, gone);
    }
  } finally {
    waiter.leave();
  }
}
