// Why a claim was not granted, in the order in which a client needs to know.
import { type Fault, fault } from '../values/faults.js';
import type { TargetedCommand } from './command.js';
import { completableCents, refundableCents, type Transaction, voidable } from './transaction.js';

/** Undefined when the target would allow it now: it changed since. */
export function refusalByTarget(
  command: TargetedCommand,
  target: Transaction | undefined,
  nowMs: number,
): Fault | undefined {
  if (target === undefined) return fault('transaction_not_found', 'target');
  switch (command.operation) {
    case 'completion': {
      const left = completableCents(target, nowMs);
      if (left === undefined) return fault('target_not_completable', 'target');
      if (command.currency !== target.currency) return fault('target_not_completable', 'currency');
      return command.amountCents > target.amountCents
        ? fault('completion_exceeds_preauthorisation', 'amount')
        : undefined;
    }
    case 'refund': {
      const left = refundableCents(target);
      if (left === undefined) {
        // Refunded in full is still a matter of the amount.
        const usedUp = target.status === 'approved' && target.refundedCents === target.amountCents;
        return usedUp ? fault('refund_exceeds_original', 'amount') : fault('target_not_refundable', 'target');
      }
      if (command.currency !== target.currency) return fault('target_not_refundable', 'currency');
      return command.amountCents > left ? fault('refund_exceeds_original', 'amount') : undefined;
    }
    case 'void':
      return voidable(target, nowMs) ? undefined : fault('target_not_voidable', 'target');
  }
}
