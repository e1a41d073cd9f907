// What a settlement day comes to: how much for each merchant, acquirer, payment method, card type and transaction type, and the net.
import type { Caller } from '../organisations/users/callers.js';
import { isStatementTimeout, type Queryable } from '../postgres/database.js';
import type { FairConnections } from '../postgres/fair-connections.js';
import { fault } from '../values/faults.js';
import type { MerchantId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { LINES_OF_DAY, LINES_OF_MERCHANTS } from './report.sql.js';

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
