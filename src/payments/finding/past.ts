// What transactions were when their status was set: an event tells of that moment, and not of now.
import type { Queryable } from '../../postgres/database.js';
import type { Audit, OrganisationId } from '../../values/ids.js';
import type { Mode } from '../../values/mode.js';
import { CLEARED, GATEWAY_STATUS, type Transaction, type TransactionStatus } from '../transaction.js';
import { type Row, transactionFrom } from './lookup.js';
import { SUBJECTS, TRANSACTIONS_OF_EVENTS } from './past.sql.js';

export interface PastTransaction {
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
  /** The status that was set then. */
  readonly status: TransactionStatus;
}

export interface TransactionThen {
  readonly transaction: Transaction;
  /** Of its merchant. */
  readonly mode: Mode;
}

/** In the order in which they are asked for. */
export async function transactionsThen(
  database: Queryable,
  wanted: readonly PastTransaction[],
): Promise<readonly TransactionThen[]> {
  const { rows } = await database.query<Row & { mode: Mode }>(
    TRANSACTIONS_OF_EVENTS,
    SUBJECTS.encode(wanted),
  );
  const now = new Map(rows.map((row) => [row.place, row]));
  return wanted.map(({ status }, index) => {
    const row = now.get(index + 1);
    if (row === undefined) throw new Error('an event tells of a transaction that is not there');
    return { transaction: then(transactionFrom(row), status), mode: row.mode };
  });
}

/** What an acquirer or a bank says comes with a status; what it said before must not be told with an earlier one. */
function then(now: Transaction, status: TransactionStatus): Transaction {
  switch (status) {
    case 'unknown':
      // guard(events: what was in doubt is told without what was found later): { ...silent(now), status, gatewayStatusCode: GATEWAY_STATUS.unknown } ⇒ now
      return { ...silent(now), status, gatewayStatusCode: GATEWAY_STATUS.unknown };
    case 'pending':
      return { ...silent(now), status, gatewayStatusCode: GATEWAY_STATUS.processed };
    case 'approved':
      // Nearly all of them: a copy would cost more than everything else about an event.
      if (now.status === status) return now;
      // A void leaves to its target what was said of it. What was approved and is declined now is a debit that came back late.
      return now.status === 'declined' ? { ...now, status, ...CLEARED } : { ...now, status };
    case 'declined':
    case 'error':
    case 'voided':
      // Nothing comes after these.
      return now;
  }
}

/** Before anybody has said anything. */
function silent(now: Transaction): Transaction {
  const {
    responseCode: _code,
    responseMessage: _message,
    settlementDate: _date,
    authorisationCode: _authorisation,
    preauthorisationCode: _preauthorisation,
    networkTransactionId: _network,
    ...rest
  } = now;
  return rest;
}
