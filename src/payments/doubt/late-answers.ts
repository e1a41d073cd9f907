// Answers that arrive after the deadline. A late answer still decides, unless a reversal has begun.
import type { Answer } from '../../acquirers/contract.js';
import type { Clock } from '../../clock/clock.js';
import type { Database } from '../../postgres/database.js';
import type { Records } from '../pipeline/record.js';
import { type Intent, readableOutcome } from '../transaction.js';
import { inWords, type Resolved, resolved } from './resolution.js';
import { TAKE_UNLESS_REVERSING } from './resolver.sql.js';

export interface LateAnswersParts {
  readonly database: Database;
  readonly records: Records;
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Called with each decision once it is stored. */
  readonly onResolved: (resolved: Resolved) => void;
}

export class LateAnswers {
  constructor(private readonly parts: LateAnswersParts) {}

  /** Takes the transaction from the resolver, as a further attempt. If anything fails here, the resolver carries on. */
  async record(intent: Intent, answer: Answer): Promise<void> {
    if (answer.kind === 'unknown' || answer.kind === 'not_sent') return;
    const { database, records, clock, deadlineMs, onResolved } = this.parts;
    const { organisationId, audit } = intent;
    const outcome = readableOutcome(answer, clock.now(), intent);
    if (outcome === undefined) return;
    try {
      const { rows } = await database.query<{ attempt: number }>(TAKE_UNLESS_REVERSING, [
        organisationId,
        audit,
        deadlineMs,
      ]);
      // guard(late answer: it decides): rows ⇒ [] as typeof rows
      for (const { attempt } of rows) {
        const decision = resolved(intent, outcome.status, 'late answer', attempt, clock.now());
        if (await records.resolve(intent, outcome, attempt, inWords(decision))) onResolved(decision);
      }
    } catch {
      // The resolver asks the acquirer again.
    }
  }
}
