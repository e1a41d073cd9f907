// Authentication: HTTP Basic credentials, the client's certificate with TLS, the client's address, rate limits, and the treatment of
// failed log-ins.
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type RefusedRequest, refused, servedAt } from '../api/problems.js';
import { type HostNames, plainHost } from '../organisations/host-names.js';
import {
  amongTestMerchants,
  type Caller,
  type Callers,
  type Client,
} from '../organisations/users/callers.js';
import {
  type ShownCertificate,
  shownCertificate,
  shownFingerprint,
} from '../organisations/users/client-certificate.js';
import type { InFlightRequest } from '../payments/finding/search-fence.js';
import { containsCardNumber } from '../values/card.js';
import { type Networks, plainAddress } from '../values/network.js';
import { isRestricted } from '../values/text.js';
import { secretsWereUsed } from '../values/traces-of-secrets.js';
import type { LogInJournal } from './log-in-journal.js';
import { LogThrottle } from './observability/log-throttle.js';
import { clientCertificate } from './tls.js';

export interface AuthenticationServices {
  readonly callers: Callers;
  readonly hostNames: HostNames;
  readonly rateLimit: RateLimit;
  readonly failedLogIns: FailedLogIns;
  readonly clientAddresses: ClientAddresses;
}

/**
 * A client that sends this header cannot reach live merchants, whatever its user may do. The value does not matter: nobody sends the
 * header to mean no.
 */
const TEST_ONLY_HEADER = 'x-test-only';

/** What a request is about, as far as its first line tells. */
interface Asked {
  /** Whether something is created or changed. */
  readonly writes: boolean;
  /** A request that creates a transaction. */
  readonly inFlight: Pick<InFlightRequest, 'heard'> | undefined;
}

/** Kept on the connection, where every request has the same credentials: comparing two texts is cheaper than a digest. */
const LATEST = Symbol('credentials that came last');

type Socket = IncomingMessage['socket'] & { [LATEST]?: { readonly sent: string; readonly digest: string } };

/** A digest of the request's credentials, to recognise them without keeping them beyond the connection. */
export function credentialsOf(request: IncomingMessage): string {
  const sent = request.headers.authorization;
  if (sent === undefined) return '';
  secretsWereUsed();
  const socket = request.socket as Socket;
  const latest = socket[LATEST];
  if (latest?.sent === sent) return latest.digest;
  // Includes the client's certificate, which belongs to the connection.
  // guard(client certificates: credentials that were right with it are known with it only): fingerprint256 ? ⇒ fingerprint256.slice(95) ?
  const digest = hash('sha256', `${sent}\n${clientCertificate(request)?.fingerprint256 ?? ''}`, 'base64');
  socket[LATEST] = { sent, digest };
  return digest;
}

/** The caller, if the credentials were verified a moment ago, as nearly all were. Does not wait. */
export function knownCaller(
  services: AuthenticationServices,
  request: IncomingMessage,
  asked: Asked,
): Caller | undefined {
  const client = services.callers.known(credentialsOf(request));
  if (client === undefined) return undefined;
  const isOwnHost = isOwn(services.hostNames, client, request);
  return isOwnHost === undefined ? undefined : admitted(services, client, request, isOwnHost, asked);
}

function certificateOf(request: IncomingMessage): ShownCertificate | undefined {
  const certificate = clientCertificate(request);
  return certificate && shownCertificate(certificate);
}

/** The caller, or undefined if the credentials are wrong. */
export async function provenCaller(
  services: AuthenticationServices,
  request: IncomingMessage,
  asked: Asked,
): Promise<Caller | undefined> {
  const client = await prove(services.callers, credentialsOf(request), request);
  if (client === undefined) return undefined;
  const isOwnHost =
    isOwn(services.hostNames, client, request) ??
    !(await services.hostNames.isOthersNow(request.headers.host ?? '', client.organisationId));
  return admitted(services, client, request, isOwnHost, asked);
}

/** Whether the request was sent to a name under which the client's organisation is served; undefined if that has to be read. */
function isOwn(hostNames: HostNames, client: Client, { headers }: IncomingMessage): boolean | undefined {
  const { host = '' } = headers;
  const { hostName } = client.home;
  // guard(cells: an organisation is served under its own name): host === hostName || plainHost(host) === hostName ⇒ true
  if (hostName !== null) return host === hostName || plainHost(host) === hostName;
  const isOthers = hostNames.isOthers(host, client.organisationId);
  // guard(cells: nobody is served under the name of another organisation): isOthers === undefined ? undefined : !isOthers ⇒ true
  return isOthers === undefined ? undefined : !isOthers;
}

/**
 * Refuses before the body is read: too many requests, a forbidden address, or an organisation that is served elsewhere. Nearly all users
 * may call from anywhere.
 */
function admitted(
  services: AuthenticationServices,
  caller: Client,
  request: IncomingMessage,
  isOwnHost: boolean,
  { writes, inFlight }: Asked,
): Caller {
  const { username, networks, home } = caller;
  // guard(callers: only from networks that they were given): ) ⇒ && username === '')
  if (networks !== undefined) refuseFromElsewhere(services, username, networks, request);
  if (!services.rateLimit.allows(username)) throw refused('too_many_requests');
  if (home.hasMoved) throw servedAt(home.base);
  // guard(cells: nothing is created for an organisation that moves): writes ? !home.writes : !home.reads ⇒ !home.reads
  if (writes ? !home.writes : !home.reads) throw refused('not_processed');
  // guard(moved: what was received before an organisation came from another cell is not processed): inFlight.heard < home.arrivedAbsence ⇒ false
  if (inFlight !== undefined && inFlight.heard < home.arrivedAbsence) throw refused('not_processed');
  if (!isOwnHost) throw servedAt(home.base, ['header', 'Host']);
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
  request: IncomingMessage,
): Promise<Client | undefined> {
  const { username, secret } = basicCredentials(request);
  if (username === undefined) return undefined;
  // An impossible name is looked up like any other, but never reaches the database as it is.
  const possible = isRestricted(username) && !containsCardNumber(username);
  return callers.authenticate(credentials, {
    username: possible ? username : '',
    secret,
    certificate: certificateOf(request),
  });
}

function basicCredentials({ headers }: IncomingMessage): { username?: string; secret: string } {
  const [, encoded = ''] = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(headers.authorization ?? '') ?? [];
  if (encoded === '') return { secret: '' };
  const bytes = Buffer.from(encoded, 'base64');
  const decoded = bytes.toString('utf8');
  bytes.fill(0);
  const colon = decoded.indexOf(':');
  return { username: decoded.slice(0, Math.max(colon, 0)), secret: decoded.slice(colon + 1) };
}

/** Refuses wrong credentials, after a delay if there were too many. */
export async function refusedLogIn(
  { failedLogIns, clientAddresses }: AuthenticationServices,
  request: IncomingMessage,
): Promise<RefusedRequest> {
  const { username } = basicCredentials(request);
  const certificate = certificateOf(request);
  await failedLogIns.turn({
    username,
    address: clientAddresses.of(request),
    certificate: certificate && shownFingerprint(certificate.fingerprint),
  });
  return refused('unauthenticated', ['header', 'Authorization']);
}

const UNKNOWN = 'unknown';

/** Finds the client's address of a request. */
export class ClientAddresses {
  /** The operator's proxies, if any. */
  constructor(private readonly trusted?: Networks) {}

  of({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    const peer = plainAddress(socket.remoteAddress ?? UNKNOWN);
    if (this.trusted === undefined) return peer;
    return this.#forwarded(peer, String(headers['x-forwarded-for'] ?? ''));
  }

  /**
   * Each proxy has appended the address that called it, so the header is read from its end. The first address that is not one of our
   * proxies is the client; the client may have made up everything before it.
   */
  #forwarded(peer: string, header: string): string {
    let address = peer;
    let end = header.length;
    // guard(addresses: the word of a stranger does not count): && this.trusted?.has(address) ⇒
    while (end > 0 && this.trusted?.has(address)) {
      // guard(addresses: read from the right): end - 1 ⇒ 0
      const comma = header.lastIndexOf(',', end - 1);
      // guard(addresses: read from the right): slice(comma + 1, end) ⇒ split(',')[0] as string
      const before = addressIn(header.slice(comma + 1, end));
      // An unreadable address says nothing: the last known proxy stands for it.
      if (before === undefined) return address;
      address = before;
      end = comma;
    }
    return address;
  }
}

/** Whether a proxy says that it has passed this on. Whoever says so of themselves is only believed to be slower. */
export function isForwarded({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return (
    headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined || headers.via !== undefined
  );
}

/** Some proxies add the port. */
function addressIn(text: string): string | undefined {
  const [, bracketed, withPort] = /^(?:\[([^\]]*)\](?::\d+)?|([^:]*):\d+)$/.exec(text.trim()) ?? [];
  const address = plainAddress(bracketed ?? withPort ?? text.trim());
  return isIP(address) === 0 ? undefined : address;
}

interface Bucket {
  left: number;
  filledAtMs: number;
}

const MAX_BUCKETS = 10_000;

/** Limits the requests of each user: a bucket that fills at a steady rate. Off by default. */
export class RateLimit {
  readonly #buckets = new Map<string, Bucket>();

  /** 0 means no limit. Up to one second's worth may come at once. */
  constructor(private readonly perSecond: number) {}

  allows(username: string): boolean {
    if (this.perSecond === 0) return true;
    const now = performance.now();
    let bucket = this.#buckets.get(username);
    if (bucket === undefined) {
      if (this.#buckets.size >= MAX_BUCKETS) this.#buckets.clear();
      bucket = { left: this.perSecond, filledAtMs: now };
      this.#buckets.set(username, bucket);
    }
    const filled = bucket.left + ((now - bucket.filledAtMs) / 1000) * this.perSecond;
    bucket.left = Math.min(filled, this.perSecond);
    bucket.filledAtMs = now;
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
  }
}

/** The shortest delay of an answer beyond the limit. */
const HELD_MS = 1_000;
/** Delayed answers go out at random moments, about this many per millisecond, and not all at once. */
const ANSWERED_EACH_MS = 1;
/** All delayed answers within this time share one log line. */
const LOG_EVERY_MS = 1_000;
/** How many user names and addresses get a log line of their own per second. Attackers change both. */
const MOST_LOGGED = 10;

interface FailedLogIn {
  /** Absent without credentials. */
  readonly username: string | undefined;
  readonly address: string;
  /** The fingerprint of the client's certificate. */
  readonly certificate: string | undefined;
}

/**
 * Failed log-ins: logged, and throttled by user name and by address. More than a few per second are answered late. No attempt is refused
 * before its secret was checked, so nobody can lock out the real user.
 */
export class FailedLogIns {
  readonly #byUser: RateLimit;
  readonly #byAddress: RateLimit;
  readonly #failed: LogThrottle<FailedLogIn>;
  readonly #elsewhere: LogThrottle<Pick<FailedLogIn, 'username' | 'address'>>;
  #count = 0;
  /** Since the last log line. */
  #held = 0;
  /** Since the start, like the number of delayed ones. */
  total = 0;
  totalHeld = 0;
  #waiting = 0;

  /** 0 means no limit. */
  constructor(
    perSecond: number,
    private readonly log: Logger,
    private readonly journal: Pick<LogInJournal, 'note'>,
  ) {
    this.#byUser = new RateLimit(perSecond);
    this.#byAddress = new RateLimit(perSecond);
    this.#failed = new LogThrottle<FailedLogIn>(
      MOST_LOGGED,
      ({ username, address, certificate }, count) =>
        log.warn({ username, address, certificate, count }, 'failed log-in'),
      (count) => log.warn({ count }, 'further failed log-ins'),
    );
    this.#elsewhere = new LogThrottle(
      MOST_LOGGED,
      ({ username, address }, count) =>
        log.warn({ username, address, count }, 'a user called from a forbidden address'),
      (count) => log.warn({ count }, 'further calls from forbidden addresses'),
    );
  }

  /** How many failed since the start, including calls from forbidden addresses. */
  get count(): number {
    return this.#count;
  }

  /** The right secret was used from a forbidden address: it may be stolen. */
  noteElsewhere(username: string, address: string): void {
    this.#count += 1;
    this.#elsewhere.add(`${address} ${username}`, { username, address });
    this.journal.note(username, address, 'elsewhere');
  }

  /** Resolves when a failed log-in may be answered. The same for names that do not exist. */
  async turn({ username, address, certificate }: FailedLogIn): Promise<void> {
    this.total += 1;
    const shown = username === undefined ? undefined : shownUsername(username);
    this.#failed.add(`${address} ${shown} ${certificate}`, { username: shown, address, certificate });
    // A request without credentials is not an attempt: some clients send every request without them first.
    if (username === undefined) return;
    this.#count += 1;
    this.journal.note(shown === username ? username : undefined, address, 'wrong');
    const userMay = this.#byUser.allows(username);
    const addressMay = this.#byAddress.allows(address);
    // guard(failed log-ins: too many of one name or address are answered late): && addressMay ⇒ || addressMay || this.#held >= 0
    if (userMay && addressMay) return;
    if (this.#held === 0) setTimeout(() => this.#tell(address), LOG_EVERY_MS).unref();
    this.#held += 1;
    this.totalHeld += 1;
    this.#waiting += 1;
    const spreadMs = Math.max(HELD_MS, this.#waiting / ANSWERED_EACH_MS);
    await sleep(Math.round(HELD_MS + Math.random() * spreadMs), undefined, { ref: false });
    this.#waiting -= 1;
  }

  #tell(address: string): void {
    this.log.warn({ held: this.#held, address }, 'too many failed log-ins');
    this.#held = 0;
  }
}

/** Possible user names. */
const USERNAME = /^[A-Za-z0-9._@-]{1,64}$/;
/** The form of secrets that the gateway generates. */
const SECRET = /^[A-Za-z0-9_-]{32}$/;

/** The name as the log shows it. What somebody typed can be anything: a card number, or a secret in the wrong field. */
function shownUsername(tried: string): string {
  if (tried === '') return '(empty)';
  if (!USERNAME.test(tried)) return '(no possible user name)';
  if (SECRET.test(tried)) return '(perhaps a secret)';
  return containsCardNumber(tried) ? tried.replaceAll(/[0-9]/g, '*') : tried;
}
