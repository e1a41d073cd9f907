// Pens: what entries of the journal are marked with. A mark is an HMAC under a key that is not in the database, so that whoever can
// only write to the database can add no entry that passes for one of ours.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../postgres/database.js';
import type { JournalEntry } from './entry.js';

/** What a mark covers. The merchant follows from the rest; time and place are bound by the chain. */
export type MarkedEntry = Omit<JournalEntry, 'merchantId' | 'action'> & { readonly action: string };

const INSTANCE_BYTES = 8;
const COUNT_BYTES = 4;
const ONCE_BYTES = INSTANCE_BYTES + COUNT_BYTES;
const MAC_BYTES = 16;
const MARK_BYTES = ONCE_BYTES + MAC_BYTES;
const MOST = 2 ** (8 * COUNT_BYTES);

export class JournalPen {
  /** With the count behind it, a number that is used once: a copy of an entry is found by its mark. */
  #instance = randomBytes(INSTANCE_BYTES);
  #count = 0;

  constructor(
    private readonly key: Buffer,
    /** Where everything is done from that is written with this pen; entries may name another address. */
    readonly address?: string,
  ) {}

  mark(entry: MarkedEntry): Buffer {
    const mark = Buffer.allocUnsafe(MARK_BYTES);
    if (this.#count === MOST) {
      this.#instance = randomBytes(INSTANCE_BYTES);
      this.#count = 0;
    }
    this.#instance.copy(mark);
    mark.writeUInt32BE(this.#count, INSTANCE_BYTES);
    this.#count += 1;
    this.#mac(mark.subarray(0, ONCE_BYTES), entry).copy(mark, ONCE_BYTES, 0, MAC_BYTES);
    return mark;
  }

  isMarked(entry: MarkedEntry, mark: Buffer | null): boolean {
    if (mark?.length !== MARK_BYTES) return false;
    const expected = this.#mac(mark.subarray(0, ONCE_BYTES), entry).subarray(0, MAC_BYTES);
    return timingSafeEqual(expected, mark.subarray(ONCE_BYTES));
  }

  #mac(once: Buffer, entry: MarkedEntry): Buffer {
    // guard(journal: the mark of an entry is for what it says): , detail, address ⇒
    const { organisationId, actor, action, customerId, tokenId, audit, correlationId, detail, address } =
      entry;
    // guard(journal: the mark of an entry is for what it says): , detail, address ⇒
    const parts = [organisationId, actor, action, customerId, tokenId, audit, correlationId, detail, address];
    // What is absent and what the database has as NULL is the same.
    return createHmac('sha256', this.key).update(once).update(JSON.stringify(parts)).digest();
  }
}

/** Opened when the first entry is written: a command that only reads needs no key. */
type Pen = JournalPen | (() => Promise<JournalPen>);

const PENS = new WeakMap<object, Pen>();

/** Whatever is journalled through this database from now on is marked. */
export function givePen({ origin }: Queryable, pen: Pen): void {
  if (origin !== undefined) PENS.set(origin, pen);
}

/** Undefined where nobody has given one: entries have no mark then, and are found by `journal verify`. */
export async function penOf({ origin }: Queryable): Promise<JournalPen | undefined> {
  const pen = origin && PENS.get(origin);
  if (typeof pen !== 'function') return pen;
  const opened = await pen();
  PENS.set(origin as object, opened);
  return opened;
}

/** For statements that journal what they do, in a process whose pen is open. */
export function openPenOf({ origin }: Queryable): JournalPen | undefined {
  const pen = origin && PENS.get(origin);
  return typeof pen === 'function' ? undefined : pen;
}
