// Refuses what there is no room for, before the framework has looked at it: to refuse must cost next to nothing, or there is
// no room left for what was accepted.
import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { containsCardNumber } from '../values/card.js';
import { fault } from '../values/faults.js';
import { isCorrelationId } from '../values/text.js';
import { faultResponse } from './faults.js';
import { BASE_PATH } from './hal.js';

/** One line of the log for all that were refused within this time. */
const TELL_EVERY_MS = 1_000;

/** Every POST below it creates a transaction. */
const CREATING = `${BASE_PATH}/transactions`;

export function sheddingOverload(handle: RequestListener, full: () => boolean, log: Logger): RequestListener {
  const { status, headers, body } = faultResponse(fault('not_processed'));
  const text = JSON.stringify(body);
  const constant = {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(text.length),
  };
  let refused = 0;
  const tell = () => {
    log.warn({ refused }, 'refused for want of room');
    refused = 0;
  };
  return (request, response) => {
    if (request.method !== 'POST' || !full() || !request.url?.startsWith(CREATING)) {
      handle(request, response);
      return;
    }
    if (refused === 0) setTimeout(tell, TELL_EVERY_MS).unref();
    refused += 1;
    const sent = request.headers['x-correlation-id'];
    const known = typeof sent === 'string' && isCorrelationId(sent) && !containsCardNumber(sent);
    response.writeHead(status, known ? { ...constant, 'x-correlation-id': sent } : constant).end(text);
  };
}
