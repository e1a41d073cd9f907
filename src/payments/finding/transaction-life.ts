// One transaction from its request to now: what it is, what happened to it and when, what belongs to it, and what can be done next.
import { gatewayTime } from '../../clock/gateway-clock.js';
import { eventId } from '../../events/event-id.js';
import type { JournalView } from '../../journal/journal-tasks.js';
import { JOURNAL_OF_TRANSACTION } from '../../journal/journal-tasks.sql.js';
import type { Queryable } from '../../postgres/database.js';
import { briefly } from '../../postgres/short-timeout.js';
import type { Mode } from '../../values/mode.js';
import { refuse } from '../../values/refusal.js';
import { sydneyTimestamp } from '../../values/time.js';
import { acquirerReferences } from '../acquirer-reference.js';
import { completableCents, refundableCents, voidable } from '../target-rules.js';
import { type Transaction, voidableUntilMs } from '../transaction.js';
import { showTransaction, type TransactionDetails } from './listed-transactions.js';
import { type TransactionRow, transactionFrom } from './lookup.js';
import { type Told, timelineOf } from './timeline.js';
import {
  EVENTS_OF_TRANSACTION,
  RELATED_TRANSACTIONS,
  TRANSACTION_AND_TERMS,
  WEBHOOK_ATTEMPTS_OF_EVENTS,
  WEBHOOKS_TO_COME,
} from './transaction-life.sql.js';

export interface RelatedTransaction {
  readonly audit: number;
  readonly transactionType: string;
  readonly status: string;
  readonly amountCents: number;
  readonly currency: string;
  readonly gatewayTimestamp: string;
}

/** From what was done to what it was done to. */
export interface Relation {
  readonly from: number;
  readonly to: number;
  readonly kind: 'completion' | 'refund' | 'void';
}

/** What its links allow now. */
export interface AllowedAction {
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
  return briefly(database, async (connection) => {
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
