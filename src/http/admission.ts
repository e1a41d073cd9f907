// Admission: requests are begun in turns over tenants, and those for which there is no room are shed before the framework has looked
// at them. To shed must cost next to nothing, or there is no room left for what was accepted.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { createsTransaction } from '../api/addresses.js';
import { CORRELATION_HEADER, returnable } from '../api/operation.js';
import { refused } from '../api/problems.js';
import type { Callers } from '../organisations/users/callers.js';
import type { Moment } from '../payments/finding/search-fence.js';
import type { Capacity, Tenant } from '../payments/pipeline/capacity.js';
import { type ClientAddresses, credentialsOf } from './authentication.js';
import { type Connections, TenantLines } from './connections.js';
import { rawRefusal, withCorrelationId } from './refused-connections.js';

/** Whoever watches over the gateway is not kept waiting by strangers. */
const WATCHING = ['/livez', '/readyz'];
const WATCHER = 'watching';

interface DoorServices {
  readonly connections: Connections;
  readonly callers: Callers;
  readonly clientAddresses: ClientAddresses;
  readonly capacity: Capacity;
  readonly turns: Turns;
  readonly shedding: Shedding;
}

export function door(handle: RequestListener, services: DoorServices): RequestListener {
  const { connections, capacity, turns, shedding } = services;
  return (request, response) => {
    const { socket } = request;
    const tenant = tenantOf(request, services);
    if (tenant !== WATCHER) shedding.see(tenant);
    const creates = createsTransaction(request);
    const sheds = creates && capacity.refuses(tenant);
    const enters = creates && !sheds;
    if (enters) capacity.enter(tenant);
    connections.begin(socket, request, response);
    // One listener for everything that ends with the answer: each costs something at every request.
    response.once('close', () => {
      connections.end(socket);
      if (enters) capacity.leave(tenant);
    });
    if (sheds) shedding.take(tenant, request, response);
    else turns.take(tenant, request, response, handle);
  };
}

/** The organisation whose credentials these were when they were last used; otherwise where the request comes from. */
function tenantOf(request: IncomingMessage, { callers, clientAddresses }: DoorServices): Tenant {
  const organisationId = callers.organisationOf(credentialsOf(request));
  if (organisationId !== undefined) return organisationId;
  if (WATCHING.includes(request.url ?? '')) return WATCHER;
  return clientAddresses.of(request);
}

/** Requests are begun for so long in each turn of the event loop; then it is the turn of what was begun before. */
const TURN_MS = 5;
const MOST_IN_A_TURN = 64;
/**
 * Only one connection is accepted in each turn. While a crowd of them comes, turns are as short as can be, or whoever stands
 * behind the crowd would wait for seconds.
 */
const SHORT_TURN_MS = 0.1;
const MOST_IN_A_SHORT_TURN = 2;
const CROWD_LASTS_MS = 10;
/** A body counts as a further turn for each so many bytes: to read it takes its time. */
const BYTES_OF_A_TURN = 8_192;

interface Held {
  readonly request: WithMoment;
  readonly response: ServerResponse;
  readonly begin: RequestListener;
  readonly received: Moment;
}

const RECEIVED = Symbol('when it was received');
type WithMoment = IncomingMessage & { [RECEIVED]?: Moment };

/** Of a request that was held. */
export function whenReceived(request: WithMoment): Moment | undefined {
  return request[RECEIVED];
}

/** Whoever sends much waits for itself, and not the others for it. The event loop is shared like this before anything else is known. */
export class Turns {
  readonly #held = new TenantLines<Held>(furtherTurns);
  /** How many are still to be begun in this turn of the event loop. */
  #due = 0;
  /** When this turn of the event loop began to begin requests. */
  #turnFromMs: number | undefined;
  #crowdUntilMs = 0;
  readonly #endTurn = () => {
    this.#turnFromMs = undefined;
  };
  readonly #beginNext = () => this.#begin();

  /** `now` is asked when a request is held, for what `whenReceived` tells later. */
  constructor(private readonly now: () => Moment) {}

  /** Begins a request: at once if there is time, otherwise when it is its tenant's turn. */
  take(tenant: Tenant, request: IncomingMessage, response: ServerResponse, begin: RequestListener): void {
    if (this.#held.size === 0 && this.#hasTime()) {
      begin(request, response);
      return;
    }
    this.#held.add(tenant, { request, response, begin, received: this.now() });
    if (this.#due === 0) this.#plan();
  }

  /** A connection was accepted, and there may be more. */
  hurry(): void {
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

  /** One call for each: what a request does at once is done before the next begins, and its time counts. */
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
      // Its client has hung up.
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

/** Of all time, the part that may be spent on these answers: less where it is the time of other tenants too. */
const SHARE = 0.1;
const SHARE_ALONE = 0.25;
/** Somebody who has asked for nothing for so long is not there. */
const PRESENT_MS = 1_000;
/** So much of it may be saved up. */
const MOST_SAVED_MS = 15;
/** How soon somebody looks again whether there is time. */
const PAUSE_MS = 1;

/** One line of the log for all that were shed within this time. */
const TELL_EVERY_MS = 1_000;

interface Shed {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Answers what there is no room for. It does not stand behind what was accepted, which takes long: it is answered at once, as
 * long as that takes no more than its share of the time. Beyond that it waits, in turns over tenants: a client that asks
 * again at once, thousands of times, is not served with the time of the others.
 */
export class Shedding {
  readonly #held = new TenantLines<Shed>();
  #savedMs = MOST_SAVED_MS;
  #savedAtMs = performance.now();
  #isPlanned = false;
  /** How many were taken, since the start. */
  total = 0;
  /** Who has asked last, and since when nobody else has. */
  #present: Tenant | undefined;
  #aloneSinceMs = 0;
  readonly #refusal = rawRefusal(refused('not_processed'));
  readonly #tell: (tenant: Tenant) => void;
  readonly #goOn = () => this.#answerHeld();

  constructor(log: Logger) {
    this.#tell = telling(log);
  }

  /** Is told of every request, whether it is shed or not. */
  see(tenant: Tenant): void {
    if (tenant === this.#present) return;
    this.#present = tenant;
    this.#aloneSinceMs = performance.now();
  }

  take(tenant: Tenant, request: IncomingMessage, response: ServerResponse): void {
    this.total += 1;
    this.#tell(tenant);
    if (this.#held.size === 0 && this.#hasTime()) {
      this.#answer(request, response);
      return;
    }
    this.#held.add(tenant, { request, response });
    this.#plan();
  }

  #hasTime(): boolean {
    const nowMs = performance.now();
    const share = nowMs - this.#aloneSinceMs < PRESENT_MS ? SHARE : SHARE_ALONE;
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
      // Unless its client has hung up.
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

/** How many were shed, and whose most of them were. */
function telling(log: Logger): (tenant: Tenant) => void {
  const shed = new Map<Tenant, number>();
  const tell = () => {
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
    if (shed.size === 0) setTimeout(tell, TELL_EVERY_MS).unref();
    shed.set(tenant, (shed.get(tenant) ?? 0) + 1);
  };
}
