// Who is calling: HTTP Basic credentials, and how many requests their user may send.
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { type RefusedRequest, refused } from '../api/problems.js';
import type { Caller, Callers } from '../merchants/callers.js';
import { containsCardNumber } from '../values/card-in-text.js';
import { isRestricted } from '../values/text.js';
import type { FailedLogIns } from './failed-log-ins.js';
import type { RateLimit } from './rate-limit.js';

export interface AuthenticationServices {
  readonly callers: Callers;
  readonly rateLimit: RateLimit;
  readonly failedLogIns: FailedLogIns;
}

/** On the connection, where the same credentials come with every request: a digest costs more than to compare two texts. */
const LATEST = Symbol('credentials that came last');

type Socket = IncomingMessage['socket'] & { [LATEST]?: { readonly sent: string; readonly digest: string } };

/** A digest of what the request says who it is: to know credentials again without keeping them beyond the connection. */
export function credentialsOf({ headers, socket }: IncomingMessage): string {
  const sent = headers.authorization;
  if (sent === undefined) return '';
  const latest = (socket as Socket)[LATEST];
  if (latest?.sent === sent) return latest.digest;
  const digest = hash('sha256', sent, 'base64');
  (socket as Socket)[LATEST] = { sent, digest };
  return digest;
}

/** The caller, if its credentials were proved a moment ago, as nearly all were: nothing has to be waited for. */
export function knownCaller(
  { callers, rateLimit }: AuthenticationServices,
  { raw }: FastifyRequest,
): Caller | undefined {
  const caller = callers.known(credentialsOf(raw));
  return caller && within(rateLimit, caller);
}

/** The caller, or nobody if the credentials are wrong. */
export async function provenCaller(
  { callers, rateLimit }: AuthenticationServices,
  request: FastifyRequest,
): Promise<Caller | undefined> {
  const caller = await prove(callers, credentialsOf(request.raw), request);
  return caller && within(rateLimit, caller);
}

function within(rateLimit: RateLimit, caller: Caller): Caller {
  if (!rateLimit.allows(caller.username)) throw refused('too_many_requests');
  return caller;
}

async function prove(
  callers: Callers,
  credentials: string,
  request: FastifyRequest,
): Promise<Caller | undefined> {
  const { username, secret } = basicCredentials(request);
  if (username === undefined) return undefined;
  // A name that no user can have is looked for like any other, but never reaches the database as it is.
  const possible = isRestricted(username) && !containsCardNumber(username);
  return callers.authenticate(credentials, possible ? username : '', secret);
}

function basicCredentials({ headers }: FastifyRequest): { username?: string; secret: string } {
  const [, encoded = ''] = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(headers.authorization ?? '') ?? [];
  if (encoded === '') return { secret: '' };
  const bytes = Buffer.from(encoded, 'base64');
  const decoded = bytes.toString('utf8');
  bytes.fill(0);
  const colon = decoded.indexOf(':');
  return { username: decoded.slice(0, Math.max(colon, 0)), secret: decoded.slice(colon + 1) };
}

/** The refusal of wrong credentials, when its time has come. */
export async function refusedLogIn(
  { failedLogIns }: AuthenticationServices,
  request: FastifyRequest,
): Promise<RefusedRequest> {
  const { username } = basicCredentials(request);
  await failedLogIns.turn(username, request.ip);
  return refused('unauthenticated', ['header', 'Authorization']);
}
