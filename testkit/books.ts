// Compares the gateway's books with the acquirer's: the amounts charged or held, by reference.
import type { LedgerEntry } from '../src/acquirers/simulator/ledger.js';
import { decision } from '../src/acquirers/simulator/simulator.js';

/** A transaction as the gateway has stored it. */
export interface StoredTransaction {
  readonly organisationId: number;
  readonly audit: number;
  readonly acquirerReference: string;
  readonly targetAudit: number | null;
  readonly type: string;
  readonly status: string;
  readonly gatewayStatusCode: number;
  readonly amountCents: number;
  readonly refundedCents: number;
  readonly completedCents: number;
  readonly completedBy: number | null;
  readonly voidedBy: number | null;
  readonly correlationId: string;
  readonly reference: string;
}

/** Reads `StoredTransaction`s: all, or those with the reference of its parameter. */
export const STORED_TRANSACTIONS = storedTransactions(
  'g.installation',
  '$1::text IS NULL OR t.reference = $1',
);

/** The same of the organisation of its parameter, whichever cells have sent them. */
export const TRANSACTIONS_OF_ORGANISATION = storedTransactions(
  'coalesce(sent_by(t.organisation_id, t.audit), g.installation)',
  't.organisation_id = $1',
);

function storedTransactions(installation: string, where: string): string {
  return `
  SELECT t.organisation_id AS "organisationId", t.audit,
    ${installation} || '-' || t.organisation_id || '-' || t.audit AS "acquirerReference",
    t.target_audit AS "targetAudit", t.transaction_type AS type, t.status, t.gateway_status_code AS "gatewayStatusCode",
    t.amount_cents::float8 AS "amountCents", t.refunded_cents::float8 AS "refundedCents",
    t.completed_cents::float8 AS "completedCents", t.completed_by AS "completedBy", t.voided_by AS "voidedBy",
    t.correlation_id AS "correlationId", t.reference
  FROM transaction t, gateway g WHERE ${where} ORDER BY t.organisation_id, t.audit`;
}

/** What a position is made of. */
export type Booked = Pick<
  StoredTransaction,
  'acquirerReference' | 'type' | 'status' | 'amountCents' | 'completedBy'
>;

/** The final position of a reference, in words: `1995 charged`, `-500 charged` or `1000 held`. */
export type Positions = ReadonlyMap<string, string>;

/** The operations that the acquirer approved and has not reversed. */
export function standingEntries<Entry extends LedgerEntry>(entries: readonly Entry[]): Entry[] {
  const reversed = new Set(
    entries.filter(({ operation }) => operation === 'reversal').map(({ reference }) => reference),
  );
  return entries.filter(
    (entry) => entry.operation !== 'reversal' && isApproved(entry) && !reversed.has(entry.reference),
  );
}

function isApproved({ responseCode = '' }: LedgerEntry): boolean {
  return decision({ responseCode, responseMessage: '' }).kind === 'approved';
}

/** Zero positions are left out. */
export function positionsOfLedger(entries: readonly LedgerEntry[]): Positions {
  const standing = standingEntries(entries);
  const targetsOf = (list: readonly LedgerEntry[], kind: string) =>
    new Set(list.filter(({ operation }) => operation === kind).map((entry) => entry.targetReference));
  const voided = targetsOf(standing, 'void');
  const effective = standing.filter(({ reference }) => !voided.has(reference));
  const completed = targetsOf(effective, 'completion');
  return new Map(
    effective
      .filter(({ operation, reference }) => operation !== 'void' && !completed.has(reference))
      .map(({ reference, operation, amountCents = 0 }) => [reference, position(operation, amountCents)]),
  );
}

/** The same of the gateway's rows. */
export function positionsOfTransactions(rows: readonly Booked[]): Positions {
  return new Map(
    rows
      .filter(({ status, type, completedBy }) => status === 'approved' && type !== 'void' && !completedBy)
      .map(({ acquirerReference, type, amountCents }) => [acquirerReference, position(type, amountCents)]),
  );
}

function position(operation: string, amountCents: number): string {
  switch (operation) {
    case 'purchase':
    case 'completion':
      return `${amountCents} charged`;
    case 'refund':
    case 'standalone_refund':
      return `${-amountCents} charged`;
    case 'preauthorisation':
      return `${amountCents} held`;
    default:
      throw new Error(`no position is known for ${operation}`);
  }
}

/** The differences between the two, in words. */
export function differences(rows: readonly Booked[], entries: readonly LedgerEntry[]): string[] {
  const ours = positionsOfTransactions(rows);
  const theirs = positionsOfLedger(entries);
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((reference) => ours.get(reference) !== theirs.get(reference))
    .map(
      (reference) =>
        `${reference}: the gateway says ${ours.get(reference) ?? 'nothing'}, the acquirer says ${theirs.get(reference) ?? 'nothing'}`,
    );
}

/** Every event that is kept, with a position or without one yet. For FROM. */
export const EVERY_EVENT = `(
    SELECT told.organisation_id, told.merchant_id, told.subject, told.version, type, created_at
    FROM event CROSS JOIN LATERAL events_of(event) AS told
    UNION ALL
    SELECT organisation_id, merchant_id, subject, version, type, created_at FROM event_feed) every_event`;

/** Transactions whose events are not numbered from 1, or whose newest event does not match their status. */
export const WRONG_EVENTS = `
  WITH told AS (
    SELECT organisation_id, subject AS audit, array_agg(version ORDER BY version) AS versions,
      (array_agg(type ORDER BY version DESC))[1] AS newest
    FROM ${EVERY_EVENT} WHERE type LIKE 'transaction.%' OR type LIKE 'directdebit.%' GROUP BY organisation_id, subject)
  SELECT t.organisation_id, t.audit, t.status, t.version, told.versions, told.newest
  FROM transaction t LEFT JOIN told ON told.organisation_id = t.organisation_id AND told.audit = t.audit
  WHERE coalesce(told.versions, '{}') <> ARRAY(SELECT generate_series(1, t.version))
    OR replace(told.newest, 'directdebit.returned', 'transaction.declined') <> 'transaction.' || t.status`;

/** References under which the acquirer was asked more than once. */
export function askedAgain(entries: readonly LedgerEntry[]): string[] {
  const seen = new Set<string>();
  return entries
    .filter(({ operation }) => operation !== 'reversal')
    .map(({ reference }) => reference)
    .filter((reference) => seen.size === seen.add(reference).size);
}

const LIVE = ['approved', 'pending', 'unknown'];

/** Targets whose reservations are not the sum of the operations that hold them, in words. */
export function wrongReservations(rows: readonly StoredTransaction[]): string[] {
  const keyOf = ({ organisationId }: StoredTransaction, audit: number) => `${organisationId}-${audit}`;
  const byTarget = new Map<string, StoredTransaction[]>();
  for (const row of rows) {
    if (row.targetAudit === null || !LIVE.includes(row.status)) continue;
    const target = keyOf(row, row.targetAudit);
    byTarget.set(target, [...(byTarget.get(target) ?? []), row]);
  }
  return rows.flatMap((row) => {
    const holders = byTarget.get(keyOf(row, row.audit)) ?? [];
    const of = (kind: string) => holders.filter(({ type }) => type === kind);
    const cents = (kind: string) => of(kind).reduce((sum, { amountCents }) => sum + amountCents, 0);
    const audits = (kind: string) => of(kind).map(({ audit }) => audit);
    const reserved = [row.refundedCents, row.completedCents, row.completedBy ?? [], row.voidedBy ?? []];
    const held = [cents('refund'), cents('completion'), audits('completion'), audits('void')];
    return reserved.join(' / ') === held.join(' / ')
      ? []
      : [`audit ${row.audit}: reserved ${reserved.join(' / ')}, held ${held.join(' / ')}`];
  });
}
