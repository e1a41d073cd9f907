// Reversals under way, kept in the database: any process can repeat exactly the same one until it is acknowledged. An order that the host
// approves after its reversal gets a further reversal.
import type { Database } from '../../postgres/database.js';
import type { OrganisationId } from '../../values/ids.js';
import type { Numbers } from './numbers.js';
import {
  ACKNOWLEDGE_REVERSAL,
  APPROVALS,
  BEGIN_REVERSAL,
  FIND_REVERSAL,
  FORGET_REVERSALS,
  NOTE_APPROVALS,
  POSTPONE_REVERSAL_AGAIN,
  TAKE_REVERSALS_AGAIN,
} from './reversals.sql.js';
import type { LateAnswer } from './wire/outstanding.js';

/** Identifies an order. */
export interface Reversed {
  readonly organisationId: OrganisationId;
  readonly reference: string;
}

export interface Begun {
  /** The reversal's own STAN. */
  readonly stan: number;
  /** The response code for which the order is reversed, if it was a partial approval. */
  readonly responseCode: string | null;
  readonly authorisationCode: string | null;
}

/** If the last reversal was answered and the answer did not count, the next one needs a new STAN. */
export type Found = Omit<Begun, 'stan'> & { readonly stan: number | null };

/** What the host answered to a reversal. */
export interface Acknowledgement {
  readonly code: string;
  /** The host has never seen the order. */
  readonly unseen: boolean;
}

export interface Reversals {
  find(order: Reversed): Promise<Found | undefined>;
  /** If another process has begun one at the same time, that one counts. */
  begin(order: Reversed, begun: Begun, original: Numbers): Promise<Begun>;
  /** False if it does not count: the host has approved the order, so "never seen" cannot be true. */
  acknowledged(order: Reversed, acknowledgement: Acknowledgement): Promise<boolean>;
  /** Stores late approvals. Returns how many are of orders whose reversal had begun. */
  approved(approvals: readonly LateAnswer[]): Promise<number>;
}

export class StoredReversals implements Reversals {
  constructor(
    private readonly database: Database,
    private readonly acquirer: string,
  ) {}

  async find(order: Reversed): Promise<Found | undefined> {
    return (await this.database.query<Found>(FIND_REVERSAL, this.#key(order))).rows[0];
  }

  async begin(order: Reversed, begun: Begun, original: Numbers): Promise<Begun> {
    const { rows } = await this.database.query<Begun>(BEGIN_REVERSAL, [
      ...this.#key(order),
      begun.stan,
      begun.responseCode,
      begun.authorisationCode,
      original.terminal,
      original.stan,
      original.retrievalReference,
    ]);
    const stored = rows[0] ?? (await this.find(order));
    if (!stored?.stan) throw new Error('the reversal could not be stored');
    return stored as Begun;
  }

  async acknowledged(order: Reversed, { code, unseen }: Acknowledgement): Promise<boolean> {
    const values = [...this.#key(order), code, unseen];
    const { rows } = await this.database.query<{ acknowledged: boolean }>(ACKNOWLEDGE_REVERSAL, values);
    return rows[0]?.acknowledged ?? false;
  }

  async approved(approvals: readonly LateAnswer[]): Promise<number> {
    const values = [this.acquirer, ...APPROVALS.encode(approvals)];
    return (await this.database.query(NOTE_APPROVALS, values)).rows.length;
  }

  #key({ organisationId, reference }: Reversed): unknown[] {
    return [organisationId, this.acquirer, reference];
  }
}

/** An order that the host approved after its reversal. */
export interface ReversedAgain extends Reversed {
  readonly acquirer: string;
  readonly attempt: number;
}

/** Leases orders of all links that must be reversed again. */
export async function takeReversalsAgain(
  database: Database,
  most: number,
  leaseMs: number,
): Promise<readonly ReversedAgain[]> {
  return (await database.query<ReversedAgain>(TAKE_REVERSALS_AGAIN, [most, leaseMs])).rows;
}

export async function postponeReversalAgain(
  database: Database,
  { organisationId, acquirer, reference, attempt }: ReversedAgain,
  pauseMs: number,
): Promise<void> {
  await database.query(POSTPONE_REVERSAL_AGAIN, [organisationId, acquirer, reference, attempt, pauseMs]);
}

/** Deletes reversals that were acknowledged long ago. */
export async function forgetReversals(database: Database): Promise<void> {
  await database.query(FORGET_REVERSALS);
}
