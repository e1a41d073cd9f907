// The timeline of a transaction: what its row, its events, the webhooks about it and the journal tell, in one order.
import type { JournalView } from '../../journal/journal-tasks.js';
import { sydneyTimestamp } from '../../values/time.js';
import type { TransactionDetails } from './listed-transactions.js';

export type StepKind =
  | 'request'
  | 'claim'
  | 'acquirer'
  | 'answer'
  | 'doubt'
  | 'resolver'
  | 'event'
  | 'webhook'
  | 'journal';

/** A point of the timeline. */
export interface LifeStep {
  /** By the gateway's clock. Null where only the order is known: then it stands where it belongs. */
  readonly at: string | null;
  readonly kind: StepKind;
  /** One short sentence. */
  readonly title: string;
  readonly detail: string | null;
  /** Who did it: `user:NAME`, `operator:NAME`, `gateway:resolver`, or the name of a link. */
  readonly actor: string | null;
  readonly address: string | null;
}

/** What is known of a transaction beside its row. */
export interface Told {
  readonly createdMs: number;
  /** When it became what it is. */
  readonly decided: string | null;
  readonly version: number;
  /** When the resolver looks at it next. */
  readonly resolveMs: number | null;
  /** What its acquirer knows it by. */
  readonly reference: string;
  readonly events: readonly { readonly version: number; readonly type: string; readonly createdMs: number }[];
  readonly attempts: readonly {
    readonly endpoint: number;
    readonly url: string | null;
    readonly atMs: number;
    readonly type: string;
    readonly attempt: number;
    readonly result: string;
    readonly httpStatus: number | null;
    readonly durationMs: number;
  }[];
  readonly coming: readonly {
    readonly endpoint: number;
    readonly url: string;
    readonly version: number;
    readonly attempts: number;
    readonly nextMs: number | null;
  }[];
  readonly journal: readonly JournalView[];
}

/** With the instant that it is sorted by, where one is known. */
interface Placed {
  readonly atMs: number | undefined;
  readonly step: LifeStep;
}

const RESOLVER = [
  'transaction.resolved',
  'transaction.reversal_begun',
  'transaction.approved_after_reversal',
  'transaction.reversed_again',
];
const NOT_SENT = 1;

/** The oldest first. */
export function timelineOf(transaction: TransactionDetails, told: Told): readonly LifeStep[] {
  const events = eventsOf(transaction, told);
  const placed = [
    ...beginning(transaction, told),
    ...answer(transaction, told, events),
    ...told.journal.map(journalled),
    ...events.map(({ atMs, type, version }) =>
      placedAt(atMs, 'event', `Event ${type}`, { detail: `version ${version}` }),
    ),
    ...told.attempts.map(attempted),
    ...told.coming.map(coming),
    ...toBeTried(transaction, told),
  ];
  // Of what has no time, the order above is known: it was done with the request. What waits for something else comes last.
  const whenMs = ({ atMs, step }: Placed) =>
    atMs ?? (step.kind === 'webhook' ? Number.MAX_SAFE_INTEGER : told.createdMs);
  return placed.sort((one, other) => whenMs(one) - whenMs(other)).map(({ step }) => step);
}

function placedAt(
  atMs: number | undefined,
  kind: StepKind,
  title: string,
  more: Partial<Pick<LifeStep, 'detail' | 'actor' | 'address'>> = {},
): Placed {
  const { detail = null, actor = null, address = null } = more;
  const at = atMs === undefined ? null : sydneyTimestamp(atMs);
  return { atMs, step: { at, kind, title, detail, actor, address } };
}

function beginning(transaction: TransactionDetails, { createdMs, reference }: Told): Placed[] {
  const { transactionType, user, correlationId, audit, targetAudit, acquirer, gatewayStatusCode } =
    transaction;
  const about = targetAudit === null ? '' : ` of transaction ${targetAudit}`;
  const actor = user === null ? null : `user:${user}`;
  const sent =
    gatewayStatusCode === NOT_SENT
      ? `${acquirer} could not be reached: nothing was sent`
      : `Handed to ${acquirer}`;
  return [
    placedAt(createdMs, 'request', `Request: ${transactionType.replaceAll('_', ' ')}${about}`, {
      actor,
      detail: `correlation ID ${correlationId}`,
    }),
    placedAt(createdMs, 'claim', `Stored as audit ${audit}, before anything is sent`),
    placedAt(undefined, 'acquirer', sent, { actor: acquirer, detail: `known there as ${reference}` }),
  ];
}

interface EventStep {
  readonly version: number;
  readonly type: string;
  readonly atMs: number | undefined;
}

/** One that was decided at once is in no index; it tells of the first answer, which is the last where there was no other. */
function eventsOf({ status }: TransactionDetails, { events, version, decided }: Told): EventStep[] {
  const known = events.map(({ createdMs, ...event }) => ({ ...event, atMs: createdMs }));
  if (version === 0 || known.some((event) => event.version === 1)) return known;
  const first = version === 1 ? status : 'approved';
  const atMs = version === 1 && decided !== null ? Date.parse(decided) : undefined;
  return [{ version: 1, type: `transaction.${first}`, atMs }, ...known];
}

function answer(
  transaction: TransactionDetails,
  { decided, version }: Told,
  events: readonly EventStep[],
): Placed[] {
  const { status, responseCode, responseMessage, authorisationCode, acquirer } = transaction;
  const doubts = events
    .filter(({ type }) => type === 'transaction.unknown')
    .map(({ atMs }) => placedAt(atMs, 'doubt', 'No readable answer: in doubt', { actor: acquirer }));
  const said = [responseCode, responseMessage, authorisationCode && `authorisation ${authorisationCode}`];
  const words = said.filter((part) => part !== null && part !== '').join(', ');
  if (status === 'unknown') return doubts;
  const [first] = events;
  const was = first?.type.split('.')[1] ?? status;
  const atMs = version === 1 && decided !== null ? Date.parse(decided) : first?.atMs;
  // Found out by the resolver: the journal tells of it.
  if (doubts.length > 0) return doubts;
  return [
    placedAt(atMs, 'answer', `Answer: ${was}`, { actor: acquirer, detail: words === '' ? null : words }),
  ];
}

function journalled({ at, actor, action, detail, address }: JournalView): Placed {
  const kind = RESOLVER.includes(action) ? 'resolver' : 'journal';
  const words = action.split('.').join(': ').replaceAll('_', ' ');
  return placedAt(at.getTime(), kind, words, { actor, detail, address });
}

function attempted({
  endpoint,
  url,
  atMs,
  type,
  attempt,
  result,
  httpStatus,
  durationMs,
}: Told['attempts'][number]): Placed {
  const status = httpStatus === null ? '' : `, status ${httpStatus}`;
  return placedAt(atMs, 'webhook', `Webhook ${type}: ${result}`, {
    detail: `endpoint ${endpoint}${hostOf(url)}, attempt ${attempt}${status}, ${durationMs} ms`,
  });
}

function coming({ endpoint, url, version, attempts, nextMs }: Told['coming'][number]): Placed {
  const title = nextMs === null ? 'Webhook waits behind an earlier one' : 'Webhook is tried again';
  return placedAt(nextMs ?? undefined, 'webhook', title, {
    detail: `endpoint ${endpoint}${hostOf(url)}, version ${version}, after ${attempts} attempts`,
  });
}

/** Without the path: it may hold a secret of the receiver's. */
function hostOf(url: string | null): string {
  return url === null || !URL.canParse(url) ? '' : ` at ${new URL(url).host}`;
}

function toBeTried({ status, attempts, reversing }: TransactionDetails, { resolveMs }: Told): Placed[] {
  if (status !== 'unknown' || resolveMs === null) return [];
  const title = reversing ? 'The reversal is sent again' : 'The acquirer is asked what became of it';
  return [
    placedAt(resolveMs, 'resolver', title, {
      actor: 'gateway:resolver',
      detail: `after ${attempts} attempts`,
    }),
  ];
}
