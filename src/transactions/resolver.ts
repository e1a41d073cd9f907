// Finds out what became of every transaction in doubt, and never gives up. Any number of processes may run it.
import type { MoneyOperation, Prepared } from '../acquirers/contract.js';
import { inquireUnderDeadline, reverseUnderDeadline } from '../acquirers/deadline.js';
import type { AcquirerLinks } from '../acquirers/links.js';
import type { Database } from '../postgres/database.js';
import type { Audit } from '../values/ids.js';
import type { Clock } from './clock.js';
import { DeadProcesses } from './dead-processes.js';
import type { Orders } from './orders.js';
import { NOT_SENT, REVERSED, readableOutcome } from './outcome.js';
import type { Records } from './record.js';
import { BEGIN_REVERSAL, POSTPONE, TAKE_DUE } from './resolver.sql.js';
import type { Intent } from './transaction.js';

export interface ResolverParts {
  readonly database: Database;
  /** This process. */
  readonly process: { readonly id: number };
  readonly records: Records;
  readonly links: AcquirerLinks;
  readonly orders: Orders;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** A process without a heartbeat for this long is presumed dead. */
  readonly presumedDeadMs: number;
}

interface Doubt
  extends Pick<
    Intent,
    | 'organisationId'
    | 'audit'
    | 'merchantId'
    | 'targetAudit'
    | 'amountCents'
    | 'currency'
    | 'createdMs'
    | 'completableUntilMs'
    | 'acquirer'
  > {
  readonly operation: MoneyOperation;
  readonly prepared?: Prepared;
  readonly attempt: number;
  readonly reversing: boolean;
}

type DueRow = Omit<Doubt, 'targetAudit' | 'completableUntilMs'> & {
  readonly targetAudit: Audit | null;
  readonly completableUntilMs: number | null;
};

/** How many are asked about at the same time. */
const BATCH = 50;

export class Resolver {
  readonly #deadProcesses: DeadProcesses;

  constructor(private readonly parts: ResolverParts) {
    this.#deadProcesses = new DeadProcesses(parts.database, parts.process, parts.presumedDeadMs);
  }

  /** Looks after everything due, then after what dead processes left. Returns how many were looked at. */
  async run(): Promise<number> {
    // What is due comes first: nothing that goes wrong with what the dead left can keep it waiting.
    const due = await this.#resolveDue();
    const handedOver = await this.#deadProcesses.handOver();
    return handedOver > 0 ? due + (await this.#resolveDue()) : due;
  }

  async #resolveDue(): Promise<number> {
    const { database, deadlineMs } = this.parts;
    let total = 0;
    for (;;) {
      // An inquiry and a reversal fit into three deadlines; after that another resolver may try.
      const { rows } = await database.query<DueRow>(TAKE_DUE, [BATCH, 3 * deadlineMs]);
      await Promise.all(
        rows.map(({ targetAudit, completableUntilMs, ...doubt }) =>
          this.#resolve({
            ...doubt,
            ...(targetAudit !== null && { targetAudit }),
            ...(completableUntilMs !== null && { completableUntilMs }),
          }),
        ),
      );
      total += rows.length;
      if (rows.length < BATCH) return total;
    }
  }

  async #resolve(doubt: Doubt): Promise<void> {
    const { records, links, orders, clock, deadlineMs } = this.parts;
    const link = links.opened(doubt.acquirer);
    if (link === undefined) return this.#postpone(doubt);
    const prepared = doubt.prepared ?? undefined;
    // What was to be prepared and was not has not been asked either.
    if (link.prepare !== undefined && prepared === undefined) {
      await records.record(doubt, NOT_SENT, doubt.attempt);
      return;
    }
    const order = orders.stored(doubt.operation, doubt);
    if (!doubt.reversing) {
      const finding = await inquireUnderDeadline(link, order, prepared, deadlineMs);
      if (finding.kind === 'no_answer') return this.#postpone(doubt);
      if (finding.kind !== 'not_seen') {
        const outcome = readableOutcome(finding, clock.now(), doubt);
        if (outcome === undefined) return this.#postpone(doubt);
        await records.record(doubt, outcome, doubt.attempt);
        return;
      }
      // The order may still be on its way. The reversal makes sure that it is refused when it arrives.
      if (!(await this.#beginReversal(doubt))) return;
    }
    const reversal = await reverseUnderDeadline(link, order, prepared, deadlineMs);
    if (reversal === 'no_answer') return this.#postpone(doubt);
    await records.record(doubt, REVERSED, doubt.attempt);
  }

  async #beginReversal({ organisationId, audit, attempt }: Doubt): Promise<boolean> {
    const { rows } = await this.parts.database.query(BEGIN_REVERSAL, [organisationId, audit, attempt]);
    return rows.length === 1;
  }

  async #postpone({ organisationId, audit, attempt }: Doubt): Promise<void> {
    const { database, firstPauseMs, longestPauseMs } = this.parts;
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(attempt - 1, 30), longestPauseMs);
    await database.query(POSTPONE, [organisationId, audit, attempt, pauseMs]);
  }
}
