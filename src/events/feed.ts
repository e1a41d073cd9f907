// The feed: events in the order of their positions. It only grows at its end, so a reader that continues from its last position misses no
// event and sees none twice.
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
  FORMER_CURSOR_KEYS,
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
  /** An audit, or the ID of a customer or token, depending on the type. */
  readonly subject: number;
  /** Numbers the events of a subject from 1. */
  readonly version: number;
  /** The recorded state of a customer or token; empty for a transaction. */
  readonly data: string;
}

export interface FeedEvent extends EventRow {
  /** Always the same for the same event, and unique in this installation. */
  readonly id: string;
}

export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** Where the next page continues. */
  readonly position: number;
  /** Events after the requested position were deleted: this page begins later. */
  readonly skipped: boolean;
}

/** An event as clients get it. */
export interface EventBody {
  readonly id: string;
  readonly type: string;
  readonly created: string;
  readonly merchant: { readonly id: MerchantId };
  readonly version: number;
  readonly data: object;
}

/** Adds the data of each event, in the same order. */
export type EventBodies = (events: readonly FeedEvent[]) => Promise<readonly EventBody[]>;

interface EventsOfMerchant {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  /** The kinds of subjects; all kinds if undefined. */
  readonly kinds?: readonly SubjectKind[];
}

interface FeedEnds {
  readonly newest: number;
  /** Events up to here were deleted. */
  readonly forgotten: number;
}

type ReadBetween = (after: number, upTo: number) => Promise<readonly EventRow[]>;

export class EventFeed {
  constructor(private readonly database: Queryable) {}

  /** Events of all organisations. Position 0 is before the oldest event. */
  readAfter(position: number, limit: number): Promise<FeedPage> {
    return this.#read(position, limit, async (after, upTo) => {
      const values = [slotsBetween(after, upTo), after, upTo, limit];
      return (await this.database.query<EventRow>(EVENTS_BETWEEN, values)).rows;
    });
  }

  /** The returned position moves with the merchant's own events and with the days, so it does not show how busy others are. */
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
      // Also skips events that are not shown: otherwise every poll would scan them again.
      if (kinds.length < SUBJECT_KINDS.length && rows.length < limit) {
        const own = [slots, after, upTo, organisationId, merchantId];
        const last = await this.database.query<{ position: number }>(LAST_OF_MERCHANT_BETWEEN, own);
        lastOwn = last.rows[0]?.position ?? lastOwn;
      }
      return rows;
    });
    return { ...page, position: Math.max(lastOwn, beginningOfDay(page.position)) };
  }

  /** For readers that want only future events. */
  async newestPosition(): Promise<number> {
    return (await this.#ends()).newest;
  }

  /** Undefined if the merchant has no such event, or if it was deleted. */
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
    // A failover that lost the last commits may leave a reader ahead of the feed. No position up to there is assigned again.
    if (after >= newest) return { events: [], position: after, skipped };
    const rows = await between(after, newest);
    // A day that was emptied during the read looks as if it had no events.
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

/** Positions as clients get them: encrypted, so that clients cannot see how many events others have. */
interface Cursors {
  encode(position: number): string;
  /** Undefined for anything but a cursor of this installation, or of a cell from which the organisation has come. */
  decode(cursor: string, organisationId: OrganisationId): Promise<number | undefined>;
}

const ALGORITHM = 'aes-128-ecb';
const BYTES = 16;
/** A position is one block. The padding tells a cursor from other bytes. */
const FILLING = Buffer.alloc(BYTES - 8);

/** The key never changes, and is part of a dump. */
export async function eventCursors(database: Queryable): Promise<Cursors> {
  const { rows } = await database.query<{ key: string }>(CURSOR_KEY);
  const key = keyBytes(rows[0]?.key ?? '');
  return {
    encode(position) {
      const block = Buffer.alloc(BYTES);
      block.writeBigUInt64BE(BigInt(position));
      return createCipheriv(ALGORITHM, key, null).update(block).toString('base64url');
    },
    async decode(cursor, organisationId) {
      const sealed = Buffer.from(cursor, 'base64url');
      if (sealed.length !== BYTES) return undefined;
      const own = positionIn(sealed, key);
      if (own !== undefined) return own;
      const former = await database.query<{ key: string }>(FORMER_CURSOR_KEYS, [organisationId]);
      for (const row of former.rows) {
        const position = positionIn(sealed, keyBytes(row.key));
        if (position !== undefined) return position;
      }
      return undefined;
    },
  };
}

function keyBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

function positionIn(sealed: Buffer, key: Buffer): number | undefined {
  const block = createDecipheriv(ALGORITHM, key, null).setAutoPadding(false).update(sealed);
  const position = Number(block.readBigUInt64BE());
  return block.subarray(8).equals(FILLING) && Number.isSafeInteger(position) ? position : undefined;
}

/** The ring has 64 days: these, today, tomorrow, and a few in which to empty a day before it is needed again. */
export const MOST_DAYS_KEPT = 60;

/** The table is a ring of days. Past days are emptied, and no partition has to be created ahead. */
export class EventRetention {
  constructor(
    private readonly database: Database,
    private readonly keptDays: number,
  ) {}

  /** May run in any number of processes, at any time. Returns how many days were emptied. */
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
