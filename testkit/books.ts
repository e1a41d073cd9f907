// Holds the gateway's books against the acquirer's: what each says was charged, by the reference that was sent.
import { expect, vi } from 'vitest';
import { decision } from '../src/acquirers/contract.js';
import type { LedgerEntry } from '../src/acquirers/simulator/ledger.js';
import type { TestGateway } from './gateway.js';

/** What stands behind one reference in the end: refunds count negative, and nothing at all is left out. */
export interface Position {
  readonly chargedCents?: number;
  readonly heldCents?: number;
}

/** Positions by the reference that the gateway sent. */
export type Books = Record<string, Position>;

/** What an acquirer's ledger amounts to. */
export function booksOfLedger(entries: readonly LedgerEntry[]): Books {
  const reversed = new Set(
    entries.filter(({ operation }) => operation === 'reversal').map(({ reference }) => reference),
  );
  const standing = entries.filter(
    (entry) => entry.operation !== 'reversal' && isApproved(entry) && !reversed.has(entry.reference),
  );
  const voided = new Set(standing.filter(({ operation }) => operation === 'void').map(targetOf));
  const effective = standing.filter(({ reference }) => !voided.has(reference));
  const completed = new Set(effective.filter(({ operation }) => operation === 'completion').map(targetOf));

  const books: Books = {};
  for (const { reference, operation, amountCents = 0 } of effective) {
    switch (operation) {
      case 'purchase':
      case 'completion':
        books[reference] = { chargedCents: amountCents };
        break;
      case 'refund':
      case 'standalone_refund':
        books[reference] = { chargedCents: -amountCents };
        break;
      case 'preauthorisation':
        if (!completed.has(reference)) books[reference] = { heldCents: amountCents };
        break;
    }
  }
  return books;
}

function isApproved({ responseCode = '' }: LedgerEntry): boolean {
  return decision({ responseCode, responseMessage: '' }).kind === 'approved';
}

function targetOf({ targetReference = '' }: LedgerEntry): string {
  return targetReference;
}

/** What the gateway's rows amount to. */
export async function booksOfGateway({ sql }: Pick<TestGateway, 'sql'>): Promise<Books> {
  const rows = await sql<Position & { reference: string }>(`
    SELECT g.installation || '-' || t.organisation_id || '-' || t.audit AS reference,
      CASE WHEN t.transaction_type IN ('purchase', 'completion') THEN t.amount_cents
           WHEN t.transaction_type IN ('refund', 'standalone_refund') THEN -t.amount_cents END AS "chargedCents",
      CASE WHEN t.transaction_type = 'preauthorisation' THEN t.amount_cents END AS "heldCents"
    FROM transaction t, gateway g
    WHERE t.status = 'approved' AND t.transaction_type <> 'void' AND t.completed_by IS NULL`);
  return Object.fromEntries(
    rows.map(({ reference, ...position }) => [
      reference,
      Object.fromEntries(Object.entries(position).filter(([, cents]) => cents !== null)),
    ]),
  );
}

/** Targets whose reservations are not the sum of the operations that hold them. */
export function wrongReservations({ sql }: Pick<TestGateway, 'sql'>): Promise<object[]> {
  return sql(`
    WITH live AS (
      SELECT organisation_id, target_audit AS audit,
        coalesce(sum(amount_cents) FILTER (WHERE transaction_type = 'refund'), 0) AS refunded_cents,
        coalesce(sum(amount_cents) FILTER (WHERE transaction_type = 'completion'), 0) AS completed_cents,
        array_agg(audit) FILTER (WHERE transaction_type = 'completion') AS completions,
        array_agg(audit) FILTER (WHERE transaction_type = 'void') AS voids
      FROM transaction WHERE status IN ('approved', 'pending', 'unknown') AND target_audit IS NOT NULL
      GROUP BY organisation_id, target_audit)
    SELECT t.organisation_id, t.audit, t.status, t.refunded_cents, t.completed_cents, t.completed_by, t.voided_by,
      to_json(live) AS live
    FROM transaction t LEFT JOIN live ON live.organisation_id = t.organisation_id AND live.audit = t.audit
    WHERE t.refunded_cents <> coalesce(live.refunded_cents, 0)
      OR t.completed_cents <> coalesce(live.completed_cents, 0)
      OR array_remove(ARRAY[t.completed_by], NULL) <> coalesce(live.completions, '{}')
      OR array_remove(ARRAY[t.voided_by], NULL) <> coalesce(live.voids, '{}')`);
}

/** References under which the acquirer was asked more than once. */
export function askedAgain(entries: readonly LedgerEntry[]): string[] {
  const operations = entries.filter(({ operation }) => operation !== 'reversal');
  const seen = new Set<string>();
  return operations
    .map(({ reference }) => reference)
    .filter((reference) => seen.size === seen.add(reference).size);
}

/**
 * Waits until everything is decided, and then expects that gateway and acquirer agree to the cent, that every
 * reservation is held by somebody, and that nothing was asked for twice.
 */
export async function expectBooksToAgree(
  gateway: Pick<TestGateway, 'sql' | 'ledger'>,
  readEntries: () => Promise<readonly LedgerEntry[]> = gateway.ledger,
): Promise<void> {
  const undecided = () => gateway.sql(`SELECT audit FROM transaction WHERE status = 'unknown'`);
  await vi.waitFor(async () => expect(await undecided()).toEqual([]), { timeout: 20_000 });
  const entries = await readEntries();
  expect(entries.length).toBeGreaterThan(0);
  expect(await booksOfGateway(gateway)).toEqual(booksOfLedger(entries));
  expect(await wrongReservations(gateway)).toEqual([]);
  expect(askedAgain(entries)).toEqual([]);
}
