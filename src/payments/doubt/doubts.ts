// Transactions in doubt, as operators see them: since when, what was tried, what comes next. Operators can also have the
// acquirer asked at once.
import { journal } from '../../journal/journal.js';
import { checkMerchant } from '../../organisations/merchants.js';
import type { Queryable } from '../../postgres/database.js';
import type { Audit, MerchantId, OrganisationId } from '../../values/ids.js';
import type { Mode } from '../../values/mode.js';
import { refuse } from '../../values/refusal.js';
import { sydneyTimestamp } from '../../values/time.js';
import { showTransaction, type TransactionScope } from '../finding/listed-transactions.js';
import { IN_DOUBT } from '../finding/listed-transactions.sql.js';
import { makeDue } from './resolver.js';

interface DoubtRow extends Omit<Doubt, 'since' | 'nextAttempt'> {
  readonly createdMs: number;
  readonly nextMs: number | null;
}

export interface Doubt {
  readonly organisation: number;
  readonly merchant: number;
  readonly audit: number;
  /** When the transaction was created. */
  readonly since: string;
  readonly transactionType: string;
  readonly amountCents: number;
  readonly currency: string;
  readonly acquirer: string;
  readonly reference: string;
  /** `under way`: its own process is asking. Otherwise the resolver is in charge. */
  readonly state: 'under way' | 'waiting' | 'inquiring' | 'reversing';
  readonly attempts: number;
  readonly nextAttempt: string | null;
  readonly process: number | null;
}

export interface AskedNow {
  readonly organisation: number;
  readonly merchant: number;
  readonly audit: number;
  /** Whether the next attempt was made due. If not, one is under way or will be within a few deadlines. */
  readonly asked: boolean;
  readonly attempts: number;
  readonly nextAttempt: string | null;
}

/** The resolver of a gateway asks at its next run. Nothing else changes. */
export async function askNow(
  database: Queryable,
  operator: string,
  deadlineMs: number,
  { audit, organisation }: { readonly audit: number; readonly organisation?: number | undefined },
): Promise<AskedNow> {
  return database.transaction(async (connection) => {
    const before = await showTransaction(connection, audit, organisation);
    if (before.status !== 'unknown') refuse('transaction_decided', { audit, status: before.status ?? '' });
    if (before.nextAttempt === null) refuse('transaction_under_way', { audit });
    const about = {
      organisationId: before.organisation as OrganisationId,
      merchantId: before.merchant as MerchantId,
      audit: before.audit as Audit,
    };
    const asked = await makeDue(connection, about.organisationId, about.audit, deadlineMs);
    if (asked) await journal(connection, { actor: operator, action: 'transaction.ask_now', ...about });
    const after = await showTransaction(connection, audit, before.organisation);
    const { attempts = 0, nextAttempt = null } = after;
    return {
      organisation: before.organisation,
      merchant: before.merchant,
      audit,
      asked,
      attempts,
      nextAttempt,
    };
  });
}

/** Oldest first. */
export async function listDoubts(
  database: Queryable,
  {
    merchant,
    organisation,
    mode,
    limit,
  }: TransactionScope & { readonly mode?: Mode | undefined; readonly limit: number },
): Promise<Doubt[]> {
  await checkMerchant(database, merchant);
  const { rows } = await database.query<DoubtRow>(IN_DOUBT, [
    merchant ?? null,
    limit,
    organisation ?? null,
    mode ?? null,
  ]);
  return rows.map(({ createdMs, nextMs, state, attempts, process, ...rest }) => ({
    since: sydneyTimestamp(createdMs),
    ...rest,
    state,
    attempts,
    nextAttempt: nextMs === null ? null : sydneyTimestamp(nextMs),
    process,
  }));
}
