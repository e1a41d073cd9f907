// Events as clients get them: adds each event's data, as it was when the event happened.
import { subjectKind } from '../../events/events.js';
import type { EventBody, FeedEvent } from '../../events/feed.js';
import { type PastTransaction, type TransactionThen, transactionsThen } from '../../payments/finding/past.js';
import type { TransactionStatus } from '../../payments/transaction.js';
import type { Queryable } from '../../postgres/database.js';
import type { Audit, CustomerId } from '../../values/ids.js';
import { sydneyTimestamp } from '../../values/time.js';
import { checkoutPath } from './checkouts.js';
import { eventTransaction, transactionPath } from './hal.js';
import { schedulePath } from './schedules.js';
import { customerPath, tokenPath } from './vault-access.js';

/** The data stored with a vault event: `TOLD_CUSTOMER` and `TOLD_TOKEN` of the vault's statements. */
interface CustomerData {
  readonly name: string;
  readonly reference: string;
}

interface TokenData {
  readonly customerId: CustomerId;
  readonly virtualPan: string;
  readonly preferredName: string;
  readonly active: boolean;
}

interface CheckoutData {
  readonly checkout: string;
  /** Null where nothing was paid. */
  readonly audit: Audit | null;
}

interface ScheduleData {
  readonly schedule: string;
  /** Of a date that has failed. */
  readonly date?: string;
  readonly audit?: Audit | null;
  /** Of one that was paused, or has ended. */
  readonly status?: string;
  readonly reason?: string | null;
}

interface ReachedLimit {
  readonly per: string;
  readonly mode: string;
  readonly shown: string;
}

/** One statement for all transactions among the events; the rest need none. */
export async function eventBodies(
  database: Queryable,
  events: readonly FeedEvent[],
): Promise<readonly EventBody[]> {
  const ofTransactions = events.filter(({ type }) => subjectKind(type) === 'transaction');
  const transactions =
    ofTransactions.length === 0 ? [] : await transactionsThen(database, ofTransactions.map(pastTransaction));
  const byId = new Map(ofTransactions.map(({ id }, index) => [id, transactions[index]]));
  return events.map((event) => ({
    id: event.id,
    type: event.type,
    created: sydneyTimestamp(event.createdMs),
    merchant: { id: event.merchantId },
    version: event.version,
    data: dataOf(event, byId.get(event.id)),
  }));
}

function pastTransaction({ organisationId, subject, type }: FeedEvent): PastTransaction {
  return { organisationId, audit: subject as Audit, status: statusOf(type) };
}

/** The transaction status of an event type. */
function statusOf(type: string): TransactionStatus {
  return type === 'directdebit.returned'
    ? 'declined'
    : (type.slice('transaction.'.length) as TransactionStatus);
}

function dataOf(event: FeedEvent, then: TransactionThen | undefined): object {
  if (then !== undefined) return eventTransaction(then.transaction, then);
  const { subject: id, merchantId, data } = event;
  // The reader may be assigned to another merchant, or to none.
  const within = `?merchant_id=${merchantId}`;
  if (subjectKind(event.type) === 'customer') {
    const { name, reference } = JSON.parse(data) as CustomerData;
    const self = customerPath(id);
    const _links = { self: { href: self + within }, tokens: { href: `${self}/tokens${within}` } };
    return { id, name, reference, _links };
  }
  if (subjectKind(event.type) === 'limit') {
    const { per, mode, shown } = JSON.parse(data) as ReachedLimit;
    return { limit: { per, mode, reached_by: shown }, _links: {} };
  }
  if (subjectKind(event.type) === 'checkout') {
    const { checkout, audit } = JSON.parse(data) as CheckoutData;
    const self = { href: checkoutPath(checkout) };
    if (audit === null) return { checkout_id: checkout, _links: { self } };
    return { checkout_id: checkout, audit, _links: { self, transaction: { href: transactionPath(audit) } } };
  }
  if (subjectKind(event.type) === 'schedule') {
    const { schedule, date, audit, status, reason } = JSON.parse(data) as ScheduleData;
    const links = { self: { href: schedulePath(schedule) } };
    return {
      schedule_id: schedule,
      ...(date !== undefined && { date }),
      ...(status !== undefined && { schedule_status: status }),
      ...(reason != null && { reason }),
      ...(audit != null && { audit }),
      _links: { ...links, ...(audit != null && { transaction: { href: transactionPath(audit) } }) },
    };
  }
  const { customerId, virtualPan, preferredName, active } = JSON.parse(data) as TokenData;
  return {
    id,
    virtual_pan: virtualPan,
    preferred_name: preferredName,
    active,
    _links: {
      self: { href: tokenPath(customerId, id) + within },
      customer: { href: customerPath(customerId) + within },
    },
  };
}
