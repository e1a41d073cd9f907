// Who is calling: HTTP Basic credentials, and how many requests their user may send.
import type { FastifyRequest } from 'fastify';
import type { Caller, Callers } from '../merchants/callers.js';
import { fault } from '../values/faults.js';
import { isRestricted } from '../values/text.js';
import type { RateLimit } from './rate-limit.js';

export interface AuthenticationServices {
  readonly callers: Callers;
  readonly rateLimit: RateLimit;
}

export async function authenticated(
  { callers, rateLimit }: AuthenticationServices,
  request: FastifyRequest,
): Promise<Caller> {
  const [, encoded = ''] = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(request.headers.authorization ?? '') ?? [];
  if (encoded === '') throw fault('unauthenticated', ['header', 'Authorization']);
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  const username = decoded.slice(0, Math.max(colon, 0));
  // A name that no user can have is looked for like any other, but never reaches the database as it is.
  const caller = await callers.authenticate(isRestricted(username) ? username : '', decoded.slice(colon + 1));
  if (caller === undefined) throw fault('unauthenticated', ['header', 'Authorization']);
  if (!rateLimit.allows(username)) throw fault('too_many_requests');
  return caller;
}
