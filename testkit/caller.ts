// One HTTP request and its result. A missing answer is a result of its own: it says nothing about what happened.
import { randomUUID } from 'node:crypto';
import type { Json } from './bodies.js';

/** Timed out, refused, or lost on the way. */
export class Unanswered extends Error {
  override name = 'Unanswered';
}

export interface Caller {
  /** Undefined while no gateway listens. */
  readonly baseUrl: string | undefined;
  readonly authorization: string;
}

export interface CallRequest {
  readonly correlationId?: string;
  readonly body?: Json;
  readonly timeoutMs?: number;
}

export interface CallAnswer {
  readonly status: number;
  readonly body: Json;
  /** The first error code, if it is an error. */
  readonly code: string | undefined;
  /** The audit that the answer names. */
  readonly audit: number | undefined;
}

export async function call(
  caller: Caller,
  method: string,
  path: string,
  { correlationId, body, timeoutMs = 10_000 }: CallRequest = {},
): Promise<CallAnswer> {
  if (caller.baseUrl === undefined) throw new Unanswered('connection refused');
  let response: Response;
  let text: string;
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
    const { name, cause } = error as Error;
    throw new Unanswered((cause as { code?: string } | undefined)?.code ?? name);
  }
  return answerOf(response.status, response.headers, text);
}

export function answerOf(status: number, headers: Headers, text: string): CallAnswer {
  const content = text === '' ? undefined : JSON.parse(text);
  const location = headers.get('location');
  return {
    status,
    body: content,
    code: content?.errors?.[0]?.error_code,
    audit: content?.audit ?? (location === null ? undefined : Number(location.split('/').at(-1))),
  };
}
