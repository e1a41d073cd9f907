// The host's books: its decisions and reversals, the STANs seen, and the sums for each payment.
import type { Complaint, Decided, Entry, Operation } from './ledger.js';

const UNSEEN = '25';
const APPROVALS = new Set(['00', '08', '10', '11', '16']);

export function approves(code: string): boolean {
  return APPROVALS.has(code);
}

/** What one payment and everything that belongs to it has come to, reversals taken off. */
export interface PaymentBooks {
  readonly key: string;
  readonly retrievalReference: string;
  readonly operation: Operation;
  readonly cardMask: string;
  readonly currency: string;
  /** Purchase or completions. */
  chargedCents: number;
  /** By a preauthorisation that is neither completed nor reversed. */
  heldCents: number;
  refundedCents: number;
  /** Of everything that was approved and then reversed. */
  reversedCents: number;
}

export class Books {
  readonly #decided = new Map<string, Decided>();
  /** Keys of originals, also of those that were never seen. */
  readonly #reversed = new Set<string>();
  /** Completions and refunds, by what they belong to. */
  readonly #following = new Map<string, Decided[]>();
  /** What was sent under a STAN. */
  readonly #digests = new Map<string, string>();
  readonly #reversals = new Set<string>();
  /** Advices and reversals by type: as new, or as a repetition. */
  readonly #received = new Set<string>();
  /** Keys of originals that were said never to have been seen. */
  readonly #saidUnseen = new Set<string>();
  readonly complaints: Complaint[] = [];
  storeLost = false;

  constructor(entries: readonly Entry[] = []) {
    for (const entry of entries) this.take(entry);
  }

  take(entry: Entry): void {
    switch (entry.kind) {
      case 'decided':
        this.#decided.set(entry.key, entry);
        this.#digests.set(entry.key, entry.digest);
        if (entry.original === undefined) return;
        this.#following.set(entry.original, [...(this.#following.get(entry.original) ?? []), entry]);
        return;
      case 'reversed':
        this.#reversed.add(entry.original);
        this.#reversals.add(entry.digest);
        return;
      case 'received':
        this.#received.add(`${entry.mti} ${entry.digest}`);
        // A reversal may go under the STAN of what it reverses. A completion is known once it is decided.
        if (entry.digest === undefined || entry.key === entry.original) return;
        if (!this.#digests.has(entry.key)) this.#digests.set(entry.key, entry.digest);
        return;
      case 'acknowledged':
        if (entry.responseCode === UNSEEN && entry.original !== undefined)
          this.#saidUnseen.add(entry.original);
        return;
      case 'complaint':
        this.complaints.push(entry);
        return;
      case 'store lost':
        this.storeLost = true;
        return;
      default:
        return;
    }
  }

  find(key: string): Decided | undefined {
    return this.#decided.get(key);
  }

  /** What was sent under this terminal, day and STAN, if anything was. */
  digestUnder(key: string): string | undefined {
    return this.#digests.get(key);
  }

  isReversed(key: string): boolean {
    return this.#reversed.has(key);
  }

  hasReversal(digest: string): boolean {
    return this.#reversals.has(digest);
  }

  /** As new: its repetitions may well overtake it. */
  hasReceived({ mti, digest, isRepeat }: { mti: string; digest: string; isRepeat: boolean }): boolean {
    return !isRepeat && this.#received.has(`${mti} ${digest}`);
  }

  stands({ key, responseCode }: Decided): boolean {
    return approves(responseCode) && !this.#reversed.has(key);
  }

  /** Completions or refunds that were approved and not reversed. */
  standingOn(key: string): Decided[] {
    return (this.#following.get(key) ?? []).filter((one) => this.stands(one));
  }

  /** Its reversal was answered before it came: a host that forgot it is to blame for what this stands in the way of. */
  wasSaidUnseen(key: string): boolean {
    return this.#saidUnseen.has(key);
  }

  /** `1995 charged`, `-500 charged` or `1000 held`, by key. What comes to nothing is left out. */
  positions(): Map<string, string> {
    const positions = new Map<string, string>();
    for (const one of this.#decided.values()) {
      if (!this.stands(one)) continue;
      if (one.operation === 'preauthorisation' && this.standingOn(one.key).length > 0) continue;
      positions.set(one.key, positionOf(one));
    }
    return positions;
  }

  payments(): PaymentBooks[] {
    const payments = new Map<string, PaymentBooks>();
    for (const one of this.#decided.values()) {
      const root = this.#rootOf(one);
      const books = payments.get(root.key) ?? emptyBooks(root);
      payments.set(root.key, books);
      if (!approves(one.responseCode)) continue;
      if (this.#reversed.has(one.key)) books.reversedCents += one.amountCents;
      else if (one.operation === 'refund' || one.operation === 'standalone_refund')
        books.refundedCents += one.amountCents;
      else if (one.operation === 'preauthorisation')
        books.heldCents += this.standingOn(one.key).length > 0 ? 0 : one.amountCents;
      else books.chargedCents += one.amountCents;
    }
    return [...payments.values()];
  }

  #rootOf(one: Decided): Decided {
    const original = one.original === undefined ? undefined : this.#decided.get(one.original);
    return original === undefined ? one : this.#rootOf(original);
  }
}

function emptyBooks({ key, retrievalReference, operation, cardMask, currency }: Decided): PaymentBooks {
  return {
    key,
    retrievalReference,
    operation,
    cardMask,
    currency,
    chargedCents: 0,
    heldCents: 0,
    refundedCents: 0,
    reversedCents: 0,
  };
}

function positionOf({ operation, amountCents }: Decided): string {
  switch (operation) {
    case 'purchase':
    case 'completion':
      return `${amountCents} charged`;
    case 'refund':
    case 'standalone_refund':
      return `${-amountCents} charged`;
    case 'preauthorisation':
      return `${amountCents} held`;
  }
}
