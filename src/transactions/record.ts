// Commit B: the outcome is stored, and the reservation on the target settled or released.

import { Batcher } from '../postgres/batcher.js';
import type { Database, Statement } from '../postgres/database.js';
import type { BatchOptions } from './claim.js';
import { HAND_TO_RESOLVER, RECORD_DIRECT, RECORD_TARGETED } from './record.sql.js';
import { ANSWERS, DOUBTS, RESOLUTIONS } from './status.sql.js';
import type { InDoubt, Intent, Outcome, Recording, Resolution } from './transaction.js';

/** The statements of commit B where some of the outcomes are pending: they also begin the way of a direct debit. */
export interface IntakeStatements {
  readonly direct: Statement;
  readonly targeted: Statement;
  /** Of whatever was in doubt. */
  readonly resolutions: Statement;
}

export class Records {
  readonly #direct: Batcher<Recording, boolean>;
  readonly #targeted: Batcher<Recording, boolean>;
  readonly #resolutions: Batcher<Resolution, boolean>;
  readonly #doubts: Batcher<InDoubt, undefined>;

  constructor(
    private readonly database: Database,
    options: BatchOptions,
    intake: IntakeStatements,
  ) {
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

  /** Stores the outcome. False when the transaction was decided meanwhile, or the resolver has taken it. */
  record(intent: InDoubt, outcome: Outcome): Promise<boolean> {
    const batches = intent.targetAudit === undefined ? this.#direct : this.#targeted;
    return batches.submit({ organisationId: intent.organisationId, intent, outcome, attempt: 0 });
  }

  /** Stores what became of a transaction in doubt, and the journal entry. False when another attempt has decided, or will. */
  resolve(intent: InDoubt, outcome: Outcome, attempt: number, detail: string): Promise<boolean> {
    return this.#resolutions.submit({
      organisationId: intent.organisationId,
      intent,
      outcome,
      attempt,
      detail,
    });
  }

  async handToResolver(intent: InDoubt): Promise<void> {
    await this.#doubts.submit(intent);
  }

  #resolve(statement: Statement, resolutions: readonly Resolution[]): Promise<readonly boolean[]> {
    return this.#record(statement, resolutions, RESOLUTIONS.encode(resolutions));
  }

  async #record(
    statement: Statement,
    recordings: readonly Recording[],
    further: readonly string[] = [],
  ): Promise<readonly boolean[]> {
    const values =
      further.length === 0 ? ANSWERS.encode(recordings) : [...ANSWERS.encode(recordings), ...further];
    const { rows } = await this.database.query<Pick<Intent, 'organisationId' | 'audit'>>(statement, values);
    if (rows.length === recordings.length) return recordings.map(() => true);
    const decided = new Set(rows.map(({ organisationId, audit }) => `${organisationId}/${audit}`));
    return recordings.map(({ intent }) => decided.has(`${intent.organisationId}/${intent.audit}`));
  }

  async #handOver(doubts: readonly InDoubt[]): Promise<readonly undefined[]> {
    await this.database.query(HAND_TO_RESOLVER, DOUBTS.encode(doubts));
    return doubts.map(() => undefined);
  }
}

function anyPending(recordings: readonly Recording[]): boolean {
  return recordings.some(({ outcome }) => outcome.status === 'pending');
}
