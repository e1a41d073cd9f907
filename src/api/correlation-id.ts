// The correlation ID of a request: which one an answer may repeat, and what can be wrong with one.
import { containsCardNumber } from '../values/card.js';
import { isCorrelationId } from '../values/text.js';
import { placeOf } from './places.js';
import { type Problem, problem } from './problems.js';
import { CorrelationId } from './schemas.js';
import { checker } from './validation.js';

export const CORRELATION_HEADER = 'x-correlation-id';

/** What was sent, if it is well-formed. One with a card number in it is refused, and must not come as far as the log. */
export function returnable(sent: string | string[] | undefined): string | undefined {
  return typeof sent === 'string' && isCorrelationId(sent) && !containsCardNumber(sent) ? sent : undefined;
}

const check = checker('header', CorrelationId);

/** Of a request from which no correlation ID could be taken. */
export function correlationIdProblems(headers: Readonly<Record<string, unknown>>): Problem[] {
  const sent = headers[CORRELATION_HEADER];
  const problems = sent === undefined ? [problem('field_missing')] : check(sent);
  return problems.map(({ code, message }) => problem(code, placeOf('correlation ID', false), message));
}
