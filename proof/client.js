// One request over HTTP and what came of it. No answer is a thing of its own: it says nothing about what happened.
import { randomUUID } from 'node:crypto';

/** Timed out, refused, or lost on the way. */
export class Unanswered extends Error {
  name = 'Unanswered';
}

/**
 * @param {{ baseUrl: string | undefined, authorization: string }} caller without an address: nobody listens there now
 * @param {{ correlationId?: string, body?: unknown, timeoutMs?: number }} [request]
 */
export async function call(caller, method, path, { correlationId, body, timeoutMs = 10_000 } = {}) {
  if (caller.baseUrl === undefined) throw new Unanswered('connection refused');
  let response;
  let text;
  try {
    response = await fetch(caller.baseUrl + path, {
      method,
      headers: {
        authorization: caller.authorization,
        'x-correlation-id': correlationId ?? randomUUID(),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    text = await response.text();
  } catch (error) {
    throw new Unanswered(error.cause?.code ?? error.name);
  }
  const content = text === '' ? undefined : JSON.parse(text);
  const location = response.headers.get('location');
  return {
    status: response.status,
    body: content,
    /** The first error code, if it is an error. */
    code: content?.errors?.[0]?.error_code,
    /** The audit that the answer names. */
    audit: content?.audit ?? (location === null ? undefined : Number(location.split('/').at(-1))),
  };
}
