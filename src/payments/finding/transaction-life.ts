// One transaction from its request to now: what it is, what happened to it and when, what belongs to it, and what can be done next.
import { gatewayTime } from '../../clock/gateway-clock.js';
import { eventId } from '../../events/events.js';
import type { JournalView } from '../../journal/journal-tasks.js';
import { JOURNAL_OF_TRANSACTION } from '../../journal/journal-tasks.sql.js';
import type { Queryable } from '../../postgres/database.js';
import { withShortTimeout } from '../../postgres/short-timeout.js';
import type { Mode } from '../../values/mode.js';
import { refuse } from '../../values/refusal.js';
import { sydneyTimestamp } from '../../values/time.js';
import { type DeclineAdvice, declineAdvice } from '../decline-advice.js';
import { completableCents, refundableCents, voidable } from '../target-rules.js';
import { acquirerReferences, type Transaction, voidableUntilMs } from '../transaction.js';
import { showTransaction, type TransactionDetails } from './listed-transactions.js';
import { type TransactionRow, transactionFrom } from './lookup.js';
import {
  EVENTS_OF_TRANSACTION,
  RELATED_TRANSACTIONS,
  TRANSACTION_AND_TERMS,
  WEBHOOK_ATTEMPTS_OF_EVENTS,
  WEBHOOKS_TO_COME,
} from './transaction-life.sql.js';

interface RelatedTransaction {
  readonly audit: number;
  readonly transactionType: string;
  readonly status: string;
  readonly amountCents: number;
  readonly currency: string;
  readonly gatewayTimestamp: string;
}

/** From what was done to what it was done to. */
interface Relation {
  readonly from: number;
  readonly to: number;
  readonly kind: 'completion' | 'refund' | 'void';
}

/** What its links allow now. */
interface AllowedAction {
  readonly action: 'void' | 'refund' | 'completion' | 'ask';
  /** How much at most; null where it is about no amount. */
  readonly mostCents: number | null;
  /** Null where it has no end that is known. */
  readonly until: string | null;
}

export interface TransactionLife {
  readonly transaction: TransactionDetails;
  readonly mode: Mode;
  readonly merchantName: string;
  readonly customer: number | null;
  /** As its client sent them, and what the gateway adds. */
  readonly kvps: readonly { readonly key: string; readonly value: string }[];
  /** What is left to refund or to complete; null where that is refused. */
  readonly refundableCents: number | null;
  readonly completableCents: number | null;
  /** What to do after a card was declined. */
  readonly declineAdvice: DeclineAdvice | null;
  readonly actions: readonly AllowedAction[];
  readonly timeline: ReturnType<typeof timelineOf>;
  readonly related: { readonly nodes: readonly RelatedTransaction[]; readonly edges: readonly Relation[] };
  /** Where something was left out, such as more than so many attempts: what, in words. */
  readonly leftOut: readonly string[];
}

interface Row extends TransactionRow {
  readonly version: number;
  readonly mode: Mode;
  readonly merchantName: string;
  readonly cardDays: number;
  readonly customer: number | null;
  readonly installation: string;
  readonly resolveMs: number | null;
  readonly archived: boolean;
}

interface RelatedRow extends Omit<RelatedTransaction, 'gatewayTimestamp'> {
  readonly targetAudit: number | null;
  readonly createdMs: number;
}

/** So many of each kind of thing are shown. */
const MOST = 200;

export function lifeOfTransaction(
  database: Queryable,
  organisation: number,
  audit: number,
): Promise<TransactionLife> {
  return withShortTimeout(database, async (connection) => {
    const transaction = await showTransaction(connection, audit, organisation);
    const { rows } = await connection.query<Row>(TRANSACTION_AND_TERMS, [organisation, audit]);
    const row = rows[0] ?? refuse('transaction_not_found', { audit });
    const subject = transactionFrom(row);
    const told = await toldOf(connection, subject, row, transaction);
    const nowMs = await gatewayTime(connection);
    const { mode, merchantName, customer, version } = row;
    const actions = actionsOf(subject, row, nowMs);
    const most = (action: AllowedAction['action']) =>
      actions.find((allowed) => allowed.action === action)?.mostCents ?? null;
    return {
      transaction,
      mode,
      merchantName,
      customer,
      kvps: Object.entries(subject.kvps).map(([key, value]) => ({ key, value })),
      refundableCents: most('refund'),
      completableCents: most('completion'),
      declineAdvice: declineAdvice(subject) ?? null,
      actions,
      timeline: timelineOf(transaction, told),
      related: await relatedTo(connection, organisation, audit),
      leftOut: leftOut(told, version, row.archived),
    };
  });
}

async function toldOf(
  connection: Queryable,
  { organisationId, merchantId, audit, createdMs }: Transaction,
  { version, installation, resolveMs }: Row,
  { decided }: TransactionDetails,
): Promise<Told> {
  const ids = Array.from({ length: Math.min(version, MOST) }, (_, index) =>
    eventId({ merchantId, type: 'transaction.approved', subject: audit, version: index + 1 }),
  );
  const of = [organisationId, merchantId, audit, MOST];
  const events = await connection.query<Told['events'][number]>(EVENTS_OF_TRANSACTION, of);
  const attempts = await connection.query<Told['attempts'][number]>(WEBHOOK_ATTEMPTS_OF_EVENTS, [
    organisationId,
    ids,
    MOST,
  ]);
  const coming = await connection.query<Told['coming'][number]>(WEBHOOKS_TO_COME, [
    organisationId,
    merchantId,
    `transaction/${audit}`,
    MOST,
  ]);
  const journal = await connection.query<JournalView>(JOURNAL_OF_TRANSACTION, [organisationId, audit, MOST]);
  return {
    createdMs,
    decided,
    version,
    resolveMs,
    reference: acquirerReferences({ installation })(organisationId, audit),
    events: events.rows,
    attempts: attempts.rows,
    coming: coming.rows,
    journal: journal.rows,
  };
}

function actionsOf(transaction: Transaction, row: Row, nowMs: number): AllowedAction[] {
  const terms = { cardDays: row.cardDays };
  const actions: AllowedAction[] = [];
  const completable = completableCents(transaction, nowMs, terms);
  const refundable = refundableCents(transaction, nowMs, terms);
  const at = (ms: number | undefined) => (ms === undefined ? null : sydneyTimestamp(ms));
  if (completable !== undefined)
    actions.push({ action: 'completion', mostCents: completable, until: at(transaction.completableUntilMs) });
  if (refundable !== undefined) actions.push({ action: 'refund', mostCents: refundable, until: null });
  if (voidable(transaction, nowMs, terms))
    actions.push({ action: 'void', mostCents: null, until: at(voidableUntilMs(transaction, nowMs)) });
  // What its own process is still asking about nobody else may.
  if (transaction.status === 'unknown' && row.resolveMs !== null)
    actions.push({ action: 'ask', mostCents: null, until: null });
  return actions;
}

async function relatedTo(
  connection: Queryable,
  organisation: number,
  audit: number,
): Promise<TransactionLife['related']> {
  const { rows } = await connection.query<RelatedRow>(RELATED_TRANSACTIONS, [organisation, audit, MOST]);
  const nodes = rows.map(({ createdMs, targetAudit: _target, ...node }) => ({
    ...node,
    gatewayTimestamp: sydneyTimestamp(createdMs),
  }));
  const edges = rows.flatMap(({ audit: from, targetAudit: to, transactionType }) =>
    to === null ? [] : [{ from, to, kind: transactionType as Relation['kind'] }],
  );
  return { nodes, edges };
}

function leftOut({ attempts, journal }: Told, version: number, archived: boolean): string[] {
  const left: string[] = [];
  if (attempts.length === MOST) left.push(`webhook attempts after the first ${MOST}`);
  if (journal.length === MOST) left.push(`entries of the journal after the first ${MOST}`);
  if (version > MOST) left.push(`events after the first ${MOST}`);
  if (archived) left.push('key-value pairs, which were archived');
  return left;
}

type StepKind =
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
interface LifeStep {
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
interface Told {
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
function timelineOf(transaction: TransactionDetails, told: Told): readonly LifeStep[] {
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
