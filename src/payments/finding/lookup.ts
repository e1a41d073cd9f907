// Finding transactions again: by audit for ever, by correlation ID for a while.
import type { Caller, Merchant } from '../../organisations/users/callers.js';
import { Batcher, type Columns, type EntryOf } from '../../postgres/batches.js';
import { type Database, DatabaseUnavailable, type Statement } from '../../postgres/database.js';
import { fault } from '../../values/faults.js';
import type { Histogram } from '../../values/histogram.js';
import type { Audit, MerchantId, OrganisationId } from '../../values/ids.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import { isAsDecided, outcomePlace } from '../outcome-seals.js';
import type { BatchOptions } from '../pipeline/claim.js';
import type { StoredOutcome, Transaction } from '../transaction.js';
import {
  AUDITS,
  CORRELATION_IDS,
  FIND_BY_AUDIT,
  FIND_BY_CORRELATION_ID,
  HELD,
  HOLDERS_HOWEVER_OLD,
  PROVE_BY_AUDIT,
  PROVE_BY_CORRELATION_ID,
} from './lookup.sql.js';

export type TransactionRow = { [Key in keyof Transaction]: Transaction[Key] | null };

/** With its seal. */
type Found = Transaction & Pick<StoredOutcome, 'outcomeSeal'>;

export type Row = TransactionRow & {
  readonly outcomeSeal: string | null;
  /** Which of those that were asked for, counted from 1. */
  readonly place: number | null;
};

/** A look that proves also says which of those it cannot vouch for. */
interface ProvenRow extends Row {
  /** They may be of a time that the database has lost. */
  readonly lost: readonly number[];
  /** Another cell may know more of them. */
  readonly elsewhere: readonly number[] | null;
}

/** What a look that proves came to. */
interface Proven {
  readonly transaction: Found | undefined;
  readonly mayBeLost: boolean;
  readonly isElsewhere: boolean;
}

/** What a search is for, and when. */
export interface Search {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly correlationId: string;
  readonly nowMs: number;
}

type WantedAudit = EntryOf<typeof AUDITS>;
type WantedCorrelationId = EntryOf<typeof CORRELATION_IDS>;
type Held = EntryOf<typeof HELD>;

/**
 * What is looked for at the same time is looked for together. To find something is one thing. That there is nothing is a
 * promise, and only a server that can still commit may give it: such looks, again those of the moment together, end with a commit.
 */
export class Lookup {
  readonly #byAudit: Batcher<WantedAudit, Found | undefined>;
  readonly #provenByAudit: Batcher<WantedAudit, Proven>;
  readonly #byCorrelationId: Batcher<WantedCorrelationId, Found | undefined>;
  readonly #provenByCorrelationId: Batcher<WantedCorrelationId, Proven>;

  readonly #holders: Batcher<Held, Audit | undefined>;

  constructor(
    private readonly database: Database,
    private readonly correlationIdKeptMs: number,
    batches: BatchOptions,
    /** Check the seals of outcomes; absent where whatever follows checks them. */
    private readonly keys?: DataKeys,
  ) {
    const options = { ...batches, database };
    const oneLane = { ...options, lanes: 1 };
    this.#holders = new Batcher((wanted) => this.#holdersOf(wanted), options);
    this.#byAudit = new Batcher((wanted) => this.#find(FIND_BY_AUDIT, AUDITS, wanted), options);
    this.#provenByAudit = new Batcher(
      (wanted) => this.#prove(PROVE_BY_AUDIT, AUDITS, wanted).catch(notProven),
      oneLane,
    );
    this.#byCorrelationId = new Batcher(
      (wanted) => this.#find(FIND_BY_CORRELATION_ID, CORRELATION_IDS, wanted),
      options,
    );
    this.#provenByCorrelationId = new Batcher(
      (wanted) => this.#prove(PROVE_BY_CORRELATION_ID, CORRELATION_IDS, wanted).catch(notProven),
      oneLane,
    );
  }

  /** Of each kind. */
  get batchSizes(): Readonly<Record<string, Histogram>> {
    return { 'look-ups': this.#byAudit.sizes, searches: this.#byCorrelationId.sizes };
  }

  /** Where there is none, or its outcome is open, that is certain. */
  async byAudit(
    { organisationId }: Pick<Caller, 'organisationId'>,
    audit: Audit,
    merchantIds: Iterable<number>,
  ): Promise<Transaction | undefined> {
    const wanted = { organisationId, audit, merchantIds: [...merchantIds] };
    const found = await this.#byAudit.submit(wanted);
    return this.#asDecided(isDecided(found) ? found : promised(await this.#provenByAudit.submit(wanted)));
  }

  /** As it stands on a server that can still commit, whether it is there or not. */
  async provenByAudit(
    { organisationId }: Pick<Caller, 'organisationId'>,
    audit: Audit,
    merchantIds: readonly number[],
  ): Promise<Transaction | undefined> {
    return this.#asDecided(
      promised(await this.#provenByAudit.submit({ organisationId, audit, merchantIds })),
    );
  }

  /** Where there is none, that says nothing yet: see `SearchFence`. That its outcome is open is certain. */
  async byCorrelationId(search: Search): Promise<Transaction | undefined> {
    const found = await this.#byCorrelationId.submit(this.#wanted(search));
    return found === undefined || isDecided(found)
      ? this.#asDecided(found)
      : this.provenByCorrelationId(search);
  }

  /** Where there is none, there was none when the server last could commit. */
  async provenByCorrelationId(search: Search): Promise<Transaction | undefined> {
    return this.#asDecided(promised(await this.#provenByCorrelationId.submit(this.#wanted(search))));
  }

  /** An outcome that somebody has changed in the database is not shown as one. */
  async #asDecided(found: Found | undefined): Promise<Transaction | undefined> {
    if (found === undefined || this.keys === undefined) return found;
    // guard(look-up: an outcome that was changed is not shown): !(await isAsDecided(this.keys, found)) ⇒ false
    if (!(await isAsDecided(this.keys, found))) {
      this.keys.broken(outcomePlace(found));
      throw fault('not_processed');
    }
    return found;
  }

  /** The audit that holds a correlation ID, also when it is too old to be searched by. */
  holderOf(
    { organisationId }: Pick<Caller, 'organisationId'>,
    { id: merchantId }: Pick<Merchant, 'id'>,
    correlationId: string,
  ): Promise<Audit | undefined> {
    return this.#holders.submit({ organisationId, merchantId, correlationId });
  }

  async #holdersOf(wanted: readonly Held[]): Promise<readonly (Audit | undefined)[]> {
    const { rows } = await this.database.query<{ place: number; audit: Audit }>(
      HOLDERS_HOWEVER_OLD,
      HELD.encode(wanted),
    );
    const holders = new Map(rows.map(({ place, audit }) => [place, audit]));
    return wanted.map((_, index) => holders.get(index + 1));
  }

  #wanted({ nowMs, ...key }: Search): WantedCorrelationId {
    return { sinceMs: nowMs - this.correlationIdKeptMs, ...key };
  }

  async #find<Wanted>(
    statement: Statement,
    columns: Columns<Wanted>,
    wanted: readonly Wanted[],
  ): Promise<readonly (Found | undefined)[]> {
    const { rows } = await this.database.query<Row>(statement, columns.encode(wanted));
    return inTheirPlaces(rows, wanted.length);
  }

  /** Such a look has a row also where it found nothing. */
  async #prove<Wanted>(
    statement: Statement,
    columns: Columns<Wanted>,
    wanted: readonly Wanted[],
  ): Promise<readonly Proven[]> {
    const { rows } = await this.database.query<ProvenRow>(statement, columns.encode(wanted));
    const lost = new Set(rows[0]?.lost);
    const elsewhere = new Set(rows[0]?.elsewhere);
    return inTheirPlaces(rows, wanted.length).map((transaction, index) => ({
      transaction,
      mayBeLost: lost.has(index + 1),
      isElsewhere: elsewhere.has(index + 1),
    }));
  }
}

function inTheirPlaces(rows: readonly Row[], count: number): (Found | undefined)[] {
  const found = new Array<Found | undefined>(count).fill(undefined);
  for (const row of rows) {
    if (row.place === null) continue;
    const { outcomeSeal } = row;
    found[row.place - 1] = Object.assign(transactionFrom(row), { outcomeSeal });
  }
  return found;
}

/** Whoever is told that there is none may pay again: what may have been processed and lost is not denied. */
function promised({ transaction, mayBeLost, isElsewhere }: Proven): Found | undefined {
  if (isElsewhere) throw fault('not_processed');
  // guard(lost time: what may be lost is not said not to be there): mayBeLost ⇒ !mayBeLost && false
  if (transaction === undefined && mayBeLost) throw fault('not_processed');
  return transaction;
}

/** A server that was left behind may not have heard yet how a transaction ended, and must not say that nobody knows. */
function isDecided(found: Found | undefined): boolean {
  // guard(failover: that nobody knows the outcome is said after a commit): && found.status !== 'unknown' ⇒
  return found !== undefined && found.status !== 'unknown';
}

/** Whatever the reason: a standby refuses in words of its own. */
export function notProven(error: unknown): never {
  throw error instanceof DatabaseUnavailable ? error : new DatabaseUnavailable(error);
}

/**
 * An empty column is a member without a value. Each member is named, so that every transaction has the same shape: one to which
 * they were added in a loop would be slow to read for as long as it lives.
 */
export function transactionFrom(row: TransactionRow): Transaction {
  return {
    organisationId: row.organisationId,
    audit: row.audit,
    merchantId: row.merchantId,
    transactionType: row.transactionType,
    correlationId: row.correlationId,
    createdMs: row.createdMs,
    reference: row.reference,
    targetAudit: row.targetAudit ?? undefined,
    amountCents: row.amountCents,
    currency: row.currency,
    cardMask: row.cardMask ?? undefined,
    cardType: row.cardType ?? undefined,
    bankAccount: row.bankAccount ?? undefined,
    kvps: row.kvps ?? {},
    pricing: row.pricing ?? undefined,
    cardholder: row.cardholder ?? undefined,
    acquirer: row.acquirer,
    completableUntilMs: row.completableUntilMs ?? undefined,
    status: row.status,
    gatewayStatusCode: row.gatewayStatusCode,
    responseCode: row.responseCode ?? undefined,
    responseMessage: row.responseMessage ?? undefined,
    settlementDate: row.settlementDate ?? undefined,
    authorisationCode: row.authorisationCode ?? undefined,
    preauthorisationCode: row.preauthorisationCode ?? undefined,
    networkTransactionId: row.networkTransactionId ?? undefined,
    voidableUntilMs: row.voidableUntilMs ?? undefined,
    refundedCents: row.refundedCents,
    completedBy: row.completedBy ?? undefined,
    voidedBy: row.voidedBy ?? undefined,
  } as Transaction;
}
