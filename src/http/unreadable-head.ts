// Finds the correlation ID in bytes that no parser could read as a request.
import { returnable } from '../api/request-context.js';

const REQUEST_LINE = /^(?:\r\n)*[A-Z]+ \S+ HTTP\/[^\r\n]*\r\n/;
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
