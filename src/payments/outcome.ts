// What an acquirer's answer makes of a transaction.
import type { AcquirerResponse, Answer, Decision } from '../acquirers/contract.js';
import { settlementCutOff, settlementDay } from '../values/time.js';
import { GATEWAY_STATUS, type Intent, type Outcome } from './transaction.js';

export type Decided = Exclude<Answer, { kind: 'unknown' }>;

/** Until when it can be voided is decided here, for claims, links and refusals alike: they look at what is stored. */
export function outcomeOf(
  answer: Decided,
  nowMs: number,
  { completableUntilMs }: Pick<Intent, 'completableUntilMs'> = {},
): Outcome {
  switch (answer.kind) {
    case 'approved': {
      const response = responseOf(answer);
      const settlementDate = response.settlementDate ?? settlementDay(nowMs);
      return {
        status: 'approved',
        gatewayStatusCode: GATEWAY_STATUS.processed,
        // A hold can be released for as long as it can be completed; nothing of it settles.
        voidableUntilMs: completableUntilMs ?? settlementCutOff(settlementDate),
        ...response,
        settlementDate,
      };
    }
    case 'pending': {
      // The day's file is made when the day closes: until then it can be voided.
      const voidableUntilMs = settlementCutOff(settlementDay(nowMs));
      return { status: 'pending', gatewayStatusCode: GATEWAY_STATUS.processed, voidableUntilMs };
    }
    case 'declined':
      return { status: 'declined', gatewayStatusCode: GATEWAY_STATUS.processed, ...responseOf(answer) };
    case 'faulty':
      return { status: 'error', gatewayStatusCode: GATEWAY_STATUS.acquirerFault, ...responseOf(answer) };
    case 'not_sent':
      return NOT_SENT;
  }
}

/** Undefined where nothing can be made of the answer: the money may have moved, and somebody has to find out. */
export function readableOutcome(...answered: Parameters<typeof outcomeOf>): Outcome | undefined {
  try {
    return outcomeOf(...answered);
  } catch {
    return undefined;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/g;

/** The acquirer's words without a settlement date that is not in the calendar. */
function responseOf(decision: Decision): AcquirerResponse {
  const { authorisationCode, preauthorisationCode, settlementDate } = decision;
  return {
    responseCode: printable(decision.responseCode),
    responseMessage: printable(decision.responseMessage),
    ...(authorisationCode !== undefined && { authorisationCode: printable(authorisationCode) }),
    ...(preauthorisationCode !== undefined && { preauthorisationCode: printable(preauthorisationCode) }),
    ...(settlementDate !== undefined && isDate(settlementDate) && { settlementDate }),
  };
}

/** Without control characters, since columns of texts are told apart by one. */
function printable(text: string): string {
  return text.replace(CONTROL, '');
}

function isDate(text: string): boolean {
  const midnight = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().slice(0, 10) === text;
}

/** What is said of a direct debit that nobody has returned in time. */
export const CLEARED = { responseCode: '00', responseMessage: 'Cleared' } as const;

/** Nothing has left the gateway. */
export const NOT_SENT: Outcome = { status: 'error', gatewayStatusCode: GATEWAY_STATUS.notSent };

/** The acquirer could not confirm it, and has undone whatever it may have done. */
export const REVERSED: Outcome = { status: 'error', gatewayStatusCode: GATEWAY_STATUS.reversed };
