// What an acquirer's answer makes of a transaction.
import type { Answer } from '../acquirers/contract.js';
import { settlementCutOff, settlementDay } from '../values/settlement.js';
import { GATEWAY_STATUS, type Outcome } from './transaction.js';

export type Decided = Exclude<Answer, { kind: 'unknown' }>;

export function outcomeOf(answer: Decided, nowMs: number): Outcome {
  switch (answer.kind) {
    case 'approved': {
      const { kind: _, ...response } = answer;
      const settlementDate = response.settlementDate ?? settlementDay(nowMs);
      return {
        ...response,
        status: 'approved',
        gatewayStatusCode: GATEWAY_STATUS.processed,
        settlementDate,
        voidableUntilMs: settlementCutOff(settlementDate),
      };
    }
    case 'declined': {
      const { kind: _, ...response } = answer;
      return { ...response, status: 'declined', gatewayStatusCode: GATEWAY_STATUS.processed };
    }
    case 'faulty': {
      const { kind: _, ...response } = answer;
      return { ...response, status: 'error', gatewayStatusCode: GATEWAY_STATUS.acquirerFault };
    }
    case 'not_sent':
      return { status: 'error', gatewayStatusCode: GATEWAY_STATUS.notSent };
  }
}

/** The acquirer could not confirm it, and has undone whatever it may have done. */
export const REVERSED: Outcome = { status: 'error', gatewayStatusCode: GATEWAY_STATUS.reversed };
