// What Fastify and Node report about requests and connections, as problems of the interface.

import { type ProblemCode, type RefusedRequest, refused } from '../api/problems.js';
import { refusalOf } from '../api/refusals.js';

const PROBLEM_OF: Readonly<Record<string, ProblemCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_BAD_URL: 'malformed_request',
  FST_ERR_MAX_PARAM_LENGTH: 'route_not_found',
  ECONNRESET: 'malformed_request',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_INVALID_VERSION: 'http_version_not_supported',
  HPE_PAUSED_H2_UPGRADE: 'http_version_not_supported',
};

/** Anything that was thrown on the way of a request. What nobody foresaw is an internal error. */
export function refusalOfRequest(error: unknown): RefusedRequest {
  return refusalOf(error, false) ?? reported(error as { code?: string }, 'internal_error');
}

/** For what came on a connection and is no request, or none that could be read. */
export function refusalOfConnection(error: { code?: string }): RefusedRequest {
  return refusalOf(error, false) ?? reported(error, 'malformed_request');
}

function reported({ code }: { code?: string }, otherwise: ProblemCode): RefusedRequest {
  return refused((code !== undefined && PROBLEM_OF[code]) || otherwise);
}
