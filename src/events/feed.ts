// The feed: events in the order of their positions. What can be read is always a beginning of it, to which only more comes: nobody
// who goes on from the last position misses anything, or sees anything twice.
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Database, Queryable } from '../postgres/database.js';
import { task } from '../tasks/task.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import {
  beginningOfDay,
  eventId,
  groupsOf,
  onSameDay,
  parseEventId,
  SUBJECT_KINDS,
  type SubjectKind,
  slotsBetween,
} from './events.js';
import {
  CURSOR_KEY,
  EVENT_STATUS,
  EVENTS_BETWEEN,
  EVENTS_OF_MERCHANT_BETWEEN,
  FEED_ENDS,
  FORGET_EVENTS,
  LAST_OF_MERCHANT_BETWEEN,
  POSITION_OF_EVENT,
} from './events.sql.js';

interface EventRow {
  readonly position: number;
  readonly type: string;
  /** By the gateway's clock. */
  readonly createdMs: number;
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  /** An audit, or the id of a customer or token: the type says which. */
  readonly subject: number;
  /** Counts the events of a subject from 1. */
  readonly version: number;
  /** What was written down of a customer or token; empty for a transaction. */
  readonly data: string;
}

export interface FeedEvent extends EventRow {
  /** The same for the same event, always, and no other's in this installation. */
  readonly id: string;
}

export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** Where to go on. */
  readonly position: number;
  /** Events after the position that was asked for are not kept any more: these begin later. */
  readonly skipped: boolean;
}

/** An event as it is shown and sent. */
export interface EventBody {
  readonly id: string;
  readonly type: string;
  readonly created: string;
  readonly merchant: { readonly id: MerchantId };
  readonly version: number;
  readonly data: object;
}

/** Adds what each event is about; in the same order. */
export type EventBodies = (events: readonly FeedEvent[]) => Promise<readonly EventBody[]>;

interface EventsOfMerchant {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  /** What they may be about; anything where none is named. */
  readonly kinds?: readonly SubjectKind[];
}

interface FeedEnds {
  readonly newest: number;
  /** Up to here events are not kept any more. */
  readonly forgotten: number;
}

type ReadBetween = (after: number, upTo: number) => Promise<readonly EventRow[]>;

export class EventFeed {
  constructor(private readonly database: Queryable) {}

  /** Of all organisations, from the oldest that is kept where the position is 0. */
  readAfter(position: number, limit: number): Promise<FeedPage> {
    return this.#read(position, limit, async (after, upTo) => {
      const values = [slotsBetween(after, upTo), after, upTo, limit];
      return (await this.database.query<EventRow>(EVENTS_BETWEEN, values)).rows;
    });
  }

  /**
   * Where to go on moves with all of the merchant's own events, and with the days: nobody sees
   * by it that others are busy.
   */
  async readMerchantAfter(
    { organisationId, merchantId, kinds = SUBJECT_KINDS }: EventsOfMerchant,
    position: number,
    limit: number,
  ): Promise<FeedPage> {
    let lastOwn = position;
    const page = await this.#read(position, limit, async (after, upTo) => {
      const slots = slotsBetween(after, upTo);
      const values = [slots, after, upTo, limit, organisationId, merchantId, groupsOf(kinds)];
      const { rows } = await this.database.query<EventRow>(EVENTS_OF_MERCHANT_BETWEEN, values);
      lastOwn = rows.at(-1)?.position ?? position;
      // What is not shown is behind the reader, too: it would be looked through again at every poll.
      if (kinds.length < SUBJECT_KINDS.length && rows.length < limit) {
        const own = [slots, after, upTo, organisationId, merchantId];
        const last = await this.database.query<{ position: number }>(LAST_OF_MERCHANT_BETWEEN, own);
        lastOwn = last.rows[0]?.position ?? lastOwn;
      }
      return rows;
    });
    return { ...page, position: Math.max(lastOwn, beginningOfDay(page.position)) };
  }

  /** For whoever wants only what comes from now on. */
  async newestPosition(): Promise<number> {
    return (await this.#ends()).newest;
  }

  /** Undefined where there is no such event of this merchant, or it is not kept any more. */
  async positionOf(
    organisationId: OrganisationId,
    merchantId: MerchantId,
    id: string,
  ): Promise<number | undefined> {
    const known = parseEventId(id);
    if (known === undefined || known.merchantId !== merchantId) return undefined;
    const { subject, version, groups } = known;
    const { rows } = await this.database.query<{ position: number }>(POSITION_OF_EVENT, [
      organisationId,
      merchantId,
      subject,
      version,
      groups,
    ]);
    return rows[0]?.position;
  }

  async #read(position: number, limit: number, between: ReadBetween): Promise<FeedPage> {
    const { newest, forgotten } = await this.#ends();
    const after = Math.max(position, forgotten);
    // guard(events: a cursor behind which events are forgotten is refused): position > 0 && position < forgotten ⇒ false
    const skipped = position > 0 && position < forgotten;
    // A position that was given by a server whose last commits are lost may be ahead; nothing is given up to there any more.
    if (after >= newest) return { events: [], position: after, skipped };
    const rows = await between(after, newest);
    // A day that was emptied while it was read looks as if nothing had happened in it.
    if (!onSameDay(after, newest) && (await this.#ends()).forgotten > after)
      return this.#read(position, limit, between);
    const last = rows.length < limit ? newest : (rows.at(-1)?.position ?? newest);
    return { events: rows.map(identified), position: last, skipped };
  }

  async #ends(): Promise<FeedEnds> {
    const { rows } = await this.database.query<FeedEnds>(FEED_ENDS);
    return rows[0] ?? { newest: 0, forgotten: 0 };
  }
}

function identified(row: EventRow): FeedEvent {
  return { id: eventId(row), ...row };
}

/** Positions as clients get them, encrypted, so that nobody can read from them how many events others have. */
interface Cursors {
  encode(position: number): string;
  /** Undefined for what is no cursor of this installation. */
  decode(cursor: string): number | undefined;
}

const ALGORITHM = 'aes-128-ecb';
const BYTES = 16;
/** A position is one block. What it is filled up with tells a cursor from anything else. */
const FILLING = Buffer.alloc(BYTES - 8);

/** The key is never changed; a dump takes it along. */
export async function eventCursors(database: Queryable): Promise<Cursors> {
  const { rows } = await database.query<{ key: string }>(CURSOR_KEY);
  const key = Buffer.from((rows[0]?.key ?? '').replaceAll('-', ''), 'hex');
  return {
    encode(position) {
      const block = Buffer.alloc(BYTES);
      block.writeBigUInt64BE(BigInt(position));
      return createCipheriv(ALGORITHM, key, null).update(block).toString('base64url');
    },
    decode(cursor) {
      const sealed = Buffer.from(cursor, 'base64url');
      if (sealed.length !== BYTES) return undefined;
      const block = createDecipheriv(ALGORITHM, key, null).setAutoPadding(false).update(sealed);
      const position = Number(block.readBigUInt64BE());
      return block.subarray(8).equals(FILLING) && Number.isSafeInteger(position) ? position : undefined;
    },
  };
}

/** The ring has 64 days: these, today, tomorrow, and some in which to empty a day before it is needed again. */
export const MOST_DAYS_KEPT = 60;

/** The table is a ring of days; those that are over are emptied, and nothing has to be made ahead. */
export class EventRetention {
  constructor(
    private readonly database: Database,
    private readonly keptDays: number,
  ) {}

  /** Any number of processes may do it, as often as they like. Returns how many days were emptied. */
  async run(): Promise<number> {
    const { rows } = await this.database.query<{ emptied: number }>(FORGET_EVENTS, [this.keptDays]);
    return rows[0]?.emptied ?? 0;
  }
}

/** How far the feed has come, and what may hold it up. */
interface EventStatus {
  /** Events without a position yet, and how long ago the oldest of them was written. */
  readonly waiting: number;
  readonly oldestWaitingSeconds: number | null;
  /** Events that can be read, and when the oldest of them was made. */
  readonly kept: number;
  readonly since: Date | null;
  /** For how long the oldest transaction of the database has been open that has written something: its events are not seen yet. */
  readonly longestWritingSeconds: number | null;
}

export const EVENTS = {
  name: 'event',
  help: 'the feed of events',
  tasks: [
    task({
      name: 'event status',
      help: 'show how far the feed has come, and what is not in it yet',
      role: 'viewer',
      scope: 'nobody',
      input: {},
      run: async ({ database }) => {
        const [status] = (await database.query<EventStatus>(EVENT_STATUS)).rows;
        if (status === undefined) throw new Error('the row of the sequencer is not there');
        return status;
      },
      says: ({ waiting, oldestWaitingSeconds, kept, since, longestWritingSeconds }) =>
        [
          since === null ? 'No events are kept.' : `${kept} events are kept, since ${since.toISOString()}.`,
          waiting === 0
            ? 'None waits for its position.'
            : `${waiting} have no position yet, the oldest for ${oldestWaitingSeconds} s.`,
          ...(longestWritingSeconds === null
            ? []
            : [`A transaction that has written something has been open for ${longestWritingSeconds} s.`]),
        ].join(' '),
    }),
  ],
} as const;
