// Commit B: from the acquirer's answer to a durable outcome, also when the database is away just then. The outcome is stored, and the
// reservation on the target settled or released.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../../acquirers/contract.js';
import type { Clock } from '../../clock/clock.js';
import { openSignerOf } from '../../journal/entry-signer.js';
import { Batcher } from '../../postgres/batches.js';
import { type Database, DatabaseUnavailable, type Statement } from '../../postgres/database.js';
import { fault } from '../../values/faults.js';
import type { Histogram } from '../../values/histogram.js';
import { settlementCalendar } from '../../values/time.js';
import type { Lookup } from '../finding/lookup.js';
import type { AuditLeases } from '../processes/process-registry.js';
import { ANSWERS, DOUBTS, RESOLUTIONS } from '../status.sql.js';
import {
  type InDoubt,
  type Intent,
  type Outcome,
  outcomeOf,
  type Recording,
  type Resolution,
  type Transaction,
} from '../transaction.js';
import type { TransactionFigures } from '../transaction-figures.js';
import type { BatchOptions } from './claim.js';
import { HAND_TO_RESOLVER, RECORD_DIRECT, RECORD_TARGETED } from './record.sql.js';

/** The statements of commit B where some of the outcomes are pending: they also begin the way of a direct debit. */
interface IntakeStatements {
  readonly direct: Statement;
  readonly targeted: Statement;
  /** Of whatever was in doubt. */
  readonly resolutions: Statement;
}

interface RecordsParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly intake: IntakeStatements;
}

/** What was decided, and whether as answered: the settlement day may have closed meanwhile. */
interface Recorded extends Pick<Intent, 'organisationId' | 'audit'> {
  readonly asAnswered: boolean;
}

export class Records {
  readonly #direct: Batcher<Recording, boolean>;
  readonly #targeted: Batcher<Recording, boolean>;
  readonly #resolutions: Batcher<Resolution, boolean>;
  readonly #doubts: Batcher<InDoubt, undefined>;

  constructor(
    private readonly parts: RecordsParts,
    batches: BatchOptions,
  ) {
    const { intake, database } = parts;
    const options = { ...batches, database };
    this.#direct = new Batcher(
      (recordings) => this.#record(anyPending(recordings) ? intake.direct : RECORD_DIRECT, recordings),
      options,
    );
    // One lane: an effect on a shared target never waits for another batch of this process.
    this.#targeted = new Batcher(
      (recordings) => this.#record(anyPending(recordings) ? intake.targeted : RECORD_TARGETED, recordings),
      { ...options, lanes: 1 },
    );
    this.#resolutions = new Batcher((resolutions) => this.#resolve(intake.resolutions, resolutions), {
      ...options,
      lanes: 1,
    });
    this.#doubts = new Batcher((doubts) => this.#handOver(doubts), options);
  }

  /** Of each kind. */
  get batchSizes(): Readonly<Record<string, Histogram>> {
    return {
      records: this.#direct.sizes,
      'targeted records': this.#targeted.sizes,
      resolutions: this.#resolutions.sizes,
    };
  }

  /**
   * Stores the outcome. False when what is stored may be something else: the transaction was decided meanwhile, the resolver
   * has taken it, or it settles on a later day than was answered.
   */
  record(intent: InDoubt, outcome: Outcome): Promise<boolean> {
    const batches = intent.targetAudit === undefined ? this.#direct : this.#targeted;
    return batches.submit({ organisationId: intent.organisationId, intent, outcome, attempt: 0 });
  }

  /** Stores what became of a transaction in doubt, and the journal entry. False when another attempt has decided, or will. */
  resolve(intent: InDoubt, outcome: Outcome, attempt: number, detail: string): Promise<boolean> {
    const { organisationId } = intent;
    const entry = {
      actor: 'gateway:resolver',
      action: 'transaction.resolved',
      organisationId,
      audit: intent.audit,
    };
    const mac = openSignerOf(this.parts.database)?.macOf({ ...entry, detail });
    return this.#resolutions.submit({ organisationId, intent, outcome, attempt, detail, mac });
  }

  async handToResolver(intent: InDoubt): Promise<void> {
    await this.#doubts.submit(intent);
  }

  async #record(statement: Statement, recordings: readonly Recording[]): Promise<readonly boolean[]> {
    const rows = await this.#store(statement, ANSWERS.encode(recordings));
    const asAnswered = rows.filter((row) => row.asAnswered);
    // guard(record: the answer that is given is the one that is stored): == ⇒ <
    if (asAnswered.length === recordings.length) return recordings.map(() => true);
    return among(asAnswered, recordings);
  }

  async #resolve(statement: Statement, resolutions: readonly Resolution[]): Promise<readonly boolean[]> {
    const values = [...ANSWERS.encode(resolutions), ...RESOLUTIONS.encode(resolutions)];
    return among(await this.#store(statement, values), resolutions);
  }

  async #store(statement: Statement, values: readonly string[]): Promise<readonly Recorded[]> {
    const { database, clock } = this.parts;
    const { rows } = await database.query<Recorded>(statement, [
      ...settlementCalendar(clock.now()),
      ...values,
    ]);
    return rows;
  }

  async #handOver(doubts: readonly InDoubt[]): Promise<readonly undefined[]> {
    await this.parts.database.query(HAND_TO_RESOLVER, DOUBTS.encode(doubts));
    return doubts.map(() => undefined);
  }
}

/** Which of the entries these rows are about. */
function among(rows: readonly Recorded[], entries: readonly Recording[]): boolean[] {
  const keys = new Set(rows.map(({ organisationId, audit }) => `${organisationId}/${audit}`));
  return entries.map(({ intent }) => keys.has(`${intent.organisationId}/${intent.audit}`));
}

function anyPending(recordings: readonly Recording[]): boolean {
  return recordings.some(({ outcome }) => outcome.status === 'pending');
}

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

interface FinisherParts {
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

/** What the answer means, and what is done where it cannot be stored yet. */
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
