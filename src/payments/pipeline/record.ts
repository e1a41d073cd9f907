// Commit B: the outcome is stored, and the reservation on the target settled or released.

import type { Clock } from '../../clock/clock.js';
import { openPenOf } from '../../journal/pen.js';
import { Batcher } from '../../postgres/batches.js';
import type { Database, Statement } from '../../postgres/database.js';
import type { Histogram } from '../../values/histogram.js';
import { settlementCalendar } from '../../values/time.js';
import { ANSWERS, DOUBTS, RESOLUTIONS } from '../status.sql.js';
import type { InDoubt, Intent, Outcome, Recording, Resolution } from '../transaction.js';
import type { BatchOptions } from './claim.js';
import { HAND_TO_RESOLVER, RECORD_DIRECT, RECORD_TARGETED } from './record.sql.js';

/** The statements of commit B where some of the outcomes are pending: they also begin the way of a direct debit. */
export interface IntakeStatements {
  readonly direct: Statement;
  readonly targeted: Statement;
  /** Of whatever was in doubt. */
  readonly resolutions: Statement;
}

export interface RecordsParts {
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
    const mark = openPenOf(this.parts.database)?.mark({ ...entry, detail });
    return this.#resolutions.submit({ organisationId, intent, outcome, attempt, detail, mark });
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
