// What an acquirer's answer makes of a transaction.
import type { AcquirerResponse, Answer, Decision } from '../acquirers/contract.js';
import { settlementCutOff, settlementDay } from '../values/settlement.js';
import { GATEWAY_STATUS, type Outcome } from './transaction.js';

export type Decided = Exclude<Answer, { kind: 'unknown' }>;

export function outcomeOf(answer: Decided, nowMs: number): Outcome {
  switch (answer.kind) {
    case 'approved': {
      const response = responseOf(answer);
      const settlementDate = response.settlementDate ?? settlementDay(nowMs);
      return {
        ...response,
        status: 'approved',
        gatewayStatusCode: GATEWAY_STATUS.processed,
        settlementDate,
        voidableUntilMs: settlementCutOff(settlementDate),
      };
    }
    case 'pending': {
      // The day's file is made when the day closes: until then it can be voided.
      const voidableUntilMs = settlementCutOff(settlementDay(nowMs));
      return { status: 'pending', gatewayStatusCode: GATEWAY_STATUS.processed, voidableUntilMs };
    }
    case 'declined':
      return { ...responseOf(answer), status: 'declined', gatewayStatusCode: GATEWAY_STATUS.processed };
    case 'faulty':
      return { ...responseOf(answer), status: 'error', gatewayStatusCode: GATEWAY_STATUS.acquirerFault };
    case 'not_sent':
      return { status: 'error', gatewayStatusCode: GATEWAY_STATUS.notSent };
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/g;

/**
 * The acquirer's words as they can be stored: without control characters, since columns of texts are told apart by
 * one, and without a settlement date that is not in the calendar.
 */
function responseOf({ kind: _, settlementDate, ...texts }: Decision): AcquirerResponse {
  const printable = Object.entries(texts).map(([name, text]) => [name, text.replace(CONTROL, '')]);
  return {
    ...(Object.fromEntries(printable) as typeof texts),
    ...(settlementDate !== undefined && isDate(settlementDate) && { settlementDate }),
  };
}

function isDate(text: string): boolean {
  const midnight = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().slice(0, 10) === text;
}

/** The acquirer could not confirm it, and has undone whatever it may have done. */
export const REVERSED: Outcome = { status: 'error', gatewayStatusCode: GATEWAY_STATUS.reversed };
