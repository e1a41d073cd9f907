// Finding transactions again: by audit for ever, by correlation ID for a while.
import type { Caller, Merchant } from '../merchants/callers.js';
import { numbers, texts } from '../store/columns.js';
import type { Database, Statement } from '../store/database.js';
import { GroupCommit } from '../store/group-commit.js';
import type { BatchOptions } from './claim.js';
import { FIND_BY_AUDIT, FIND_BY_CORRELATION_ID, HOLDER_OF_CORRELATION_ID } from './lookup.sql.js';
import type { Transaction } from './transaction.js';

type Row = { [Key in keyof Transaction]: Transaction[Key] | null } & {
  /** Which of those that were asked for, counted from 1. */
  readonly place: number;
};

interface WantedAudit {
  readonly organisationId: number;
  readonly audit: number;
  readonly merchantIds: Iterable<number>;
}

interface WantedCorrelationId {
  readonly organisationId: number;
  readonly merchantId: number;
  readonly correlationId: string;
  readonly sinceMs: number;
}

/** What is looked for at the same time is looked for together. */
export class Lookup {
  readonly #byAudit: GroupCommit<WantedAudit, Transaction | undefined>;
  readonly #byCorrelationId: GroupCommit<WantedCorrelationId, Transaction | undefined>;

  constructor(
    private readonly database: Database,
    private readonly correlationIdKeptMs: number,
    options: BatchOptions,
  ) {
    this.#byAudit = new GroupCommit((wanted) => this.#findByAudit(wanted), options);
    this.#byCorrelationId = new GroupCommit((wanted) => this.#findByCorrelationId(wanted), options);
  }

  byAudit(
    { organisationId }: Pick<Caller, 'organisationId'>,
    audit: number,
    merchantIds: Iterable<number>,
  ): Promise<Transaction | undefined> {
    return this.#byAudit.submit({ organisationId, audit, merchantIds });
  }

  byCorrelationId(
    { organisationId }: Pick<Caller, 'organisationId'>,
    { id: merchantId }: Pick<Merchant, 'id'>,
    correlationId: string,
    nowMs: number,
  ): Promise<Transaction | undefined> {
    const sinceMs = nowMs - this.correlationIdKeptMs;
    return this.#byCorrelationId.submit({ organisationId, merchantId, correlationId, sinceMs });
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

  #findByAudit(wanted: readonly WantedAudit[]): Promise<readonly (Transaction | undefined)[]> {
    return this.#find(wanted.length, FIND_BY_AUDIT, [
      numbers(wanted.map(({ organisationId }) => organisationId)),
      numbers(wanted.map(({ audit }) => audit)),
      texts(wanted.map(({ merchantIds }) => numbers([...merchantIds]))),
    ]);
  }

  #findByCorrelationId(
    wanted: readonly WantedCorrelationId[],
  ): Promise<readonly (Transaction | undefined)[]> {
    return this.#find(wanted.length, FIND_BY_CORRELATION_ID, [
      numbers(wanted.map(({ organisationId }) => organisationId)),
      numbers(wanted.map(({ merchantId }) => merchantId)),
      texts(wanted.map(({ correlationId }) => correlationId)),
      numbers(wanted.map(({ sinceMs }) => sinceMs)),
    ]);
  }

  async #find(
    count: number,
    statement: Statement,
    values: readonly string[],
  ): Promise<readonly (Transaction | undefined)[]> {
    const { rows } = await this.database.query<Row>(statement, values);
    const found = Array.from<undefined, Transaction | undefined>({ length: count }, () => undefined);
    for (const row of rows) found[row.place - 1] = fromRow(row);
    return found;
  }
}

/** An empty column is an absent member. */
function fromRow(row: Row): Transaction {
  const present: Record<string, unknown> = { kvps: {} };
  for (const name in row) {
    const value = row[name as keyof Row];
    if (value !== null && name !== 'place') present[name] = value;
  }
  return present as unknown as Transaction;
}
