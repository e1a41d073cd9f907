// Why a claim was not granted, in the order in which a client needs to know.
import { type Fault, fault } from '../values/faults.js';
import type { TargetedCommand } from './command.js';
import { completableCents, refundableCents, type Transaction, voidable } from './transaction.js';

const AUDIT = ['path', 'audit'] as const;
const AMOUNT = ['body', 'transaction', 'amount_details', 'total_amount'] as const;
const CURRENCY = ['body', 'transaction', 'amount_details', 'currency'] as const;

/** Undefined when the target would allow it now: it changed since. */
export function refusalByTarget(
  command: TargetedCommand,
  target: Transaction | undefined,
  nowMs: number,
): Fault | undefined {
  if (target === undefined) return fault('transaction_not_found', AUDIT);
  switch (command.operation) {
    case 'completion': {
      const left = completableCents(target, nowMs);
      if (left === undefined) return fault('target_not_completable', AUDIT);
      if (command.currency !== target.currency) return fault('target_not_completable', CURRENCY);
      return command.amountCents > target.amountCents
        ? fault('completion_exceeds_preauthorisation', AMOUNT)
        : undefined;
    }
    case 'refund': {
      const left = refundableCents(target);
      if (left === undefined) {
        // Refunded in full is still a matter of the amount.
        const usedUp = target.status === 'approved' && target.refundedCents === target.amountCents;
        return usedUp ? fault('refund_exceeds_original', AMOUNT) : fault('target_not_refundable', AUDIT);
      }
      if (command.currency !== target.currency) return fault('target_not_refundable', CURRENCY);
      return command.amountCents > left ? fault('refund_exceeds_original', AMOUNT) : undefined;
    }
    case 'void':
      return voidable(target, nowMs) ? undefined : fault('target_not_voidable', AUDIT);
  }
}
