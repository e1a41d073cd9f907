// Transactions as the operator finds them: listed, one in every detail, and what is in doubt.
import type { Queryable } from '../postgres/database.js';
import { gatewayTime } from '../transactions/gateway-clock.js';
import { History, type HistoryFilter } from '../transactions/history.js';
import type { Transaction } from '../transactions/transaction.js';
import type { ShownBankAccount } from '../values/bank-account.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { PageEnd } from '../values/page.js';
import { refuse } from '../values/refusal.js';
import { sydneyTimestamp } from '../values/sydney.js';
import { IN_DOUBT, MERCHANTS_TO_LIST, SHOW_TRANSACTION } from './transactions.sql.js';

/** Whose transactions: those of one merchant, or of an organisation. */
export interface TransactionScope {
  readonly organisation?: number | undefined;
  readonly merchant?: number | undefined;
}

/** A line of a list. */
export interface ListedTransaction {
  readonly organisation: number;
  readonly merchant: number;
  readonly audit: number;
  readonly gatewayTimestamp: string;
  readonly transactionType: string;
  readonly status: string;
  readonly amountCents: number;
  readonly currency: string;
  readonly reference: string;
  readonly card: string | null;
  readonly cardType: string | null;
  readonly bankAccount: string | null;
  readonly responseCode: string | null;
  readonly settlementDate: string | null;
  readonly targetAudit: number | null;
  readonly acquirer: string;
}

interface DetailRow {
  readonly organisation: number;
  readonly merchant: number;
  readonly audit: number;
  readonly createdMs: number;
  readonly decidedMs: number | null;
  readonly bankAccount: ShownBankAccount | null;
}

export interface TransactionDetails extends Readonly<Record<string, unknown>> {
  readonly organisation: number;
  readonly merchant: number;
  readonly audit: number;
}

interface DoubtRow extends Omit<Doubt, 'since' | 'nextAttempt'> {
  readonly createdMs: number;
  readonly nextMs: number | null;
}

export interface Doubt {
  readonly organisation: number;
  readonly merchant: number;
  readonly audit: number;
  /** When it was made: since then nobody knows. */
  readonly since: string;
  /** Of what is under way, the process is asking; of the rest, the resolver. */
  readonly state: 'under way' | 'waiting' | 'inquiring' | 'reversing';
  readonly attempts: number;
  readonly nextAttempt: string | null;
  readonly process: number | null;
}

const PAGE = 100;

/** The newest first, a page at a time. */
export async function* listTransactions(
  database: Queryable,
  scope: TransactionScope,
  filter: HistoryFilter = {},
): AsyncGenerator<ListedTransaction[]> {
  const { organisationId, merchantIds } = await merchantsOf(database, scope);
  const history = new History({ of: () => database });
  let after: PageEnd | undefined;
  do {
    const nowMs = await gatewayTime(database);
    const page = await history.page({ ...filter, organisationId, merchantIds, limit: PAGE, after, nowMs });
    yield page.items.map(listed);
    after = page.end;
  } while (after !== undefined);
}

async function merchantsOf(
  database: Queryable,
  { merchant, organisation }: TransactionScope,
): Promise<{ organisationId: OrganisationId; merchantIds: MerchantId[] }> {
  const values = [merchant ?? null, organisation ?? null];
  const { rows } = await database.query<{ organisation: OrganisationId; id: MerchantId }>(
    MERCHANTS_TO_LIST,
    values,
  );
  const [first] = rows;
  if (first === undefined) return noMerchant({ merchant, organisation });
  if (rows.some((other) => other.organisation !== first.organisation)) refuse('several_organisations');
  return { organisationId: first.organisation, merchantIds: rows.map(({ id }) => id) };
}

function noMerchant({ merchant, organisation }: TransactionScope): never {
  if (merchant === undefined) refuse('no_merchants', { organisation });
  return organisation === undefined
    ? refuse('merchant_not_found', { merchant })
    : refuse('merchant_of_another_organisation', { merchant, organisation });
}

function listed(transaction: Transaction): ListedTransaction {
  const { bankAccount } = transaction;
  return {
    organisation: transaction.organisationId,
    merchant: transaction.merchantId,
    audit: transaction.audit,
    gatewayTimestamp: sydneyTimestamp(transaction.createdMs),
    transactionType: transaction.transactionType,
    status: transaction.status,
    amountCents: transaction.amountCents,
    currency: transaction.currency,
    reference: transaction.reference,
    card: transaction.cardMask ?? null,
    cardType: transaction.cardType ?? null,
    bankAccount: bankAccount === undefined ? null : shownAccount(bankAccount),
    responseCode: transaction.responseCode ?? null,
    settlementDate: transaction.settlementDate ?? null,
    targetAudit: transaction.targetAudit ?? null,
    acquirer: transaction.acquirer,
  };
}

function shownAccount({ bsb, accountNumber }: ShownBankAccount): string {
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
  const { createdMs, decidedMs, bankAccount, organisation: ofOrganisation, merchant, ...rest } = first;
  return {
    organisation: ofOrganisation,
    merchant,
    gatewayTimestamp: sydneyTimestamp(createdMs),
    ...rest,
    bankAccount: bankAccount === null ? null : shownAccount(bankAccount),
    decided: decidedMs === null ? null : sydneyTimestamp(decidedMs),
  };
}

/** The oldest first. */
export async function listDoubts(
  database: Queryable,
  { merchant, limit }: { readonly merchant?: number | undefined; readonly limit: number },
): Promise<Doubt[]> {
  const { rows } = await database.query<DoubtRow>(IN_DOUBT, [merchant ?? null, limit]);
  return rows.map(({ createdMs, nextMs, state, attempts, process, ...rest }) => ({
    since: sydneyTimestamp(createdMs),
    ...rest,
    state,
    attempts,
    nextAttempt: nextMs === null ? null : sydneyTimestamp(nextMs),
    process,
  }));
}
