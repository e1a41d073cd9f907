// What a settlement day comes to: how much for each merchant, acquirer, payment method, card type and transaction type, the net, and the entries one by one.
import type { Caller } from '../organisations/users/callers.js';
import { isStatementTimeout, type Queryable } from '../postgres/database.js';
import type { FairConnections } from '../postgres/fair-connections.js';
import { csvLine } from '../values/csv.js';
import { fault } from '../values/faults.js';
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { ENTRIES_OF_DAY, LINES_OF_DAY, LINES_OF_MERCHANTS } from './report.sql.js';

export const SETTLING_TYPES = [
  'purchase',
  'completion',
  'refund',
  'standalone_refund',
  'void',
  'return',
] as const;

export interface SettlementLine {
  readonly merchantId: MerchantId;
  readonly acquirer: string;
  readonly paymentMethod: 'creditcard' | 'bankaccount';
  /** Empty for a bank account. */
  readonly cardType: string;
  /** `return`: what the bank has taken back. */
  readonly transactionType: (typeof SETTLING_TYPES)[number];
  readonly currency: string;
  readonly count: number;
  /** What the merchant gets; with a minus, what is taken from it. Text, since it may have any number of digits. */
  readonly cents: string;
}

export interface Net {
  readonly merchantId: MerchantId;
  readonly currency: string;
  readonly cents: string;
}

export interface SettlementReport {
  readonly date: string;
  /** A closed day does not change any more. */
  readonly closed: boolean;
  readonly lines: readonly SettlementLine[];
  /** Of each merchant and currency. */
  readonly net: readonly Net[];
}

/** Where nothing settles on the day, there is one row without a line. */
type Row = { readonly closed: boolean } & (SettlementLine | { readonly merchantId: null });

/** Reports for callers of the interface. */
export class SettlementReports {
  constructor(private readonly searches: FairConnections) {}

  async ofDay(
    { organisationId }: Pick<Caller, 'organisationId'>,
    merchantIds: readonly MerchantId[],
    date: string,
  ): Promise<SettlementReport> {
    const connection = this.searches.of(organisationId);
    const read = connection.query<Row>(LINES_OF_MERCHANTS, [date, organisationId, merchantIds]);
    const { rows } = await read.catch((error: unknown) => {
      throw isStatementTimeout(error) ? fault('settlement_too_slow') : error;
    });
    return reportOf(date, rows);
  }
}

/** For an operator: of every merchant, or of one. */
export async function settlementOfDay(
  database: Queryable,
  date: string,
  { merchant, mode }: { readonly merchant?: number | undefined; readonly mode?: Mode | undefined },
): Promise<SettlementReport> {
  const { rows } = await database.query<Row>(LINES_OF_DAY, [date, merchant ?? null, mode ?? null]);
  return reportOf(date, rows);
}

function reportOf(date: string, rows: readonly Row[]): SettlementReport {
  const lines = rows.flatMap((row) => (row.merchantId === null ? [] : [lineOf(row)]));
  return { date, closed: rows[0]?.closed === true, lines, net: netOf(lines) };
}

function lineOf({
  merchantId,
  acquirer,
  paymentMethod,
  cardType,
  transactionType,
  currency,
  count,
  cents,
}: SettlementLine) {
  return { merchantId, acquirer, paymentMethod, cardType, transactionType, currency, count, cents };
}

function netOf(lines: readonly SettlementLine[]): Net[] {
  const sums = new Map<string, Net>();
  for (const { merchantId, currency, cents } of lines) {
    const key = `${merchantId} ${currency}`;
    const sum = BigInt(sums.get(key)?.cents ?? 0) + BigInt(cents);
    sums.set(key, { merchantId, currency, cents: String(sum) });
  }
  return [...sums.values()];
}

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
  /** The installation that sent it, if that was another cell. */
  readonly sentBy: string | null;
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
