// From the acquirer's answer to a durable outcome, also when the database is away just then.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../../acquirers/contract.js';
import type { Clock } from '../../clock/clock.js';
import { DatabaseUnavailable } from '../../postgres/database.js';
import { fault } from '../../values/faults.js';
import type { Lookup } from '../finding/lookup.js';
import { outcomeOf } from '../outcome.js';
import type { AuditLeases } from '../processes/audit-leases.js';
import type { InDoubt, Intent, Outcome, Transaction } from '../transaction.js';
import type { TransactionFigures } from '../transaction-figures.js';
import type { Records } from './record.js';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** How long a client waits for a database that went away between the acquirer's answer and commit B. */
const PATIENCE_MS = 2_000;
/** A statement whose client has gone ends within the server's statement timeout, here with a margin. */
const STRAGGLING_STATEMENT_MS = 30_000;

const IN_DOUBT = 'in doubt';
/** What a client is told meanwhile. */
const UNKNOWN = { status: 'unknown' } as const;
type Ending = Outcome | typeof IN_DOUBT;

export interface FinisherParts {
  readonly records: Records;
  readonly lookup: Lookup;
  readonly leases: AuditLeases;
  /** This process in the registry. */
  readonly process: { readonly heartbeatMs: number };
  readonly clock: Clock;
  readonly figures: TransactionFigures;
  /** Called when a transaction was handed to the resolver. */
  readonly onDoubt: () => void;
}

export class Finisher {
  readonly #late = new Set<Promise<void>>();
  #stopping = false;

  constructor(private readonly parts: FinisherParts) {}

  /** Commit B, and the transaction as it then stands. */
  async finish(intent: Intent, answer: Answer): Promise<Transaction> {
    if (answer.kind === 'unknown') {
      await this.#commitB(intent, IN_DOUBT);
      this.parts.figures.note(intent, UNKNOWN);
      const code = answer.reason === 'timeout' ? 'acquirer_timeout' : 'acquirer_answer_unreadable';
      throw fault(code, 'outcome', intent.audit);
    }
    let outcome: Outcome;
    try {
      outcome = outcomeOf(answer, this.parts.clock.now(), intent);
    } catch {
      // Nothing could be made of it. The money may have moved, and somebody has to find out.
      // guard(doubt: an answer that nothing can be made of is no decline): unknown', reason: 'unreadable ⇒ not_sent
      return this.finish(intent, { kind: 'unknown', reason: 'unreadable' });
    }
    // Here and wherever a payment passes, named members stand before what is spread: V8 gives an object that begins
    // with a spread and then grows a new shape each time, which cost more than all the rest of a purchase.
    // guard(commit order: nothing is answered before commit B): this.#commitB(intent, outcome ⇒ Promise.race([this.#commitB(intent, outcome), sleep(150, 'as answered' as const)]
    const stored = await this.#commitB(intent, outcome);
    if (stored === 'as answered') {
      this.parts.figures.note(intent, outcome);
      return { refundedCents: 0, ...intent, ...outcome };
    }
    const transaction = stored === 'perhaps' ? await this.#asStored(intent) : undefined;
    this.parts.figures.note(intent, transaction ?? UNKNOWN);
    if (transaction === undefined) throw fault('acquirer_timeout', 'outcome', intent.audit);
    return transaction;
  }

  /**
   * For a claim of which nobody knows whether it was committed. Nothing was sent, and nothing will be: should the row
   * be there, or turn up while the server still works off what it had received, it will say so.
   */
  closeAsNotSent(intent: InDoubt): void {
    void this.#keep(this.#untilClosedAsNotSent(intent));
  }

  /** Gives the last answers a moment. What cannot be stored stays leased, for another process to find and resolve. */
  async close(): Promise<void> {
    const patience = sleep(PATIENCE_MS, undefined, { ref: false });
    await Promise.race([Promise.allSettled(this.#late), patience]);
    this.#stopping = true;
  }

  /** Whether this is what is stored now, or it may be something else, or nothing is known while the database is away. */
  async #commitB(intent: Intent, ending: Ending): Promise<'as answered' | 'perhaps' | 'later'> {
    try {
      return (await this.#store(intent, ending)) ? 'as answered' : 'perhaps';
    } catch (error) {
      // What cannot be stored for any other reason than the database being away is left to the resolver.
      const away = error instanceof DatabaseUnavailable;
      // guard(an answer that could not be stored: kept until it can): this.#keep(this.#untilStored(intent, away ? ending : IN_DOUBT) ⇒ Promise.resolve(
      const stored = this.#keep(this.#untilStored(intent, away ? ending : IN_DOUBT));
      if (!away) throw error;
      return Promise.race([
        stored.then(() => 'perhaps' as const),
        sleep(PATIENCE_MS, 'later' as const, { ref: false }),
      ]);
    }
  }

  async #store(intent: InDoubt, ending: Ending): Promise<boolean> {
    let recorded = false;
    if (ending === IN_DOUBT) {
      // guard(doubt: is handed to the resolver): await this.parts.records.handToResolver(intent); ⏎ this.parts.onDoubt(); ⇒
      await this.parts.records.handToResolver(intent);
      this.parts.onDoubt();
    } else {
      recorded = await this.parts.records.record(intent, ending);
    }
    this.parts.leases.release(intent.organisationId, intent.audit);
    return recorded;
  }

  async #untilStored(intent: InDoubt, ending: Ending): Promise<void> {
    for await (const _ of this.#pauses()) {
      // A failure means that the database is still away.
      const stored = await this.#store(intent, ending).then(
        () => true,
        () => false,
      );
      if (stored) return;
    }
  }

  async #untilClosedAsNotSent(intent: InDoubt): Promise<void> {
    const outcome = outcomeOf({ kind: 'not_sent' }, this.parts.clock.now());
    const beganMs = performance.now();
    let firstHeardMs = Number.POSITIVE_INFINITY;
    for await (const _ of this.#pauses()) {
      const recorded = await this.parts.records.record(intent, outcome).catch(() => undefined);
      // To find no row costs no commit. While the standby is away, the claim may be waiting for it and not be seen: only
      // after a commit of ours has come through would it have, too.
      if (recorded !== undefined && this.parts.process.heartbeatMs > beganMs)
        firstHeardMs = Math.min(firstHeardMs, performance.now());
      if (recorded === true || performance.now() - firstHeardMs > STRAGGLING_STATEMENT_MS) {
        this.parts.leases.release(intent.organisationId, intent.audit);
        return;
      }
    }
  }

  async *#pauses(): AsyncGenerator<void> {
    for (let pauseMs = FIRST_PAUSE_MS; !this.#stopping; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      await sleep(pauseMs, undefined, { ref: false });
      yield;
    }
  }

  #keep(work: Promise<void>): Promise<void> {
    const kept = work.finally(() => this.#late.delete(kept));
    this.#late.add(kept);
    return kept;
  }

  /** Undefined while it is in doubt. */
  async #asStored(intent: Intent): Promise<Transaction | undefined> {
    // What was there already may have been committed without its standby: it is proven before it is told.
    const stored = await this.parts.lookup
      .provenByAudit(intent, intent.audit, [intent.merchantId])
      .catch(() => undefined);
    return stored?.status === 'unknown' ? undefined : stored;
  }
}
