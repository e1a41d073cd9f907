// Commit B: stores the outcome of the acquirer's answer durably, and settles or releases the reservation on the target. If the
// database is lost at that moment, the outcome is stored later.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../../acquirers/contract.js';
import type { Clock } from '../../clock/clock.js';
import { openSignerOf } from '../../journal/entry-signer.js';
import { Batcher } from '../../postgres/batches.js';
import {
  type Database,
  DatabaseUnavailable,
  isOrganisationElsewhere,
  type Statement,
} from '../../postgres/database.js';
import { fault } from '../../values/faults.js';
import type { Histogram } from '../../values/histogram.js';
import { settlementCalendar } from '../../values/time.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import type { Lookup } from '../finding/lookup.js';
import { outcomeSealOf } from '../outcome-seals.js';
import type { AuditLeases } from '../processes/process-registry.js';
import { ANSWERS, DECLINED_CARDS, DECLINED_CARDS_OF_DOUBTS, DOUBTS, RESOLUTIONS } from '../status.sql.js';
import {
  type InDoubt,
  type Intent,
  type Outcome,
  outcomeOf,
  type Recording,
  type Resolution,
  type StoredOutcome,
  type Transaction,
  type Undecided,
} from '../transaction.js';
import type { TransactionFigures } from '../transaction-figures.js';
import type { BatchOptions } from './claim.js';
import {
  HAND_TO_RESOLVER,
  RECORD_DECLINED,
  RECORD_DIRECT,
  RECORD_TARGETED,
  STORED_OUTCOME,
} from './record.sql.js';
import type { Retries } from './retries.js';

/** Commit B for batches with pending outcomes: these statements also enter direct debits. */
interface IntakeStatements {
  readonly direct: Statement;
  /** For transactions that were in doubt. */
  readonly resolutions: Statement;
}

interface RecordsParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Seal the outcomes. */
  readonly keys: DataKeys;
  readonly intake: IntakeStatements;
  readonly retries: Pick<Retries, 'tagOfStored'>;
}

/** What was decided, and whether it was stored as answered: the settlement day may have closed meanwhile. */
interface Recorded extends Pick<Intent, 'organisationId' | 'audit'> {
  readonly asAnswered: boolean;
}

export class Records {
  readonly #direct: Batcher<Recording, boolean>;
  readonly #declined: Batcher<Recording, boolean>;
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
    this.#declined = new Batcher((recordings) => this.#recordDeclined(recordings), options);
    // One lane: an operation on a shared target never waits for another batch of this process.
    this.#targeted = new Batcher((recordings) => this.#record(RECORD_TARGETED, recordings), {
      ...options,
      lanes: 1,
    });
    this.#resolutions = new Batcher((resolutions) => this.#resolve(intake.resolutions, resolutions), {
      ...options,
      lanes: 1,
    });
    this.#doubts = new Batcher((doubts) => this.#handOver(doubts), options);
  }

  /** By kind of record. */
  get batchSizes(): Readonly<Record<string, Histogram>> {
    return {
      records: this.#direct.sizes,
      'targeted records': this.#targeted.sizes,
      resolutions: this.#resolutions.sizes,
    };
  }

  /**
   * Stores the outcome. False if something else may be stored: another decision, the resolver's attempt, or a later settlement
   * day.
   */
  async record(intent: Undecided, outcome: Outcome): Promise<boolean> {
    const sealed = await this.#sealed(intent, outcome, 0);
    if (changesTarget(intent, outcome)) return this.#targeted.submit(sealed);
    return (outcome.cardTag === undefined ? this.#direct : this.#declined).submit(sealed);
  }

  /** The same for a transaction of which only the row is known. False if there is none. */
  async recordStored({ organisationId, audit }: InDoubt, outcome: Outcome): Promise<boolean> {
    const { rows } = await this.parts.database.query<{ stored: StoredOutcome }>(STORED_OUTCOME, [
      organisationId,
      audit,
    ]);
    const [row] = rows;
    return row === undefined ? false : this.record(row.stored, outcome);
  }

  /** Stores the outcome of a transaction in doubt, with its journal entry. False if another attempt has decided, or will. */
  async resolve(intent: Undecided, outcome: Outcome, attempt: number, detail: string): Promise<boolean> {
    const { organisationId } = intent;
    const entry = {
      actor: 'gateway:resolver',
      action: 'transaction.resolved',
      organisationId,
      audit: intent.audit,
    };
    const mac = openSignerOf(this.parts.database)?.macOf({ ...entry, detail });
    // guard(retries: what was found declined counts): outcome.status === 'declined' ⇒ false
    const cardTag = outcome.status === 'declined' ? await this.parts.retries.tagOfStored(intent) : undefined;
    const sealed = await this.#sealed(intent, { ...outcome, ...(cardTag && { cardTag }) }, attempt);
    return this.#resolutions.submit({ ...sealed, detail, mac });
  }

  async #sealed(intent: Undecided, outcome: Outcome, attempt: number): Promise<Recording> {
    const { keys } = this.parts;
    const { organisationId, transactionType, target } = intent;
    const outcomeSeal = await outcomeSealOf(keys, intent, outcome);
    if (transactionType !== 'void') return { organisationId, intent, outcome, outcomeSeal, attempt };
    const voidedSeal = target && (await outcomeSealOf(keys, target, { ...target, status: 'voided' }));
    return { organisationId, intent, outcome, outcomeSeal, voidedSeal, attempt };
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

  async #recordDeclined(recordings: readonly Recording[]): Promise<readonly boolean[]> {
    const values = [...ANSWERS.encode(recordings), ...DECLINED_CARDS.encode(recordings)];
    return among(
      (await this.#store(RECORD_DECLINED, values)).filter((row) => row.asAnswered),
      recordings,
    );
  }

  async #resolve(statement: Statement, resolutions: readonly Resolution[]): Promise<readonly boolean[]> {
    const values = [
      ...ANSWERS.encode(resolutions),
      ...RESOLUTIONS.encode(resolutions),
      ...DECLINED_CARDS_OF_DOUBTS.encode(resolutions),
    ];
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

/** Which of the entries these rows belong to. */
function among(rows: readonly Recorded[], entries: readonly Recording[]): boolean[] {
  const keys = new Set(rows.map(({ organisationId, audit }) => `${organisationId}/${audit}`));
  return entries.map(({ intent }) => keys.has(`${intent.organisationId}/${intent.audit}`));
}

/** A void that succeeded changes its target; an operation that failed gives back what it had reserved there. */
function changesTarget({ targetAudit, transactionType }: Undecided, { status }: Outcome): boolean {
  if (targetAudit === undefined || targetAudit === null) return false;
  // guard(record: what did not happen gives back what it had reserved): || (status !== 'approved' && status !== 'pending') ⇒
  // guard(record: a void that happened is told to its target): transactionType === 'void' || ⇒
  return transactionType === 'void' || (status !== 'approved' && status !== 'pending');
}

function anyPending(recordings: readonly Recording[]): boolean {
  return recordings.some(({ outcome }) => outcome.status === 'pending');
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** How long a client waits if the database is lost between the acquirer's answer and commit B. */
const PATIENCE_MS = 2_000;
/** A statement whose client has gone ends within the server's statement timeout; this adds a margin. */
const STRAGGLING_STATEMENT_MS = 30_000;

const IN_DOUBT = 'in doubt';
/** The client's answer meanwhile. */
const UNKNOWN = { status: 'unknown' } as const;
type Ending = Outcome | typeof IN_DOUBT;

interface FinisherParts {
  readonly records: Records;
  readonly lookup: Lookup;
  readonly leases: AuditLeases;
  readonly process: { readonly heartbeatMs: number };
  readonly clock: Clock;
  readonly figures: TransactionFigures;
  /** Called when a transaction is handed to the resolver. */
  readonly onDoubt: () => void;
}

/** Turns an answer into an outcome, and retries if the outcome cannot be stored yet. */
export class Finisher {
  readonly #late = new Set<Promise<void>>();
  #stopping = false;

  constructor(private readonly parts: FinisherParts) {}

  /** Commit B, and the transaction as it stands afterwards. `cardTag`: of a card that was declined. */
  async finish(intent: Intent, answer: Answer, cardTag?: Buffer): Promise<Transaction> {
    if (answer.kind === 'unknown') {
      await this.#commitB(intent, IN_DOUBT);
      this.parts.figures.note(intent, UNKNOWN);
      const code = answer.reason === 'timeout' ? 'acquirer_timeout' : 'acquirer_answer_unreadable';
      throw fault(code, 'outcome', intent.audit);
    }
    let outcome: Outcome;
    try {
      outcome = outcomeOf(answer, this.parts.clock.now(), intent);
      if (cardTag !== undefined) outcome = { ...outcome, cardTag };
    } catch {
      // An unreadable answer: the money may have moved, so the resolver has to find out.
      // guard(doubt: an answer that nothing can be made of is no decline): unknown', reason: 'unreadable ⇒ not_sent
      return this.finish(intent, { kind: 'unknown', reason: 'unreadable' });
    }
    // Named members stand before spreads, here and everywhere on a payment's path: V8 gives an object that starts with a spread
    // a new shape each time, which cost more than the rest of a purchase.
    // guard(commit order: nothing is answered before commit B): this.#commitB(intent, outcome ⇒ Promise.race([this.#commitB(intent, outcome), sleep(50, 'as answered' as const)]
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
   * For a claim that may or may not have committed. Nothing was sent, and nothing will be: if the row exists, or appears while
   * the server finishes its backlog, it is recorded as not sent.
   */
  closeAsNotSent(intent: InDoubt): void {
    void this.#keep(this.#untilClosedAsNotSent(intent));
  }

  /**
   * Allows a moment for the last answers. A transaction that cannot be stored stays leased, and another process resolves it.
   */
  async close(): Promise<void> {
    const patience = sleep(PATIENCE_MS, undefined, { ref: false });
    await Promise.race([Promise.allSettled(this.#late), patience]);
    this.#stopping = true;
  }

  /** Whether the outcome is stored, something else may be, or the database is lost and nothing is known. */
  async #commitB(intent: Intent, ending: Ending): Promise<'as answered' | 'perhaps' | 'later'> {
    try {
      return (await this.#store(intent, ending)) ? 'as answered' : 'perhaps';
    } catch (error) {
      // The organisation has moved meanwhile, with this transaction in doubt: the resolver of its new cell finds out.
      if (isOrganisationElsewhere(error)) {
        this.parts.leases.release(intent.organisationId, intent.audit);
        return 'later';
      }
      // If storing fails for any reason but a lost database, the resolver takes over.
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

  async #store(intent: Undecided, ending: Ending): Promise<boolean> {
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

  async #untilStored(intent: Undecided, ending: Ending): Promise<void> {
    for await (const _ of this.#pauses()) {
      // A failure means that the database is still lost.
      const stored = await this.#store(intent, ending).then(() => true, isOrganisationElsewhere);
      if (stored) return;
    }
  }

  async #untilClosedAsNotSent(intent: InDoubt): Promise<void> {
    const outcome = outcomeOf({ kind: 'not_sent' }, this.parts.clock.now());
    const beganMs = performance.now();
    let firstHeardMs = Number.POSITIVE_INFINITY;
    for await (const _ of this.#pauses()) {
      const recorded = await this.parts.records
        .recordStored(intent, outcome)
        .catch((error: unknown) => (isOrganisationElsewhere(error) ? false : undefined));
      // Finding no row needs no commit. While the standby is away, the claim may be waiting for it, unseen. Only after a commit
      // of ours has gone through would the claim have, too.
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
    // A stored outcome may have been committed without the standby: it is proven durable before the client sees it.
    const stored = await this.parts.lookup
      .provenByAudit(intent, intent.audit, [intent.merchantId])
      .catch(() => undefined);
    return stored?.status === 'unknown' ? undefined : stored;
  }
}
