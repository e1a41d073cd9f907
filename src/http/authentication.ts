// Who is calling: HTTP Basic credentials, with TLS the client's certificate, and how many requests their user may send.
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { type RefusedRequest, refused } from '../api/problems.js';
import { amongTestMerchants, type Caller, type Callers } from '../organisations/users/callers.js';
import {
  type ShownCertificate,
  shownCertificate,
  shownFingerprint,
} from '../organisations/users/client-certificate.js';
import { containsCardNumber } from '../values/card.js';
import type { Networks } from '../values/network.js';
import { isRestricted } from '../values/text.js';
import type { FailedLogIns } from './admission/failed-log-ins.js';
import type { RateLimit } from './admission/rate-limit.js';
import type { ClientAddresses } from './client-address.js';
import { clientCertificate } from './tls/tls.js';

export interface AuthenticationServices {
  readonly callers: Callers;
  readonly rateLimit: RateLimit;
  readonly failedLogIns: FailedLogIns;
  readonly clientAddresses: ClientAddresses;
}

/** A client that sends it cannot reach a live merchant, whatever its user may do. Whatever it says: nobody sends it to mean no. */
const TEST_ONLY_HEADER = 'x-test-only';

/** On the connection, where the same credentials come with every request: a digest costs more than to compare two texts. */
const LATEST = Symbol('credentials that came last');

type Socket = IncomingMessage['socket'] & { [LATEST]?: { readonly sent: string; readonly digest: string } };

/** A digest of what the request says who it is: to know credentials again without keeping them beyond the connection. */
export function credentialsOf(request: IncomingMessage): string {
  const sent = request.headers.authorization;
  if (sent === undefined) return '';
  const socket = request.socket as Socket;
  const latest = socket[LATEST];
  if (latest?.sent === sent) return latest.digest;
  // The certificate belongs to them, and is the connection's.
  // guard(client certificates: credentials that were right with it are known with it only): fingerprint256 ? ⇒ fingerprint256.slice(95) ?
  const digest = hash('sha256', `${sent}\n${clientCertificate(request)?.fingerprint256 ?? ''}`, 'base64');
  socket[LATEST] = { sent, digest };
  return digest;
}

/** The caller, if its credentials were proved a moment ago, as nearly all were: nothing has to be waited for. */
export function knownCaller(services: AuthenticationServices, { raw }: FastifyRequest): Caller | undefined {
  const caller = services.callers.known(credentialsOf(raw));
  return caller && admitted(services, caller, raw);
}

function certificateOf(request: FastifyRequest): ShownCertificate | undefined {
  const certificate = clientCertificate(request.raw);
  return certificate && shownCertificate(certificate);
}

/** The caller, or nobody if the credentials are wrong. */
export async function provenCaller(
  services: AuthenticationServices,
  request: FastifyRequest,
): Promise<Caller | undefined> {
  const caller = await prove(services.callers, credentialsOf(request.raw), request);
  return caller && admitted(services, caller, request.raw);
}

/** Refused before the body is read: too many, or from where it may not call. Nearly all users may call from everywhere. */
function admitted(services: AuthenticationServices, caller: Caller, request: IncomingMessage): Caller {
  const { username, networks } = caller;
  // guard(callers: only from networks that they were given): ) ⇒ && username === '')
  if (networks !== undefined) refuseFromElsewhere(services, username, networks, request);
  if (!services.rateLimit.allows(username)) throw refused('too_many_requests');
  // guard(caller: with X-Test-Only no live merchant): request.headers[TEST_ONLY_HEADER] === undefined ? caller : amongTestMerchants(caller) ⇒ caller
  return request.headers[TEST_ONLY_HEADER] === undefined ? caller : amongTestMerchants(caller);
}

function refuseFromElsewhere(
  { clientAddresses, failedLogIns }: AuthenticationServices,
  username: string,
  networks: Networks,
  request: IncomingMessage,
): void {
  const address = clientAddresses.of(request);
  if (networks.has(address)) return;
  failedLogIns.noteElsewhere(username, address);
  throw refused('operation_not_permitted');
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
  return callers.authenticate(credentials, {
    username: possible ? username : '',
    secret,
    certificate: certificateOf(request),
  });
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
  { failedLogIns, clientAddresses }: AuthenticationServices,
  request: FastifyRequest,
): Promise<RefusedRequest> {
  const { username } = basicCredentials(request);
  const certificate = certificateOf(request);
  await failedLogIns.turn({
    username,
    address: clientAddresses.of(request.raw),
    certificate: certificate && shownFingerprint(certificate.fingerprint),
  });
  return refused('unauthenticated', ['header', 'Authorization']);
}
