// Events as they are shown and sent: what each is about is added here, as it was when it happened.
import { subjectKind } from '../../events/events.js';
import type { EventBody, FeedEvent } from '../../events/feed.js';
import { type PastTransaction, type TransactionThen, transactionsThen } from '../../payments/finding/past.js';
import type { TransactionStatus } from '../../payments/transaction.js';
import type { Queryable } from '../../postgres/database.js';
import type { Audit, CustomerId } from '../../values/ids.js';
import { sydneyTimestamp } from '../../values/time.js';
import { toldTransaction } from './hal.js';
import { customerPath, tokenPath } from './vault-access.js';

/** What is written down with an event of the vault: `TOLD_CUSTOMER` and `TOLD_TOKEN` of the vault's statements. */
interface ToldCustomer {
  readonly name: string;
  readonly reference: string;
}

interface ToldToken {
  readonly customerId: CustomerId;
  readonly virtualPan: string;
  readonly preferredName: string;
  readonly active: boolean;
}

/** One statement for all the transactions among them, and none for the rest. */
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

/** The status that an event of this type tells of. */
function statusOf(type: string): TransactionStatus {
  return type === 'directdebit.returned'
    ? 'declined'
    : (type.slice('transaction.'.length) as TransactionStatus);
}

function dataOf(event: FeedEvent, then: TransactionThen | undefined): object {
  if (then !== undefined) return toldTransaction(then.transaction, then);
  const { subject: id, merchantId, data } = event;
  // Whoever reads it may be assigned to another merchant, or to none.
  const within = `?merchant_id=${merchantId}`;
  if (subjectKind(event.type) === 'customer') {
    const { name, reference } = JSON.parse(data) as ToldCustomer;
    const self = customerPath(id);
    const _links = { self: { href: self + within }, tokens: { href: `${self}/tokens${within}` } };
    return { id, name, reference, _links };
  }
  const { customerId, virtualPan, preferredName, active } = JSON.parse(data) as ToldToken;
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
