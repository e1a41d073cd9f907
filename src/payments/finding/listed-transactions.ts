// Transactions as operators see them: a line of a list or of a CSV file, and one transaction in every detail.
import { gatewayTime } from '../../clock/gateway-clock.js';
import { journal } from '../../journal/journal.js';
import type { Queryable } from '../../postgres/database.js';
import type { ShownBankAccount } from '../../values/bank-account.js';
import { csvLine, csvLines } from '../../values/csv.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import type { Mode } from '../../values/mode.js';
import type { PageEnd } from '../../values/page.js';
import { refuse } from '../../values/refusal.js';
import { type Outward, outward } from '../../values/snake-case.js';
import { sydneyTimestamp } from '../../values/time.js';
import type { Transaction } from '../transaction.js';
import { History, type HistoryFilter } from './history.js';
import { MERCHANTS_TO_LIST, SHOW_TRANSACTION } from './listed-transactions.sql.js';

/** Whose transactions: those of one merchant, or of an organisation. */
export interface TransactionScope {
  readonly organisation?: number | undefined;
  readonly merchant?: number | undefined;
}

/** A line of a list. */
export interface ListedTransaction {
  readonly organisation: number;
  readonly merchant: number;
  readonly mode: Mode;
  readonly audit: number;
  readonly gatewayTimestamp: string;
  readonly transactionType: string;
  readonly status: string;
  readonly amountCents: number;
  readonly currency: string;
  readonly reference: string;
  readonly correlationId: string;
  readonly card: string | null;
  readonly cardType: string | null;
  readonly bankAccount: string | null;
  readonly responseCode: string | null;
  readonly settlementDate: string | null;
  readonly targetAudit: number | null;
  readonly acquirer: string;
}

/** The columns of a CSV file, whether a command or the console writes it. */
const CSV_COLUMNS = [
  'organisation',
  'merchant',
  'mode',
  'audit',
  'gateway_timestamp',
  'transaction_type',
  'status',
  'amount_cents',
  'currency',
  'reference',
  'correlation_id',
  'card',
  'card_type',
  'bank_account',
  'response_code',
  'settlement_date',
  'target_audit',
  'acquirer',
] as const satisfies readonly (keyof Outward<ListedTransaction>)[];

export const CSV_HEADER = csvLine(CSV_COLUMNS);

export function csvOf(transactions: readonly ListedTransaction[]): string {
  return csvLines(CSV_COLUMNS, transactions.map(outward));
}

interface DetailRow
  extends Omit<TransactionDetails, 'gatewayTimestamp' | 'decided' | 'bankAccount' | 'nextAttempt'> {
  readonly createdMs: number;
  readonly decidedMs: number | null;
  readonly nextMs: number | null;
  readonly bankAccount: ShownBankAccount | null;
}

/** Everything that an operator may see of its row. */
export interface TransactionDetails {
  readonly organisation: number;
  readonly merchant: number;
  readonly gatewayTimestamp: string;
  readonly audit: number;
  /** Whose request it was. */
  readonly user: string | null;
  readonly transactionType: string;
  readonly status: string;
  readonly gatewayStatusCode: number;
  readonly amountCents: number;
  readonly currency: string;
  readonly reference: string;
  readonly correlationId: string;
  readonly acquirer: string;
  readonly card: string | null;
  readonly cardType: string | null;
  readonly bankAccount: string | null;
  readonly token: number | null;
  readonly responseCode: string | null;
  readonly responseMessage: string | null;
  readonly settlementDate: string | null;
  readonly authorisationCode: string | null;
  readonly targetAudit: number | null;
  readonly completedBy: number | null;
  readonly voidedBy: number | null;
  readonly refundedCents: number;
  /** The first hundred that were done to it. */
  readonly operations: readonly number[];
  /** When it became what it is. */
  readonly decided: string | null;
  /** Of the resolver. */
  readonly attempts: number;
  /** Where it has one to make. */
  readonly nextAttempt: string | null;
  readonly reversing: boolean;
}

const PAGE = 100;
const NARROWING = [
  'status',
  'transactionType',
  'paymentMethod',
  'cardType',
  'lastFour',
  'reference',
  'amountCents',
  'settlementDate',
  'customerId',
  'tokenId',
  'targetAudit',
  'acquirer',
  'responseCode',
  'currency',
] as const satisfies readonly (keyof HistoryFilter)[];

/** The newest first, a page at a time. */
export async function* listTransactions(
  database: Queryable,
  scope: TransactionScope,
  filter: HistoryFilter = {},
): AsyncGenerator<ListedTransaction[]> {
  const { organisationId, merchantIds, modes } = await merchantsOf(database, scope);
  const history = new History({ of: () => database });
  let after: PageEnd | undefined;
  do {
    const nowMs = await gatewayTime(database);
    const page = await history.page({ ...filter, organisationId, merchantIds, limit: PAGE, after, nowMs });
    yield page.items.map((item) => listed(item, modes));
    after = page.end;
  } while (after !== undefined);
}

/** The same for a file, which is in the journal before its first line is written. */
export async function* exportTransactions(
  database: Queryable,
  operator: string,
  scope: TransactionScope,
  filter: HistoryFilter,
  /** Where they go: a file, or a page's address. */
  to: string,
): AsyncGenerator<ListedTransaction[]> {
  const { organisationId, merchantIds } = await merchantsOf(database, scope);
  const [merchantId] = merchantIds.length === 1 ? merchantIds : [];
  await journal(database, {
    actor: operator,
    action: 'transaction.exported',
    organisationId,
    merchantId,
    detail: `to ${to}${narrowedBy(filter)}`,
  });
  yield* listTransactions(database, scope, filter);
}

/** What was typed is not in it, but for the period: somebody may have searched for a card number. */
export function narrowedBy({ fromMs, beforeMs, ...others }: HistoryFilter): string {
  const instant = (ms: number) => new Date(ms).toISOString();
  const narrowed = [
    ...(fromMs === undefined ? [] : [`from ${instant(fromMs)}`]),
    ...(beforeMs === undefined ? [] : [`before ${instant(beforeMs)}`]),
    ...NARROWING.filter((name) => others[name] !== undefined).map((name) => `by ${name}`),
  ];
  return narrowed.map((each) => `, ${each}`).join('');
}

async function merchantsOf(
  database: Queryable,
  { merchant, organisation }: TransactionScope,
): Promise<{ organisationId: OrganisationId; merchantIds: MerchantId[]; modes: Modes }> {
  const values = [merchant ?? null, organisation ?? null, null];
  const { rows } = await database.query<MerchantToList>(MERCHANTS_TO_LIST, values);
  const [first] = rows;
  if (first === undefined) return noMerchant({ merchant, organisation });
  if (rows.some((other) => other.organisation !== first.organisation)) refuse('several_organisations');
  return {
    organisationId: first.organisation,
    merchantIds: rows.map(({ id }) => id),
    modes: modesOf(rows),
  };
}

function noMerchant({ merchant, organisation }: TransactionScope): never {
  if (merchant === undefined) refuse('no_merchants', { organisation });
  return organisation === undefined
    ? refuse('merchant_not_found', { merchant })
    : refuse('merchant_of_another_organisation', { merchant, organisation });
}

/** A row of `MERCHANTS_TO_LIST`. */
export interface MerchantToList {
  readonly organisation: OrganisationId;
  readonly id: MerchantId;
  readonly mode: Mode;
}

type Modes = ReadonlyMap<MerchantId, Mode>;

export function modesOf(merchants: readonly MerchantToList[]): Modes {
  return new Map(merchants.map(({ id, mode }) => [id, mode]));
}

export function listed(transaction: Transaction, modes: Modes): ListedTransaction {
  const { bankAccount } = transaction;
  return {
    organisation: transaction.organisationId,
    merchant: transaction.merchantId,
    mode: modes.get(transaction.merchantId) ?? 'test',
    audit: transaction.audit,
    gatewayTimestamp: sydneyTimestamp(transaction.createdMs),
    transactionType: transaction.transactionType,
    status: transaction.status,
    amountCents: transaction.amountCents,
    currency: transaction.currency,
    reference: transaction.reference,
    correlationId: transaction.correlationId,
    card: transaction.cardMask ?? null,
    cardType: transaction.cardType ?? null,
    bankAccount: bankAccount === undefined ? null : shownAccount(bankAccount),
    responseCode: transaction.responseCode ?? null,
    settlementDate: transaction.settlementDate ?? null,
    targetAudit: transaction.targetAudit ?? null,
    acquirer: transaction.acquirer,
  };
}

export function shownAccount({ bsb, accountNumber }: ShownBankAccount): string {
  return `${bsb} ${accountNumber}`;
}

export async function showTransaction(
  database: Queryable,
  audit: number,
  organisation?: number,
): Promise<TransactionDetails> {
  const { rows } = await database.query<DetailRow>(SHOW_TRANSACTION, [audit, organisation ?? null]);
  const [first, second] = rows;
  if (first === undefined) return refuse('transaction_not_found', { audit });
  if (second !== undefined) {
    refuse('audit_in_several_organisations', {
      audit,
      organisations: rows.map((row) => row.organisation),
    });
  }
  const {
    createdMs,
    decidedMs,
    nextMs,
    bankAccount,
    organisation: ofOrganisation,
    merchant,
    ...rest
  } = first;
  return {
    organisation: ofOrganisation,
    merchant,
    gatewayTimestamp: sydneyTimestamp(createdMs),
    ...rest,
    bankAccount: bankAccount === null ? null : shownAccount(bankAccount),
    decided: decidedMs === null ? null : sydneyTimestamp(decidedMs),
    nextAttempt: nextMs === null ? null : sydneyTimestamp(nextMs),
  };
}
