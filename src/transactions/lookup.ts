// Finding transactions again: by audit for ever, by correlation ID for a while.
import type { Caller, Merchant } from '../merchants/callers.js';
import { numbers } from '../store/columns.js';
import type { Database } from '../store/database.js';
import { FIND_BY_AUDIT, FIND_BY_CORRELATION_ID, HOLDER_OF_CORRELATION_ID } from './lookup.sql.js';
import type { Transaction } from './transaction.js';

type Nullable<Row> = { [Key in keyof Row]: Row[Key] | null };

export class Lookup {
  constructor(
    private readonly database: Database,
    private readonly correlationIdKeptMs: number,
  ) {}

  async byAudit(
    caller: Pick<Caller, 'organisationId'>,
    audit: number,
    merchantIds: Iterable<number>,
  ): Promise<Transaction | undefined> {
    const { rows } = await this.database.query<Nullable<Transaction>>(FIND_BY_AUDIT, [
      caller.organisationId,
      audit,
      numbers([...merchantIds]),
    ]);
    return rows[0] && fromRow(rows[0]);
  }

  async byCorrelationId(
    caller: Pick<Caller, 'organisationId'>,
    merchant: Pick<Merchant, 'id'>,
    correlationId: string,
    nowMs: number,
  ): Promise<Transaction | undefined> {
    const { rows } = await this.database.query<Nullable<Transaction>>(FIND_BY_CORRELATION_ID, [
      caller.organisationId,
      merchant.id,
      correlationId,
      nowMs - this.correlationIdKeptMs,
    ]);
    return rows[0] && fromRow(rows[0]);
  }

  /** The audit that holds a correlation ID, also when it is too old to be searched by. */
  async holderOf(
    caller: Pick<Caller, 'organisationId'>,
    merchant: Pick<Merchant, 'id'>,
    correlationId: string,
  ): Promise<number | undefined> {
    const { rows } = await this.database.query<{ audit: number }>(HOLDER_OF_CORRELATION_ID, [
      caller.organisationId,
      merchant.id,
      correlationId,
    ]);
    return rows[0]?.audit;
  }
}

/** An empty column is an absent member. */
function fromRow(row: Nullable<Transaction>): Transaction {
  const present = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
  return { kvps: {}, ...(present as unknown as Omit<Transaction, 'kvps'>) };
}
