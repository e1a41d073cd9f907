// Reverses again what an acquirer approved after its reversal. The transaction stays decided: nothing was charged, and this sees to it.
import { type MoneyOperation, type Prepared, reverseUnderDeadline } from '../../acquirers/contract.js';
import {
  postponeReversalAgain,
  type ReversedAgain,
  takeReversalsAgain,
} from '../../acquirers/iso8583/reversals.js';
import type { AcquirerLinks } from '../../acquirers/links.js';
import type { Clock } from '../../clock/clock.js';
import { journal } from '../../journal/journal.js';
import type { Database } from '../../postgres/database.js';
import { auditOf } from '../acquirer-reference.js';
import type { Ordered, Orders } from '../pipeline/orders.js';
import type { Intent } from '../transaction.js';
import { DEADLINES_OF_AN_ATTEMPT } from './asking-now.js';
import { inWords, type Resolved, resolved } from './resolution.js';
import { REVERSED_BEFORE } from './resolver.sql.js';

export interface ReversalsAgainParts {
  readonly database: Database;
  readonly links: AcquirerLinks;
  readonly orders: Orders;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Called with each decision, once it is stored. */
  readonly onResolved: (resolved: Resolved) => void;
}

type Reversed = Ordered &
  Pick<Intent, 'acquirer'> & {
    readonly operation: MoneyOperation;
    readonly targetAudit: Intent['audit'] | null;
    readonly prepared: Prepared;
  };

const BATCH = 50;

export class ReversalsAgain {
  constructor(private readonly parts: ReversalsAgainParts) {}

  async run(): Promise<void> {
    const { database, deadlineMs } = this.parts;
    for (;;) {
      const taken = await takeReversalsAgain(database, BATCH, DEADLINES_OF_AN_ATTEMPT * deadlineMs);
      await Promise.all(taken.map((again) => this.#reverse(again)));
      if (taken.length < BATCH) return;
    }
  }

  async #reverse(again: ReversedAgain): Promise<void> {
    const { database, links, orders, deadlineMs } = this.parts;
    const { organisationId, acquirer, reference, attempt } = again;
    const link = links.opened(acquirer);
    const { rows } = await database.query<Reversed>(REVERSED_BEFORE, [organisationId, auditOf(reference)]);
    const [found] = rows;
    if (link === undefined || found === undefined) return this.#postpone(again);
    const { targetAudit, ...row } = found;
    const transaction = { ...row, ...(targetAudit !== null && { targetAudit }), acquirer };
    if (attempt === 1) await this.#tell(transaction, 'approved after reversal', 'late answer', attempt);
    const order = orders.stored(transaction.operation, transaction);
    const reversal = await reverseUnderDeadline(link, order, transaction.prepared, deadlineMs);
    if (reversal === 'no_answer') return this.#postpone(again);
    await this.#tell(transaction, 'reversed again', 'reversal', attempt);
  }

  async #tell(
    transaction: Reversed | Omit<Reversed, 'targetAudit'>,
    found: 'approved after reversal' | 'reversed again',
    by: Resolved['by'],
    attempt: number,
  ): Promise<void> {
    const { database, clock, onResolved } = this.parts;
    const { organisationId, merchantId, audit } = transaction;
    const told = resolved(transaction, found, by, attempt, clock.now());
    const action =
      found === 'reversed again' ? 'transaction.reversed_again' : 'transaction.approved_after_reversal';
    const entry = { organisationId, merchantId, actor: 'gateway:resolver', action, audit } as const;
    await journal(database, { ...entry, detail: inWords(told) });
    onResolved(told);
  }

  async #postpone(again: ReversedAgain): Promise<void> {
    const { database, firstPauseMs, longestPauseMs } = this.parts;
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(again.attempt - 1, 30), longestPauseMs);
    await postponeReversalAgain(database, again, pauseMs);
  }
}
