// What becomes of a date by the payments that were made for it: it is paid, waits, is tried again, or has failed.
import { forbidsRetry } from '../payments/decline-advice.js';
import type { Transaction } from '../payments/transaction.js';
import { addDays, sydneyDate, sydneyInstant } from '../values/time.js';
import { payDay, type Terms } from './schedule.js';

export type Verdict =
  | { readonly kind: 'paid' }
  /** A direct debit that the bank may still send back. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'in doubt' }
  | { readonly kind: 'again'; readonly atMs: number; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** So many days after the first payment of a date it is tried again. */
export const RETRY_DAYS = [1, 3, 7] as const;
const MINUTE_MS = 60_000;
/** What was not sent, or came to nothing at the acquirer, is tried again the same day. After the last pause it counts as declined. */
const ERROR_PAUSES_MS = [10, 30, 60, 120, 240, 480].map((minutes) => minutes * MINUTE_MS);

/** Of direct debits: invalid BSB, payment stopped, account closed, customer deceased, no account, deleted, invalid user ID. */
const NEVER_RETURNED_AGAIN = ['1', '2', '3', '4', '5', '7', '8'];

type Paid = Pick<Transaction, 'status' | 'responseCode' | 'bankAccount' | 'createdMs'>;

/** `made`: every payment of a date, the first one first. `refusals`: how often the gateway itself has refused since the last one. */
export function verdictOf(
  made: readonly Paid[],
  terms: Pick<Terms, 'method'>,
  { nowMs, refusals = 0, refusal = '' }: { nowMs: number; refusals?: number; refusal?: string },
): Verdict {
  const last = made.at(-1);
  if (last !== undefined && refusals === 0) {
    // A voided payment was one: the merchant has taken it back.
    if (last.status === 'approved' || last.status === 'voided') return { kind: 'paid' };
    if (last.status === 'pending') return { kind: 'pending' };
    // guard(schedule: what is in doubt is not paid again): if (last.status === 'unknown') return { kind: 'in doubt' }; ⇒
    if (last.status === 'unknown') return { kind: 'in doubt' };
    // guard(schedule: what may not be tried again is not): if (isFinal(last)) return { kind: 'failed', reason: reasonOf(last) }; ⇒
    if (isFinal(last)) return { kind: 'failed', reason: reasonOf(last) };
  }
  const reason = refusals > 0 ? refusal : last === undefined ? refusal : reasonOf(last);
  const { tries, errors } = counted([...made.map(({ status }) => status), ...Array(refusals).fill('error')]);
  const pauseMs = ERROR_PAUSES_MS[errors - 1];
  if (pauseMs !== undefined) return { kind: 'again', atMs: nowMs + pauseMs, reason };
  const days = RETRY_DAYS[tries - 1];
  // guard(schedule: tried four times, and no more): days === undefined ⇒ tries > 1_000
  if (days === undefined) return { kind: 'failed', reason };
  const first = sydneyDate(made[0]?.createdMs ?? nowMs);
  const tomorrow = addDays(sydneyDate(nowMs), 1);
  const planned = addDays(first, days ?? 1);
  const day = payDay(terms, planned > tomorrow ? planned : tomorrow);
  return { kind: 'again', atMs: sydneyInstant(day, '00:00'), reason };
}

/** How often it was tried, and how often something else than a decline came of it since. */
function counted(statuses: readonly string[]): { tries: number; errors: number } {
  let tries = 0;
  let errors = 0;
  for (const status of statuses) {
    errors = status === 'error' ? errors + 1 : 0;
    if (status !== 'error' || errors > ERROR_PAUSES_MS.length) {
      tries += 1;
      errors = 0;
    }
  }
  return { tries, errors };
}

function isFinal({ status, bankAccount, responseCode = '' }: Paid): boolean {
  if (status !== 'declined') return false;
  return bankAccount === undefined ? forbidsRetry(responseCode) : NEVER_RETURNED_AGAIN.includes(responseCode);
}

function reasonOf({ status, responseCode, bankAccount }: Paid): string {
  if (status !== 'declined') return 'acquirer_error';
  return `${bankAccount === undefined ? 'declined' : 'returned'}_${responseCode ?? ''}`;
}
