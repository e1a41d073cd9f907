// The resolver: finds out the outcome of every transaction in doubt, and never gives up. Any number of processes may run it. It
// also takes over the transactions of dead processes, and repeats a reversal when the acquirer approves after it.
import { inquireUnderDeadline, type MoneyOperation, reverseUnderDeadline } from '../../acquirers/contract.js';
import {
  postponeReversalAgain,
  type ReversedAgain,
  takeReversalsAgain,
} from '../../acquirers/iso8583/reversals.js';
import type { AcquirerLinks } from '../../acquirers/links.js';
import type { Clock } from '../../clock/clock.js';
import { openSignerOf } from '../../journal/entry-signer.js';
import { journal } from '../../journal/journal.js';
import type { Database, Queryable } from '../../postgres/database.js';
import type { Audit, OrganisationId } from '../../values/ids.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import type { Ordered, Orders } from '../pipeline/ask-acquirer.js';
import type { Records } from '../pipeline/record.js';
import {
  auditOf,
  type Intent,
  NOT_SENT,
  type Outcome,
  REVERSED,
  readableOutcome,
  type StoredOutcome,
} from '../transaction.js';
import { type ClaimedRow, DoubtSeals } from './doubt-seals.js';
import { type FoundBy, inWords, type Resolved, resolved } from './resolution.js';
import {
  BEGIN_REVERSAL,
  DEAD_PROCESSES,
  FIND_DOUBTS,
  FORGET_DEAD_PROCESS,
  FORGET_DOUBTS_OF,
  HAND_OVER_IN_DOUBT,
  HAS_DOUBTS,
  LEASES_OF_PROCESS,
  MAKE_DUE,
  ORGANISATIONS_IN_DOUBT,
  POSTPONE,
  REMEMBER_DOUBTS_OF,
  REVERSED_BEFORE,
  TAKE_DUE,
  TAKE_DUE_OF,
} from './resolver.sql.js';

export interface ResolverParts {
  readonly database: Database;
  readonly links: AcquirerLinks;
  readonly orders: Orders;
  readonly keys: DataKeys;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** Called with each decision once it is stored. */
  readonly onResolved: (resolved: Resolved) => void;
  readonly process: { readonly id: number };
  readonly records: Records;
  /** Called after each run with the number of transactions that each link did not answer. */
  readonly onNoAnswer: (unanswered: ReadonlyMap<string, number>) => void;
}

interface Doubt
  extends ClaimedRow,
    Pick<
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
  readonly attempt: number;
  readonly reversing: boolean;
  readonly sentBy?: string | null;
  readonly targetSentBy?: string | null;
}

type DueRow = Omit<Doubt, 'targetAudit' | 'completableUntilMs'> & {
  readonly targetAudit: Audit | null;
  readonly completableUntilMs: number | null;
};

/** What somebody has changed is looked at again after this time: it may have been put right. */
const CHANGED_PAUSE_MS = 3_600_000;

/** How many transactions are asked about at the same time. */
const BATCH = 50;

export class Resolver {
  readonly #deadProcesses: DeadProcesses;
  readonly #queue: ResolverQueue;
  readonly #repeatedReversals: RepeatedReversals;
  readonly #seals: DoubtSeals;

  constructor(private readonly parts: ResolverParts) {
    this.#queue = new ResolverQueue(parts.database);
    this.#seals = new DoubtSeals(parts);
    this.#repeatedReversals = new RepeatedReversals(parts, this.#seals);
    this.#deadProcesses = new DeadProcesses(parts.database, parts.process, parts.deadlineMs);
  }

  /** Resolves everything due, then takes over from dead processes. Returns how many transactions were due. */
  async run(): Promise<number> {
    // Due transactions come first: no trouble with dead processes can delay them.
    const due = await this.#resolveDue();
    await this.#repeatedReversals.run();
    // guard(dead processes: what they left is handed over): await this.#deadProcesses.handOver() ⇒ 0
    const handedOver = await this.#deadProcesses.handOver();
    return handedOver > 0 ? due + (await this.#resolveDue()) : due;
  }

  async #resolveDue(): Promise<number> {
    const { deadlineMs } = this.parts;
    let total = 0;
    const unanswered = new Map<string, number>();
    for (;;) {
      // Long enough for an inquiry and a reversal; after that another resolver may try.
      const leaseMs = DEADLINES_OF_AN_ATTEMPT * deadlineMs;
      const rows = await this.#queue.take(BATCH, leaseMs);
      await Promise.all(
        rows.map(async ({ targetAudit, completableUntilMs, ...row }) => {
          const doubt: Doubt = {
            ...row,
            ...(targetAudit !== null && { targetAudit }),
            ...(completableUntilMs !== null && { completableUntilMs }),
          };
          const resolved = await this.#resolve(doubt);
          if (resolved === 'done') return;
          if (resolved === 'changed') return this.#postpone(doubt, CHANGED_PAUSE_MS);
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

  /**
   * `later`: the acquirer gave no answer, or no readable one. `changed`: somebody has changed the transaction in the database, so it
   * stays as it is.
   */
  async #resolve(doubt: Doubt): Promise<'done' | 'later' | 'changed'> {
    const { links, orders, clock, deadlineMs } = this.parts;
    const link = links.opened(doubt.acquirer);
    if (link === undefined) return 'later';
    const checked = await this.#seals.check(doubt);
    // guard(doubt: what was changed is neither inquired about nor reversed): if (!checked.isSound) return 'changed'; ⇒
    if (!checked.isSound) return 'changed';
    const { target } = checked;
    const prepared = doubt.prepared ?? undefined;
    // The link prepares every order, and this one was not prepared: it was never sent.
    // guard(prepared: what was not prepared was not sent): undefined) ⇒ null)
    if (link.prepare !== undefined && prepared === undefined)
      return this.#decide(doubt, target, NOT_SENT, NOT_SENT.status, 'nothing was prepared');
    const order = orders.stored(doubt.operation, doubt);
    // guard(reversal: once it is under way a late approval no longer wins): !doubt.reversing ⇒ doubt.attempt > 0
    if (!doubt.reversing) {
      const finding = await inquireUnderDeadline(link, order, prepared, deadlineMs);
      // guard(inquiry: no answer does not mean that nothing was done): return 'later ⇒ finding.kind = 'not_seen
      if (finding.kind === 'no_answer') return 'later';
      if (finding.kind !== 'not_seen') {
        const outcome = readableOutcome(finding, clock.now(), doubt);
        if (outcome === undefined) return 'later';
        return this.#decide(doubt, target, outcome, outcome.status, 'inquiry');
      }
      // The order may still be on its way. The reversal makes sure that the acquirer refuses it on arrival.
      // guard(reversal: not begun by an attempt that may not): if (!(await this.#beginReversal(doubt))) return 'done' ⇒ await this.#beginReversal(doubt)
      if (!(await this.#beginReversal(doubt))) return 'done';
    }
    const reversal = await reverseUnderDeadline(link, order, prepared, deadlineMs);
    // guard(reversal: repeated until it is confirmed): if (reversal === 'no_answer') return 'later'; ⇒
    if (reversal === 'no_answer') return 'later';
    return this.#decide(doubt, target, REVERSED, 'reversed', 'reversal');
  }

  /** Stores the outcome and its journal entry, unless another attempt has taken over. */
  async #decide(
    doubt: Doubt,
    target: StoredOutcome | undefined,
    outcome: Outcome,
    found: Resolved['found'],
    by: FoundBy,
  ): Promise<'done'> {
    const { records, clock, onResolved } = this.parts;
    const decision = resolved(doubt, found, by, doubt.attempt, clock.now());
    const undecided = { ...doubt.stored, target };
    if (await records.resolve(undecided, outcome, doubt.attempt, inWords(decision))) onResolved(decision);
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
    const values = [organisationId, audit, attempt, detail, openSignerOf(database)?.macOf(entry) ?? null];
    const { rows } = await database.query(BEGIN_REVERSAL, values);
    if (rows.length === 1) onResolved(decision);
    return rows.length === 1;
  }

  async #postpone({ organisationId, audit, attempt }: Doubt, longMs?: number): Promise<void> {
    const { database, firstPauseMs, longestPauseMs } = this.parts;
    const pauseMs = longMs ?? Math.min(firstPauseMs * 2 ** Math.min(attempt - 1, 30), longestPauseMs);
    await database.query(POSTPONE, [organisationId, audit, attempt, pauseMs]);
  }
}

/** How often all servers are searched, whatever the list says. */
const FIND_EVERY_MS = 300_000;

/**
 * Takes the transactions that are due. On one server that is one statement. With distributed transactions, only organisations
 * with something in doubt are queried: a run that finds nothing reads one local row.
 */
class ResolverQueue {
  #findAtMs = 0;

  constructor(private readonly database: Database) {}

  async take(most: number, leaseMs: number): Promise<readonly DueRow[]> {
    if (this.database.mixesOrganisations)
      return (await this.database.query<DueRow>(TAKE_DUE, [most, leaseMs])).rows;
    if (performance.now() >= this.#findAtMs) {
      await this.database.query(FIND_DOUBTS);
      this.#findAtMs = performance.now() + FIND_EVERY_MS;
    }
    const { rows } = await this.database.query<{ organisationId: OrganisationId }>(ORGANISATIONS_IN_DOUBT);
    const taken: DueRow[] = [];
    let failure: unknown;
    for (const { organisationId } of rows) {
      if (taken.length >= most) break;
      try {
        const due = await this.#takeOf(organisationId, most - taken.length, leaseMs);
        for (const row of due) taken.push(row);
      } catch (error) {
        // One server's outage must not affect the organisations on others.
        failure = error;
      }
    }
    if (failure !== undefined && taken.length === 0) throw failure;
    return taken;
  }

  async #takeOf(organisationId: OrganisationId, most: number, leaseMs: number): Promise<readonly DueRow[]> {
    const { rows } = await this.database.query<DueRow>(TAKE_DUE_OF, [most, leaseMs, organisationId]);
    if (rows.length === 0 && !(await this.#hasDoubts(organisationId))) await this.#forget(organisationId);
    return rows;
  }

  async #hasDoubts(
    organisationId: OrganisationId,
    database: Pick<Database, 'query'> = this.database,
  ): Promise<boolean> {
    return (await database.query(HAS_DOUBTS, [organisationId])).rows.length > 0;
  }

  /** Keeps the organisation if a new transaction came into doubt meanwhile. */
  #forget(organisationId: OrganisationId): Promise<void> {
    return this.database.transaction(async (connection) => {
      await connection.query(FORGET_DOUBTS_OF, [organisationId]);
      if (await this.#hasDoubts(organisationId, connection))
        await connection.query(REMEMBER_DOUBTS_OF, [organisationId]);
    });
  }
}

interface DeadProcess {
  readonly id: number;
  readonly seenAt: string;
  /** The process cannot come back, and its row can be deleted. */
  readonly forGood: boolean;
}

interface Lease {
  readonly organisationId: OrganisationId;
  readonly first: number;
  readonly last: number;
}

interface Look {
  readonly seenAt: string;
  readonly pauseMs: number;
  readonly againAtMs: number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

/**
 * Hands over transactions that dead processes left in doubt: processes first, then their leases, then the rows of each lease.
 */
export class DeadProcesses {
  /**
   * When each process's leases were last examined. The first look finds nearly everything; a straggling statement may commit
   * later.
   */
  #looks = new Map<number, Look>();

  constructor(
    private readonly database: Database,
    private readonly self: { readonly id: number },
    private readonly deadlineMs: number,
  ) {}

  /**
   * Returns how many transactions were handed over. A process never hands over its own: after an outage its heartbeat may be
   * late, and it still knows best what it has sent.
   */
  async handOver(): Promise<number> {
    const { rows: dead } = await this.database.query<DeadProcess>(DEAD_PROCESSES, [this.self.id]);
    const looks = new Map<number, Look>();
    let total = 0;
    for (const process of dead) {
      const look = this.#looks.get(process.id);
      // A process seen since then may have claimed more.
      const known = look?.seenAt === process.seenAt ? look : undefined;
      if (known !== undefined && performance.now() < known.againAtMs && !process.forGood) {
        looks.set(process.id, known);
        continue;
      }
      // guard(dead processes: forgotten with their leases only after what they left was handed over): total ⇒ if (!process.forGood) total
      total += await this.#handOverLeasesOf(process);
      if (process.forGood) await this.database.query(FORGET_DEAD_PROCESS, [process.id]);
      const pauseMs = Math.min(known === undefined ? FIRST_PAUSE_MS : 2 * known.pauseMs, LONGEST_PAUSE_MS);
      looks.set(process.id, { seenAt: process.seenAt, pauseMs, againAtMs: performance.now() + pauseMs });
    }
    this.#looks = looks;
    return total;
  }

  async #handOverLeasesOf({ id }: DeadProcess): Promise<number> {
    const { rows: leases } = await this.database.query<Lease>(LEASES_OF_PROCESS, [id]);
    let total = 0;
    for (const { organisationId, first, last } of leases) {
      const values = [id, organisationId, first, last, this.deadlineMs];
      total += (await this.database.query(HAND_OVER_IN_DOUBT, values)).count;
    }
    return total;
  }
}

type Reversed = Ordered &
  ClaimedRow & {
    readonly operation: MoneyOperation;
    readonly targetAudit: Intent['audit'] | null;
  };

/**
 * Repeats a reversal when the acquirer approves after it. The transaction stays decided: nothing was charged, and this makes it
 * true.
 */
class RepeatedReversals {
  constructor(
    private readonly parts: ResolverParts,
    private readonly seals: DoubtSeals,
  ) {}

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
    if (!(await this.seals.checkReversed(found, acquirer))) return this.#postpone(again, CHANGED_PAUSE_MS);
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

  async #postpone(again: ReversedAgain, longMs?: number): Promise<void> {
    const { database, firstPauseMs, longestPauseMs } = this.parts;
    const pauseMs = longMs ?? Math.min(firstPauseMs * 2 ** Math.min(again.attempt - 1, 30), longestPauseMs);
    await postponeReversalAgain(database, again, pauseMs);
  }
}

/** An attempt lasts at most this many deadlines; until then no other resolver asks. */
const DEADLINES_OF_AN_ATTEMPT = 3;

/** False if the transaction is not in doubt, is under way, or is being asked about. */
export async function makeDue(
  database: Queryable,
  organisationId: OrganisationId,
  audit: Audit,
  deadlineMs: number,
): Promise<boolean> {
  const values = [organisationId, audit, DEADLINES_OF_AN_ATTEMPT * deadlineMs];
  return (await database.query(MAKE_DUE, values)).count > 0;
}
