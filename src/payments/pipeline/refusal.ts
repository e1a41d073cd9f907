// Why a claim was not granted, in the order in which a client needs to know.
import { type Fault, fault } from '../../values/faults.js';
import {
  COMPLETABLE,
  MOST_COMPLETABLE,
  MOST_REFUNDABLE,
  refundableCents,
  voidable,
} from '../target-rules.js';
import type { Transaction } from '../transaction.js';
import type { TargetedCommand } from './command.js';

/** Undefined when the target would allow it now: it changed since. */
export function refusalByTarget(
  command: TargetedCommand,
  target: Transaction | undefined,
  nowMs: number,
): Fault | undefined {
  if (target === undefined) return fault('transaction_not_found', 'target');
  const { merchant } = command;
  switch (command.operation) {
    case 'completion': {
      if (!COMPLETABLE.allows(target, nowMs, merchant)) return fault('target_not_completable', 'target');
      if (command.currency !== target.currency) return fault('target_not_completable', 'currency');
      return command.amountCents > MOST_COMPLETABLE.cents(target)
        ? fault('completion_exceeds_preauthorisation', 'amount')
        : undefined;
    }
    case 'refund': {
      const left = refundableCents(target, nowMs, merchant);
      if (left === undefined) {
        // Refunded in full is still a matter of the amount.
        const usedUp = target.status === 'approved' && MOST_REFUNDABLE.cents(target) === 0;
        return usedUp ? fault('refund_exceeds_original', 'amount') : fault('target_not_refundable', 'target');
      }
      if (command.currency !== target.currency) return fault('target_not_refundable', 'currency');
      return command.amountCents > left ? fault('refund_exceeds_original', 'amount') : undefined;
    }
    case 'void':
      return voidable(target, nowMs, merchant) ? undefined : fault('target_not_voidable', 'target');
  }
}
