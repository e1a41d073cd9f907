// Which correlation ID an answer may repeat, also where the framework never saw the request.
import { containsCardNumber } from '../values/card.js';
import { isCorrelationId } from '../values/text.js';

export const CORRELATION_HEADER = 'x-correlation-id';

/** What was sent, if it is well-formed. One with a card number in it is refused, and must not come as far as the log. */
export function returnable(sent: string | string[] | undefined): string | undefined {
  return typeof sent === 'string' && isCorrelationId(sent) && !containsCardNumber(sent) ? sent : undefined;
}

const REQUEST_LINE = /^(?:\r\n)*[A-Z]+ \S+ HTTP\/1\.[01]\r\n/;
const HEADER_LINE = /^x-correlation-id:[ \t]*(.*?)[ \t]*\r\n/gim;
const END_OF_HEAD = '\r\n\r\n';

/**
 * That of a request whose head could not be read, if the packet begins with this head and the trouble is in it: an ID of
 * a request before it would say that that one was refused.
 */
export function correlationIdInHead(packet: Buffer, troubleAt: number): string | undefined {
  const text = packet.toString('latin1');
  const end = text.indexOf(END_OF_HEAD);
  if (!REQUEST_LINE.test(text) || (end !== -1 && troubleAt > end + END_OF_HEAD.length)) return undefined;
  const head = end === -1 ? text : text.slice(0, end + 2);
  const [sent, another] = [...head.matchAll(HEADER_LINE)].map(([, value]) => value);
  return another === undefined ? returnable(sent) : undefined;
}
