// What an event is: its type, its public ID and its position in the feed.
import type { MerchantId } from '../values/ids.js';

export const EVENT_TYPES = [
  'transaction.unknown',
  'transaction.approved',
  'transaction.declined',
  'transaction.pending',
  'transaction.error',
  'transaction.voided',
  'directdebit.returned',
  'customer.created',
  'customer.updated',
  'customer.deleted',
  'token.created',
  'token.updated',
  'token.deleted',
  'checkout.complete',
  'checkout.expired',
  'checkout.cancelled',
  'schedule.payment_failed',
  'schedule.paused',
  'schedule.ended',
  'limit.reached',
] as const;

export const SUBJECT_KINDS = ['transaction', 'customer', 'token', 'checkout', 'schedule', 'limit'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** The prefixes of event types. */
const GROUPS: Readonly<Record<SubjectKind, readonly string[]>> = {
  transaction: ['transaction', 'directdebit'],
  customer: ['customer'],
  token: ['token'],
  checkout: ['checkout'],
  schedule: ['schedule'],
  limit: ['limit'],
};

const KIND_OF_GROUP = new Map(
  Object.entries(GROUPS).flatMap(([kind, groups]) => groups.map((group) => [group, kind as SubjectKind])),
);

/** The type prefixes of events about these kinds of subjects. */
export function groupsOf(kinds: readonly SubjectKind[]): string[] {
  return kinds.flatMap((kind) => GROUPS[kind]);
}

/** The kind of subject of this event type. */
export function subjectKind(type: string): SubjectKind {
  const kind = KIND_OF_GROUP.get(type.slice(0, type.indexOf('.')));
  if (kind === undefined) throw new Error(`unknown event type ${type}`);
  return kind;
}

interface IdentifiedBy {
  readonly merchantId: MerchantId;
  readonly type: string;
  readonly subject: number;
  readonly version: number;
}

/**
 * Derived from the event's subject, so an event has the same ID wherever it is read, even if its position changed. Without a full stop,
 * which Standard Webhooks reserves.
 */
export function eventId({ merchantId, type, subject, version }: IdentifiedBy): string {
  return `evt_${merchantId}_${subjectKind(type)}_${subject}_${version}`;
}

const EVENT_ID =
  /^evt_(\d{1,10})_(transaction|customer|token|checkout|schedule|limit)_(\d{1,10})_(\d{1,10})$/;

/** Undefined if the text is not an event ID. `groups`: the possible type prefixes. */
export function parseEventId(id: string):
  | {
      merchantId: number;
      kind: SubjectKind;
      subject: number;
      version: number;
      groups: readonly string[];
    }
  | undefined {
  const [, merchantId, kind, subject, version] = EVENT_ID.exec(id) ?? [];
  if (kind === undefined) return undefined;
  const numbers = [merchantId, subject, version].map(Number) as [number, number, number];
  if (numbers.some((number) => number > 2_147_483_647)) return undefined;
  return {
    merchantId: numbers[0],
    kind: kind as SubjectKind,
    subject: numbers[1],
    version: numbers[2],
    groups: GROUPS[kind as SubjectKind],
  };
}

// Positions only grow. Each contains its day, which gives its slot in the ring.

/** A position is the day's number times this, plus a count. */
const DAY = 10_000_000_000;
const SLOTS = 64;

/** The slots of all positions after one and up to another. */
export function slotsBetween(after: number, upTo: number): number[] {
  const last = Math.floor(upTo / DAY);
  const first = Math.max(Math.floor(after / DAY), last - SLOTS + 1);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, at) => (first + at) % SLOTS);
}

export function onSameDay(one: number, other: number): boolean {
  return Math.floor(one / DAY) === Math.floor(other / DAY);
}

/** The first position of the day. */
export function beginningOfDay(position: number): number {
  return Math.floor(position / DAY) * DAY;
}
