// Admission: starts requests in turns over tenants, and sheds requests for which there is no room, before anything is made of them.
// Shedding must cost almost nothing, or no room is left for accepted requests.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { createsTransaction } from '../api/addresses.js';
import { CORRELATION_HEADER, returnable } from '../api/operation.js';
import { refused } from '../api/problems.js';
import type { Callers } from '../organisations/users/callers.js';
import type { Moment } from '../payments/finding/search-fence.js';
import type { Capacity, Tenant } from '../payments/pipeline/capacity.js';
import { type ClientAddresses, credentialsOf } from './authentication.js';
import { type Connections, TenantQueues } from './connections.js';
import { rawRefusal, withCorrelationId } from './refused-connections.js';

/** Health checks never wait behind other requests. */
const HEALTH_PATHS = ['/livez', '/readyz'];
const HEALTH_CHECK = 'health check';

interface AdmissionServices {
  readonly connections: Connections;
  readonly callers: Callers;
  readonly clientAddresses: ClientAddresses;
  readonly capacity: Capacity;
  readonly turns: Turns;
  readonly shedding: Shedding;
}

export function admission(handle: RequestListener, services: AdmissionServices): RequestListener {
  const { connections, capacity, turns, shedding } = services;
  return (request, response) => {
    const { socket } = request;
    const tenant = tenantOf(request, services);
    if (tenant !== HEALTH_CHECK) shedding.noteRequest(tenant);
    const creates = createsTransaction(request);
    const sheds = creates && capacity.refuses(tenant);
    const enters = creates && !sheds;
    if (enters) capacity.enter(tenant);
    connections.begin(socket, request, response);
    // One listener for everything that ends with the answer, because each listener costs something.
    response.once('close', () => {
      connections.end(socket);
      if (enters) capacity.leave(tenant);
    });
    if (sheds) shedding.take(tenant, request, response);
    else turns.take(tenant, request, response, handle);
  };
}

/** The organisation that last used these credentials; otherwise the client's address. */
function tenantOf(request: IncomingMessage, { callers, clientAddresses }: AdmissionServices): Tenant {
  const organisationId = callers.organisationOf(credentialsOf(request));
  if (organisationId !== undefined) return organisationId;
  if (HEALTH_PATHS.includes(request.url ?? '')) return HEALTH_CHECK;
  return clientAddresses.of(request);
}

/** How long requests are started in each turn of the event loop; then requests in progress continue. */
const TURN_MS = 5;
const MOST_IN_A_TURN = 64;
/**
 * Node accepts one connection in each turn. While many connections arrive, turns are as short as possible; otherwise a client behind the
 * crowd would wait for seconds.
 */
const SHORT_TURN_MS = 0.1;
const MOST_IN_A_SHORT_TURN = 2;
const CROWD_LASTS_MS = 10;
/** Reading a body takes time, so each of these many bytes counts as a further turn. */
const BYTES_OF_A_TURN = 8_192;

interface Held {
  readonly request: WithMoment;
  readonly response: ServerResponse;
  readonly begin: RequestListener;
  readonly received: Moment;
}

const RECEIVED = Symbol('when it was received');
type WithMoment = IncomingMessage & { [RECEIVED]?: Moment };

/** For a request that was queued. */
export function whenReceived(request: WithMoment): Moment | undefined {
  return request[RECEIVED];
}

/** Shares the event loop among tenants: a tenant that sends much waits, and the others do not wait for it. */
export class Turns {
  readonly #held = new TenantQueues<Held>(furtherTurns);
  /** How many requests are still to be started in this turn of the event loop. */
  #due = 0;
  /** When this turn of the event loop started its first request. */
  #turnFromMs: number | undefined;
  #crowdUntilMs = 0;
  readonly #endTurn = () => {
    this.#turnFromMs = undefined;
  };
  readonly #beginNext = () => this.#begin();

  /** `now` is called when a request is queued, for `whenReceived`. */
  constructor(private readonly now: () => Moment) {}

  /** Starts a request: immediately if there is time, otherwise when it is its tenant's turn. */
  take(tenant: Tenant, request: IncomingMessage, response: ServerResponse, begin: RequestListener): void {
    if (this.#held.size === 0 && this.#hasTime()) {
      begin(request, response);
      return;
    }
    this.#held.add(tenant, { request, response, begin, received: this.now() });
    if (this.#due === 0) this.#plan();
  }

  /** A connection was accepted, and more may follow. */
  connectionAccepted(): void {
    this.#crowdUntilMs = performance.now() + CROWD_LASTS_MS;
  }

  #isCrowded(nowMs: number): boolean {
    return nowMs < this.#crowdUntilMs;
  }

  #hasTime(): boolean {
    const nowMs = performance.now();
    if (this.#turnFromMs === undefined) {
      this.#turnFromMs = nowMs;
      setImmediate(this.#endTurn);
      return true;
    }
    return nowMs - this.#turnFromMs < (this.#isCrowded(nowMs) ? SHORT_TURN_MS : TURN_MS);
  }

  /** One callback for each request: its synchronous work is done, and counted, before the next begins. */
  #plan(): void {
    const most = this.#isCrowded(performance.now()) ? MOST_IN_A_SHORT_TURN : MOST_IN_A_TURN;
    this.#due = Math.min(this.#held.size, most);
    for (let planned = 0; planned < this.#due; planned += 1) setImmediate(this.#beginNext);
  }

  #begin(): void {
    this.#due -= 1;
    if (this.#hasTime()) this.#beginFirst();
    if (this.#due === 0 && this.#held.size > 0) this.#plan();
  }

  #beginFirst(): void {
    for (let held = this.#held.next(); held !== undefined; held = this.#held.next()) {
      const { request, response, begin, received } = held;
      // The client has hung up.
      if (response.destroyed) continue;
      request[RECEIVED] = received;
      begin(request, response);
      return;
    }
  }
}

function furtherTurns({ request, response }: Held): number {
  if (response.destroyed) return 0;
  return Math.floor(Number(request.headers['content-length'] ?? 0) / BYTES_OF_A_TURN);
}

/** The share of time that shedding may use; less if other tenants need that time too. */
const SHARE = 0.1;
const SHARE_ALONE = 0.25;
/** A tenant without a request for this long counts as absent. */
const ABSENT_AFTER_MS = 1_000;
/** How much of that time may be saved up. */
const MOST_SAVED_MS = 15;
/** How soon the queue is checked again. */
const PAUSE_MS = 1;

/** All requests shed within this time share one log line. */
const LOG_EVERY_MS = 1_000;

interface Shed {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Answers requests for which there is no room. They do not wait behind accepted requests, but are answered immediately within their share
 * of the time. Beyond that they wait in turns over tenants: a client that retries thousands of times does not use up the others' time.
 */
export class Shedding {
  readonly #held = new TenantQueues<Shed>();
  #savedMs = MOST_SAVED_MS;
  #savedAtMs = performance.now();
  #isPlanned = false;
  /** How many requests were shed since the start. */
  total = 0;
  /** The tenant of the last request, and since when there was no other. */
  #lastTenant: Tenant | undefined;
  #aloneSinceMs = 0;
  readonly #refusal = rawRefusal(refused('not_processed'));
  readonly #log: (tenant: Tenant) => void;
  readonly #goOn = () => this.#answerHeld();

  constructor(log: Logger) {
    this.#log = shedLog(log);
  }

  /** Called for every request, shed or not. */
  noteRequest(tenant: Tenant): void {
    if (tenant === this.#lastTenant) return;
    this.#lastTenant = tenant;
    this.#aloneSinceMs = performance.now();
  }

  take(tenant: Tenant, request: IncomingMessage, response: ServerResponse): void {
    this.total += 1;
    this.#log(tenant);
    if (this.#held.size === 0 && this.#hasTime()) {
      this.#answer(request, response);
      return;
    }
    this.#held.add(tenant, { request, response });
    this.#plan();
  }

  #hasTime(): boolean {
    const nowMs = performance.now();
    const share = nowMs - this.#aloneSinceMs < ABSENT_AFTER_MS ? SHARE : SHARE_ALONE;
    this.#savedMs = Math.min(MOST_SAVED_MS, this.#savedMs + share * (nowMs - this.#savedAtMs));
    this.#savedAtMs = nowMs;
    return this.#savedMs > 0;
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setTimeout(this.#goOn, PAUSE_MS);
  }

  #answerHeld(): void {
    this.#isPlanned = false;
    while (this.#held.size > 0 && this.#hasTime()) {
      const { request, response } = this.#held.next() as Shed;
      // Unless the client has hung up.
      if (!response.destroyed) this.#answer(request, response);
    }
    if (this.#held.size > 0) this.#plan();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const fromMs = performance.now();
    const { status, headers, text } = this.#refusal;
    const id = returnable(request.headers[CORRELATION_HEADER]);
    response.writeHead(status, withCorrelationId(headers, id)).end(text);
    this.#savedMs -= performance.now() - fromMs;
  }
}

/** Logs how many requests were shed, and which tenant had most of them. */
function shedLog(log: Logger): (tenant: Tenant) => void {
  const shed = new Map<Tenant, number>();
  const write = () => {
    const most = [...shed].sort(([, one], [, other]) => other - one)[0] as [Tenant, number];
    const [tenant, count] = most;
    log.warn(
      {
        shed: [...shed.values()].reduce((sum, each) => sum + each, 0),
        most: count,
        ...(typeof tenant === 'number' ? { organisation: tenant } : { address: tenant }),
      },
      'overloaded',
    );
    shed.clear();
  };
  return (tenant) => {
    if (shed.size === 0) setTimeout(write, LOG_EVERY_MS).unref();
    shed.set(tenant, (shed.get(tenant) ?? 0) + 1);
  };
}
