// The event operation of the API: a merchant's changes, page by page, or as soon as they happen.
import { EVENT_TYPES, SUBJECT_KINDS, type SubjectKind } from '../../events/events.js';
import { EventFeed, eventCursors, type FeedPage } from '../../events/feed.js';
import type { EventWatcher, Waiter } from '../../events/watcher.js';
import { permittedMerchant } from '../../organisations/users/callers.js';
import { bitOf, type Permission } from '../../organisations/users/permissions.js';
import type { FairConnections } from '../../postgres/fair-connections.js';
import { fault } from '../../values/faults.js';
import { PAGE_LIMIT } from '../limits.js';
import { OPEN, openEnum } from '../openapi/openapi-components.js';
import { operation } from '../operation.js';
import { CURSOR_PATTERN, Limit } from '../pages.js';
import { refused } from '../problems.js';
import { Id, Link } from '../schemas.js';
import { Type } from '../typebox.js';
import { eventBodies } from './event-bodies.js';
import { APPROVED, DETAILS, links, MERCHANT, TEST, TIMESTAMP } from './examples.js';
import { BASE_PATH } from './hal.js';
import {
  GatewayTimestamp,
  Kvps,
  Status,
  TransactionDetails,
  TransactionMerchant,
} from './transaction-schemas.js';

/** Proxies give up after a minute, many clients sooner. */
const LONGEST_WAIT_S = 30;

const EventQuery = Type.Object({
  merchant_id: Type.Optional(
    Id('The merchant whose events they are. Default: the merchant that the user is assigned to.'),
  ),
  after: Type.Optional(
    Type.String({
      maxLength: 40,
      pattern: CURSOR_PATTERN,
      description:
        'Part of `_links.next`: where the last answer ended. Without it: from the oldest event that is kept.',
    }),
  ),
  limit: Limit,
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: LONGEST_WAIT_S,
      default: 0,
      description: 'For how many seconds an answer without events is held back, in case one comes.',
    }),
  ),
});

const { payment_method: _paymentMethod, ...TOLD } = TransactionDetails.properties;
const EventTransaction = Type.Object(TOLD, { title: 'EventTransaction', ...OPEN });

const EventData = Type.Object(
  {
    audit: Type.Optional(
      Id('Of a transaction, of the one that has paid a checkout, or of the last payment of a date.'),
    ),
    gateway_timestamp: Type.Optional(GatewayTimestamp),
    merchant: Type.Optional(TransactionMerchant),
    kvps: Type.Optional(Kvps),
    transaction: Type.Optional(EventTransaction),
    status: Type.Optional(Status),
    id: Type.Optional(Id('Of a customer or token.')),
    name: Type.Optional(Type.String({ description: 'Of a customer.' })),
    reference: Type.Optional(Type.String({ description: 'Of a customer.' })),
    virtual_pan: Type.Optional(Type.String({ description: 'Of a token.' })),
    preferred_name: Type.Optional(Type.String({ description: 'Of a token.' })),
    active: Type.Optional(Type.Boolean({ description: 'Of a token.' })),
    checkout_id: Type.Optional(Type.String({ description: 'Of a checkout.' })),
    schedule_id: Type.Optional(Type.String({ description: 'Of a schedule.' })),
    date: Type.Optional(Type.String({ format: 'date', description: 'Of a schedule, that has failed.' })),
    schedule_status: Type.Optional(
      Type.String({ description: 'Of a schedule that was paused or has ended.' }),
    ),
    reason: Type.Optional(Type.String({ description: 'Why a date has failed, or a schedule was paused.' })),
    limit: Type.Optional(
      Type.Object(
        {
          per: openEnum(['card', 'address', 'bin', 'customer', 'checkout', 'retry'], 'What is counted.'),
          mode: openEnum(['watch', 'block'], 'Whether it goes on to be paid, or is refused.'),
          reached_by: Type.String({ description: 'A masked card number, an address, and so on.' }),
        },
        { title: 'ReachedLimit', ...OPEN, description: 'Against card testing, that was reached.' },
      ),
    ),
    _links: Type.Object(
      {
        self: Type.Optional(Link),
        target: Type.Optional(Link),
        tokens: Type.Optional(Link),
        customer: Type.Optional(Link),
        transaction: Type.Optional(Link),
      },
      { title: 'EventDataLinks', ...OPEN },
    ),
  },
  {
    title: 'EventData',
    ...OPEN,
    description:
      'What a look-up would have answered when it happened, without payment details and without what could be done then: the members of a transaction, a customer or a token; of a checkout, which one it is and what has paid it; of a schedule, which date has failed and why; which limit was reached.',
  },
);

const EventObject = Type.Object(
  {
    id: Type.String({ description: 'The same event always has the same; no other has it.' }),
    type: openEnum(EVENT_TYPES, 'What happened. Ignore types that you do not know: there may be new ones.'),
    created: Type.String({ format: 'date-time', description: 'Sydney local time.' }),
    merchant: Type.Object({ id: Id('The merchant.') }, { title: 'EventMerchant', ...OPEN }),
    version: Type.Integer({
      minimum: 1,
      description:
        'Counts the events of one transaction, customer, token, checkout, schedule or limit from 1.',
    }),
    data: EventData,
  },
  { title: 'Event', ...OPEN },
);

const EventList = Type.Object(
  {
    results: Type.Array(EventObject),
    _links: Type.Object({ next: Link }, { title: 'EventListLinks', ...OPEN }),
  },
  { title: 'EventList', ...OPEN },
);

export interface EventServices {
  readonly eventWatcher: EventWatcher;
  readonly eventConnections: FairConnections;
}

/** The permission to see events about these subjects, besides the one to list events. */
const PERMISSION_OF_SUBJECT: Readonly<Record<SubjectKind, Permission>> = {
  transaction: 'read',
  // guard(events: whoever waits is not told of what it may not see): vault', ⏎ token: 'vault ⇒ read', ⏎ token: 'read
  customer: 'vault',
  token: 'vault',
  checkout: 'read',
  schedule: 'read',
  limit: 'read',
};

/** The subjects whose events a caller with these permissions may see. */
function shownSubjects(permissions: number): SubjectKind[] {
  return SUBJECT_KINDS.filter((kind) => (permissions & bitOf(PERMISSION_OF_SUBJECT[kind])) !== 0);
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
    permission: 'read',
    query: EventQuery,
    success: { status: 200, description: 'Events, or none yet.', schema: EventList },
    problems: ['merchant_not_permitted'],
    waits: true,
    exampleAnswer: {
      results: [
        {
          id: 'evt_1_transaction_1_1',
          type: 'transaction.approved',
          created: TIMESTAMP,
          merchant: MERCHANT,
          version: 1,
          data: {
            audit: 1,
            gateway_timestamp: TIMESTAMP,
            merchant: MERCHANT,
            kvps: TEST,
            transaction: DETAILS,
            status: APPROVED,
            _links: links(1, []),
          },
        },
      ],
      _links: { next: { href: `${BASE_PATH}/events?after=kE0pB9o1mYt3q2Q5bA7nXw` } },
    },
    async handle({ caller, query, gone }, { eventWatcher, eventConnections }: EventServices) {
      const { id: merchantId } = permittedMerchant(caller, query.merchant_id ?? caller.assignedMerchantId);
      const { organisationId } = caller;
      const { limit = PAGE_LIMIT, wait = 0 } = query;
      const database = eventConnections.of(organisationId);
      const cursors = await eventCursors(database);
      const after = query.after === undefined ? 0 : await cursors.decode(query.after, organisationId);
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
 * The waiter is registered before reading, so any later event wakes it. New events get positions at the watcher's next poll, for all
 * waiting requests together.
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
      await waiter.wait(leftMs, gone);
    }
  } finally {
    waiter.leave();
  }
}
