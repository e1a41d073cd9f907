// A refusal with all of its headers, for what is answered without the framework.
import type { RefusedRequest } from '../api/problems.js';
import { refusalResponse } from '../api/refusals.js';
import { CORRELATION_HEADER } from '../api/request-context.js';
import { JSON_TYPE } from './answers.js';
import type { Refusal } from './one-at-a-time.js';

export function rawRefusal(refusal: RefusedRequest): Refusal {
  const { status, headers, body } = refusalResponse(refusal);
  const text = JSON.stringify(body);
  return {
    status,
    headers: {
      ...headers,
      'cache-control': 'no-store',
      'content-type': JSON_TYPE,
      'content-length': String(text.length),
    },
    text,
  };
}

/** The headers of an answer to a request with this correlation ID, if it has one that may be repeated. */
export function withCorrelationId(headers: Refusal['headers'], id: string | undefined): Refusal['headers'] {
  return id === undefined ? headers : { ...headers, [CORRELATION_HEADER]: id };
}
