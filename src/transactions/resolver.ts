// Finds out what became of every transaction in doubt, and never gives up. Any number of processes may run it.
import { type Acquirer, type MoneyOperation, withinDeadline } from '../acquirers/contract.js';
import type { Database } from '../postgres/database.js';
import type { AcquirerReference } from './acquirer-reference.js';
import type { Clock } from './clock.js';
import { DeadProcesses } from './dead-processes.js';
import { outcomeOf, REVERSED } from './outcome.js';
import type { Records } from './record.js';
import { BEGIN_REVERSAL, POSTPONE, TAKE_DUE } from './resolver.sql.js';

export interface ResolverOptions {
  readonly deadlineMs: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** A process without a heartbeat for this long is presumed dead. */
  readonly presumedDeadMs: number;
}

interface Doubt {
  readonly organisationId: number;
  readonly audit: number;
  readonly targetAudit?: number;
  readonly completableUntilMs?: number;
  readonly acquirer: string;
  readonly operation: MoneyOperation;
  readonly attempt: number;
  readonly reversing: boolean;
}

type DueRow = Omit<Doubt, 'targetAudit' | 'completableUntilMs'> & {
  readonly targetAudit: number | null;
  readonly completableUntilMs: number | null;
};

/** How many are asked about at the same time. */
const BATCH = 50;

export class Resolver {
  readonly #deadProcesses: DeadProcesses;

  constructor(
    private readonly database: Database,
    process: { readonly id: number },
    private readonly referenceOf: AcquirerReference,
    private readonly records: Records,
    private readonly acquirers: ReadonlyMap<string, Acquirer>,
    private readonly clock: Clock,
    private readonly options: ResolverOptions,
  ) {
    this.#deadProcesses = new DeadProcesses(database, process, options.presumedDeadMs);
  }

  /** Looks after everything due, then after what dead processes left. Returns how many were looked at. */
  async run(): Promise<number> {
    // What is due comes first: nothing that goes wrong with what the dead left can keep it waiting.
    const due = await this.#resolveDue();
    const handedOver = await this.#deadProcesses.handOver();
    return handedOver > 0 ? due + (await this.#resolveDue()) : due;
  }

  async #resolveDue(): Promise<number> {
    let total = 0;
    for (;;) {
      const { rows } = await this.database.query<DueRow>(TAKE_DUE, [
        BATCH,
        // An inquiry and a reversal fit into it; after that another resolver may try.
        3 * this.options.deadlineMs,
      ]);
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
    const acquirer = this.acquirers.get(doubt.acquirer);
    if (acquirer === undefined) return this.#postpone(doubt);
    const reference = this.referenceOf(doubt.organisationId, doubt.audit);
    if (!doubt.reversing) {
      const finding = await withinDeadline(
        () => acquirer.inquire(reference, doubt.operation),
        this.options.deadlineMs,
        { kind: 'no_answer' },
      );
      if (finding.kind === 'no_answer') return this.#postpone(doubt);
      if (finding.kind !== 'not_seen') {
        await this.records.record(doubt, outcomeOf(finding, this.clock.now(), doubt), doubt.attempt);
        return;
      }
      // The request may still be on its way. The reversal makes sure that it is refused when it arrives.
      if (!(await this.#beginReversal(doubt))) return;
    }
    const reversal = await withinDeadline(
      () => acquirer.reverse(reference),
      this.options.deadlineMs,
      'no_answer',
    );
    if (reversal === 'no_answer') return this.#postpone(doubt);
    await this.records.record(doubt, REVERSED, doubt.attempt);
  }

  async #beginReversal({ organisationId, audit, attempt }: Doubt): Promise<boolean> {
    const { rows } = await this.database.query(BEGIN_REVERSAL, [organisationId, audit, attempt]);
    return rows.length === 1;
  }

  async #postpone({ organisationId, audit, attempt }: Doubt): Promise<void> {
    const { firstPauseMs, longestPauseMs } = this.options;
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(attempt - 1, 30), longestPauseMs);
    await this.database.query(POSTPONE, [organisationId, audit, attempt, pauseMs]);
  }
}
