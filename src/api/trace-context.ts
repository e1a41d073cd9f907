// The header `traceparent` of W3C Trace Context: which trace a request belongs to. One that is malformed is as good as none.
import { containsCardNumber } from '../values/card.js';
import { Trace } from '../values/trace.js';

export const TRACE_HEADER = 'traceparent';

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,400})?$/;
const NO_VERSION = 'ff';
const ZEROS = /^0+$/;
const DIGITS = /^[0-9]+$/;
const SAMPLED = 1;

/** `wanted`: whether somebody takes the steps of requests whose client wants them to be seen. */
export function traceOf(sent: string | string[] | undefined, wanted: boolean): Trace | undefined {
  if (typeof sent !== 'string') return undefined;
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(sent) ?? [];
  // guard(traces: a malformed header is ignored): version === NO_VERSION || (version === '00' && more !== undefined) ⇒ false
  if (version === undefined || version === NO_VERSION || (version === '00' && more !== undefined))
    return undefined;
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return undefined;
  // It comes into the log. What is drawn by chance has letters in it.
  // guard(traces: no card number comes into the log as a trace ID): if (DIGITS.test(traceId) || containsCardNumber(traceId)) return undefined; ⇒
  if (DIGITS.test(traceId) || containsCardNumber(traceId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  // guard(traces: only requests whose client wants it are sent): && isSampled ⇒
  return new Trace(traceId, parentId, wanted && isSampled);
}
