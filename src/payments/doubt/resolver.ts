// Finds out what became of every transaction in doubt, and never gives up. Any number of processes may run it.

import {
  inquireUnderDeadline,
  type MoneyOperation,
  type Prepared,
  reverseUnderDeadline,
} from '../../acquirers/contract.js';
import { openPenOf } from '../../journal/pen.js';
import type { Audit } from '../../values/ids.js';
import { NOT_SENT, REVERSED, readableOutcome } from '../outcome.js';
import type { Records } from '../pipeline/record.js';
import type { Intent, Outcome } from '../transaction.js';
import { DEADLINES_OF_AN_ATTEMPT } from './asking-now.js';
import { DeadProcesses } from './dead-processes.js';
import { Due } from './due.js';
import { type FoundBy, inWords, type Resolved, resolved } from './resolution.js';
import { BEGIN_REVERSAL, POSTPONE } from './resolver.sql.js';
import { ReversalsAgain, type ReversalsAgainParts } from './reversals-again.js';

export interface ResolverParts extends ReversalsAgainParts {
  /** This process. */
  readonly process: { readonly id: number };
  readonly records: Records;
  /** Called after a look at what is due, with how many got no answer from each link. */
  readonly onNoAnswer: (unanswered: ReadonlyMap<string, number>) => void;
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
  readonly #due: Due<DueRow>;
  readonly #again: ReversalsAgain;

  constructor(private readonly parts: ResolverParts) {
    this.#due = new Due(parts.database);
    this.#again = new ReversalsAgain(parts);
    this.#deadProcesses = new DeadProcesses(parts.database, parts.process, parts.deadlineMs);
  }

  /** Looks after everything due, then after what dead processes left. Returns how many were looked at. */
  async run(): Promise<number> {
    // What is due comes first: nothing that goes wrong with what the dead left can keep it waiting.
    const due = await this.#resolveDue();
    await this.#again.run();
    // guard(dead processes: what they left is handed over): await this.#deadProcesses.handOver() ⇒ 0
    const handedOver = await this.#deadProcesses.handOver();
    return handedOver > 0 ? due + (await this.#resolveDue()) : due;
  }

  async #resolveDue(): Promise<number> {
    const { deadlineMs } = this.parts;
    let total = 0;
    const unanswered = new Map<string, number>();
    for (;;) {
      // An inquiry and a reversal fit into these; after that another resolver may try.
      const leaseMs = DEADLINES_OF_AN_ATTEMPT * deadlineMs;
      const rows = await this.#due.take(BATCH, leaseMs);
      await Promise.all(
        rows.map(async ({ targetAudit, completableUntilMs, ...row }) => {
          const doubt: Doubt = {
            ...row,
            ...(targetAudit !== null && { targetAudit }),
            ...(completableUntilMs !== null && { completableUntilMs }),
          };
          if ((await this.#resolve(doubt)) === 'done') return;
          unanswered.set(doubt.acquirer, (unanswered.get(doubt.acquirer) ?? 0) + 1);
          await this.#postpone(doubt);
        }),
      );
      total += rows.length;
      if (rows.length < BATCH) break;
    }
    if (unanswered.size > 0) this.parts.onNoAnswer(unanswered);
    return total;
  }

  /** `later`: there was no answer, or none that anything could be made of. */
  async #resolve(doubt: Doubt): Promise<'done' | 'later'> {
    const { links, orders, clock, deadlineMs } = this.parts;
    const link = links.opened(doubt.acquirer);
    if (link === undefined) return 'later';
    const prepared = doubt.prepared ?? undefined;
    // What was to be prepared and was not has not been asked either.
    // guard(prepared: what was not prepared was not sent): undefined) ⇒ null)
    if (link.prepare !== undefined && prepared === undefined)
      return this.#decide(doubt, NOT_SENT, NOT_SENT.status, 'nothing was prepared');
    const order = orders.stored(doubt.operation, doubt);
    // guard(reversal: once it is under way a late approval no longer wins): !doubt.reversing ⇒ doubt.attempt > 0
    if (!doubt.reversing) {
      const finding = await inquireUnderDeadline(link, order, prepared, deadlineMs);
      // guard(inquiry: no answer does not mean that nothing was done): return 'later ⇒ finding.kind = 'not_seen
      if (finding.kind === 'no_answer') return 'later';
      if (finding.kind !== 'not_seen') {
        const outcome = readableOutcome(finding, clock.now(), doubt);
        if (outcome === undefined) return 'later';
        return this.#decide(doubt, outcome, outcome.status, 'inquiry');
      }
      // The order may still be on its way. The reversal makes sure that it is refused when it arrives.
      // guard(reversal: not begun by an attempt that may not): if (!(await this.#beginReversal(doubt))) return 'done' ⇒ await this.#beginReversal(doubt)
      if (!(await this.#beginReversal(doubt))) return 'done';
    }
    const reversal = await reverseUnderDeadline(link, order, prepared, deadlineMs);
    // guard(reversal: repeated until it is confirmed): if (reversal === 'no_answer') return 'later'; ⇒
    if (reversal === 'no_answer') return 'later';
    return this.#decide(doubt, REVERSED, 'reversed', 'reversal');
  }

  /** Stored with its journal entry, unless another attempt has taken over. */
  async #decide(doubt: Doubt, outcome: Outcome, found: Resolved['found'], by: FoundBy): Promise<'done'> {
    const { records, clock, onResolved } = this.parts;
    const decision = resolved(doubt, found, by, doubt.attempt, clock.now());
    if (await records.resolve(doubt, outcome, doubt.attempt, inWords(decision))) onResolved(decision);
    return 'done';
  }

  async #beginReversal(doubt: Doubt): Promise<boolean> {
    const { database, clock, onResolved } = this.parts;
    const { organisationId, audit, attempt } = doubt;
    const decision = resolved(doubt, 'reversal begun', 'inquiry', attempt, clock.now());
    const detail = inWords(decision);
    const entry = {
      actor: 'gateway:resolver',
      action: 'transaction.reversal_begun',
      organisationId,
      audit,
      detail,
    };
    const values = [organisationId, audit, attempt, detail, openPenOf(database)?.mark(entry) ?? null];
    const { rows } = await database.query(BEGIN_REVERSAL, values);
    if (rows.length === 1) onResolved(decision);
    return rows.length === 1;
  }

  async #postpone({ organisationId, audit, attempt }: Doubt): Promise<void> {
    const { database, firstPauseMs, longestPauseMs } = this.parts;
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(attempt - 1, 30), longestPauseMs);
    await database.query(POSTPONE, [organisationId, audit, attempt, pauseMs]);
  }
}
