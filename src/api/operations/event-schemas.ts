// The shapes of events on the wire.
import { EVENT_TYPES } from '../../events/types.js';
import { OPEN, openEnum } from '../openapi/openapi-components.js';
import { CURSOR_PATTERN, Limit } from '../pages.js';
import { Id, Link } from '../schemas.js';
import { Type } from '../typebox.js';
import {
  GatewayTimestamp,
  Kvps,
  Status,
  TransactionDetails,
  TransactionMerchant,
} from './transaction-schemas.js';

/** Proxies give up on an answer after a minute, many clients sooner. */
const LONGEST_WAIT_S = 30;

export const EventQuery = Type.Object({
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
    audit: Type.Optional(Id('Of a transaction.')),
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
    _links: Type.Object(
      {
        self: Link,
        target: Type.Optional(Link),
        tokens: Type.Optional(Link),
        customer: Type.Optional(Link),
      },
      { title: 'EventDataLinks', ...OPEN },
    ),
  },
  {
    title: 'EventData',
    ...OPEN,
    description:
      'What a look-up would have answered when it happened, without payment details and without what could be done then: the members of a transaction, a customer or a token.',
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
      description: 'Counts the events of one transaction, customer or token from 1.',
    }),
    data: EventData,
  },
  { title: 'Event', ...OPEN },
);

export const EventList = Type.Object(
  {
    results: Type.Array(EventObject),
    _links: Type.Object({ next: Link }, { title: 'EventListLinks', ...OPEN }),
  },
  { title: 'EventList', ...OPEN },
);
