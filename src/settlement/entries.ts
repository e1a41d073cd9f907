// The entries of a settlement day one by one, a page at a time, however many there are; and as CSV.
import type { Queryable } from '../postgres/database.js';
import { csvLine } from '../values/csv.js';
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import type { SettlementLine } from './report.js';
import { ENTRIES_OF_DAY } from './report.sql.js';

export interface SettlementEntry {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  /** Of the merchant. */
  readonly mode: Mode;
  readonly audit: Audit;
  readonly targetAudit: Audit | null;
  readonly acquirer: string;
  readonly paymentMethod: SettlementLine['paymentMethod'];
  readonly cardType: string;
  readonly transactionType: SettlementLine['transactionType'];
  readonly currency: string;
  readonly amountCents: number;
  /** The merchant's own. */
  readonly reference: string;
}

export interface EntryFilter {
  readonly date: string;
  readonly merchant?: number | undefined;
  readonly mode?: Mode | undefined;
}

/** How many are in memory at once. */
const PAGE = 2_000;

export async function* settlementEntries(
  database: Queryable,
  { date, merchant, mode }: EntryFilter,
): AsyncGenerator<readonly SettlementEntry[]> {
  let place: readonly (number | string)[] = [0, 0, 0, ''];
  for (;;) {
    const values = [date, merchant ?? null, mode ?? null, ...place, PAGE];
    const { rows } = await database.query<SettlementEntry>(ENTRIES_OF_DAY, values);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    place = [last.organisationId, last.merchantId, last.audit, last.transactionType];
  }
}

export const CSV_HEADER =
  'settlement_date,merchant_id,audit,target_audit,acquirer_reference,reference,mode,acquirer,payment_method,card_type,transaction_type,currency,amount_cents\n';

export function entryLine(date: string, entry: SettlementEntry, acquirerReference: string): string {
  const { merchantId, audit, targetAudit, reference, mode, acquirer, amountCents, currency } = entry;
  const kind = [entry.paymentMethod, entry.cardType, entry.transactionType];
  const references = [acquirerReference, reference];
  return csvLine(
    [date, merchantId, audit, targetAudit, ...references, mode, acquirer, ...kind, currency, amountCents],
    '\n',
  );
}
