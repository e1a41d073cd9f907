// What the days should come to, worked out without the gateway's entries: from the stored transactions and the acquirer's ledger.
import type { LedgerEntry } from '../../src/acquirers/simulator/ledger.js';
import { settlementDay } from '../../src/values/time.js';
import { standingEntries } from '../../testkit/books.js';

export interface TradedTransaction {
  readonly merchantId: number;
  readonly audit: number;
  readonly reference: string;
  readonly targetReference: string | null;
  readonly type: string;
  readonly status: string;
  readonly currency: string;
  readonly acquirer: string;
  readonly amountCents: number;
  readonly directDebit: boolean;
  readonly settlementDate: string | null;
  readonly decidedMs: number;
}

export const TRADED_TRANSACTIONS = `
  SELECT t.merchant_id AS "merchantId", t.audit, g.installation || '-' || t.organisation_id || '-' || t.audit AS reference,
    g.installation || '-' || t.organisation_id || '-' || t.target_audit AS "targetReference", t.transaction_type AS type,
    t.status, t.currency, t.acquirer, t.amount_cents::float8 AS "amountCents", t.bank_account IS NOT NULL AS "directDebit",
    t.settlement_date::text AS "settlementDate", extract(epoch FROM t.decided_at)::float8 * 1000 AS "decidedMs"
  FROM transaction t, gateway g ORDER BY t.organisation_id, t.audit`;

/** Something that settles, as the transactions and the acquirer's ledger have it. */
export interface Settled {
  readonly day: string;
  readonly reference: string;
  readonly merchantId: number;
  readonly acquirer: string;
  readonly type: string;
  readonly currency: string;
  /** With a sign. */
  readonly cents: number;
}

const MONEY = ['purchase', 'completion', 'refund', 'standalone_refund'];
const signOf = (type: string) => (type === 'refund' || type === 'standalone_refund' ? -1 : 1);

/** The amounts are the ledger's. What the ledger does not have standing, although it settles here, has no amount. */
export function settledOf(rows: readonly TradedTransaction[], entries: readonly LedgerEntry[]): Settled[] {
  const charged = new Map(standingEntries(entries).map((entry) => [entry.reference, entry]));
  const byReference = new Map(rows.map((row) => [row.reference, row]));
  return rows.flatMap((row): Settled[] => {
    const { reference, merchantId, acquirer, type, currency } = row;
    const common = { reference, merchantId, acquirer, type, currency };
    if (MONEY.includes(type)) {
      const counts = row.directDebit
        ? row.status === 'approved'
        : ['approved', 'voided'].includes(row.status);
      const day = row.directDebit ? settlementDay(row.decidedMs) : row.settlementDate;
      const cents = signOf(type) * (charged.get(reference)?.amountCents ?? Number.NaN);
      return counts && day !== null ? [{ ...common, day, cents }] : [];
    }
    const target = byReference.get(row.targetReference ?? '');
    if (type !== 'void' || row.status !== 'approved' || row.settlementDate === null) return [];
    if (target === undefined || target.directDebit || !MONEY.includes(target.type)) return [];
    const undone = charged.has(reference)
      ? (charged.get(target.reference)?.amountCents ?? Number.NaN)
      : Number.NaN;
    return [{ ...common, day: row.settlementDate, cents: -signOf(target.type) * undone }];
  });
}

/** `merchant currency` → cents. */
export function netOf(settled: readonly Settled[]): Map<string, number> {
  const net = new Map<string, number>();
  for (const { merchantId, currency, cents } of settled) {
    const key = `${merchantId} ${currency}`;
    net.set(key, (net.get(key) ?? 0) + cents);
  }
  return net;
}
