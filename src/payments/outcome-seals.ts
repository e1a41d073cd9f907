// Whether a decided transaction is as the gateway has decided it. Commit B seals each outcome under a key that is not in the database: an
// outcome that was changed there is not acted on, and not shown as one.
import type { Prepared } from '../acquirers/contract.js';
import type { Queryable } from '../postgres/database.js';
import type { Audit } from '../values/ids.js';
import type { DataKeys, Place } from '../vault/keys/keys.js';
import { TARGET_AND_OPERATIONS } from './outcome-seals.sql.js';
import {
  attestedWords,
  type DecidedIntent,
  outcomeWords,
  type SealedOutcome,
  type StoredOutcome,
} from './transaction.js';

export function outcomeSealOf(
  keys: DataKeys,
  intent: DecidedIntent,
  outcome: SealedOutcome,
): Promise<Buffer> {
  return keys.attest(outcomeWords(intent, outcome));
}

/** What is in doubt has no seal yet, and what is decided has the seal of its outcome. */
export async function isAsDecided(keys: DataKeys, stored: StoredOutcome): Promise<boolean> {
  const { status, outcomeSeal } = stored;
  // guard(doubt: what has an outcome is not in doubt): return outcomeSeal === null ⇒ return true
  if (status === 'unknown') return outcomeSeal === null;
  // guard(seal of an outcome: without one nothing is decided): if (outcomeSeal === null) return false ⇒ if (outcomeSeal === null) return true
  if (outcomeSeal === null) return false;
  // guard(seal of an outcome: has to fit): keys.hasAttested(outcomeWords(stored, stored), Buffer.from(outcomeSeal, 'base64')) ⇒ true
  return keys.hasAttested(outcomeWords(stored, stored), Buffer.from(outcomeSeal, 'base64'));
}

/** What a transaction that is decided already becomes: direct debits clear, and come back. */
interface Next {
  readonly stored: StoredOutcome;
  readonly next: SealedOutcome;
}

/** With the seals of what they become. Those that somebody has changed are reported, and not sealed. */
export async function sealedNext<Each extends Next>(
  keys: DataKeys,
  all: readonly Each[],
): Promise<{ sealed: (Each & { readonly outcomeSeal: Buffer })[]; changed: Each[] }> {
  const sealed = [];
  const changed = [];
  for (const each of all) {
    const { stored, next } = each;
    // guard(direct debit: what was changed neither clears nor comes back): await isAsDecided(keys, stored) ⇒ true
    if (await isAsDecided(keys, stored)) {
      sealed.push({ ...each, outcomeSeal: await outcomeSealOf(keys, stored, next) });
    } else {
      keys.broken(outcomePlace(stored));
      changed.push(each);
    }
  }
  return { sealed, changed };
}

/** An operation on an earlier transaction, as its row says, with what was attested when it was asked for. */
type AskedOfTarget = Omit<StoredOutcome, 'targetAudit'> & {
  readonly targetAudit: Audit;
  readonly prepared: Prepared;
  readonly attestation: Buffer | null;
};

/** Whether target, amount and what the link has prepared are as they were asked for. */
export async function isAsAsked(keys: DataKeys, row: AskedOfTarget): Promise<boolean> {
  const { transactionType, amountCents, currency, attestation } = row;
  if (attestation === null) return false;
  // A void has no amount.
  const amount = transactionType === 'void' ? {} : { amountCents, currency };
  const { organisationId, merchantId, audit, targetAudit, prepared } = row;
  const asked = { organisationId, merchantId, audit, transactionType, targetAudit, prepared, ...amount };
  return keys.hasAttested(attestedWords(asked), attestation);
}

/** For reports of a transaction that is not as the gateway has left it. */
export function outcomePlace({
  organisationId,
  merchantId,
  audit,
}: Pick<DecidedIntent, 'organisationId' | 'merchantId' | 'audit'>): Place {
  return { table: 'transaction', organisationId, merchantId, row: audit, field: 'outcome', says: '' };
}

/** An operation on an earlier transaction, with that transaction and everything that was ever asked of it. */
export interface OnTarget {
  readonly audit: number;
  readonly transactionType: 'completion' | 'refund' | 'void';
  readonly amountCents: number;
  readonly currency: string;
  readonly acquirer: string;
  readonly target: StoredOutcome;
  /** May have the operation itself. */
  readonly operations: readonly StoredOutcome[];
}

/** A target and what was ever asked of it, as they are now. */
export async function targetAndOperations(
  database: Queryable,
  {
    organisationId,
    merchantId,
    targetAudit,
  }: Pick<StoredOutcome, 'organisationId' | 'merchantId' | 'targetAudit'>,
): Promise<Pick<OnTarget, 'target' | 'operations'> | undefined> {
  type Row = Pick<OnTarget, 'target' | 'operations'>;
  return (await database.query<Row>(TARGET_AND_OPERATIONS, [organisationId, targetAudit, merchantId]))
    .rows[0];
}

/**
 * The transaction among these that is not as the gateway has left it; undefined if the operation is covered. Counters are not believed:
 * the operations on the target say what is left of it.
 */
export async function findUnsound(keys: DataKeys, asked: OnTarget): Promise<StoredOutcome | undefined> {
  const { target } = asked;
  // guard(target: decided as its seal says): target.status === 'unknown' || !(await isAsDecided(keys, target)) ⇒ false
  if (target.status === 'unknown' || !(await isAsDecided(keys, target))) return target;
  // guard(target: its own link is asked): asked.acquirer !== target.acquirer || ⇒
  if (asked.acquirer !== target.acquirer || asked.currency !== target.currency) return target;
  const others = asked.operations.filter(({ audit }) => audit !== asked.audit);
  for (const other of others) {
    // guard(target: operations on it that were changed do not count as failed): if (!(await isAsDecided(keys, other))) return other; ⇒
    if (!(await isAsDecided(keys, other))) return other;
  }
  return covers(target, others.filter(isLive), asked) ? undefined : target;
}

function isLive({ status }: StoredOutcome): boolean {
  return status === 'unknown' || status === 'pending' || status === 'approved';
}

function covers(target: StoredOutcome, live: readonly StoredOutcome[], asked: OnTarget): boolean {
  switch (asked.transactionType) {
    case 'void':
      return live.length === 0 && asked.amountCents === target.amountCents;
    case 'completion':
      return live.length === 0 && asked.amountCents <= target.amountCents;
    case 'refund': {
      // guard(target: no refund of what a void has undone): if (live.some(({ transactionType }) => transactionType !== 'refund')) return false; ⇒
      if (live.some(({ transactionType }) => transactionType !== 'refund')) return false;
      // guard(target: no refund of what a void has undone): live.reduce( ⇒ live.filter(({ transactionType }) => transactionType === 'refund').reduce(
      const refundedCents = live.reduce((sum, { amountCents }) => sum + amountCents, 0);
      // guard(target: refunds that are there count, whatever the counter says): refundedCents + ⇒
      return refundedCents + asked.amountCents <= target.amountCents;
    }
  }
}
