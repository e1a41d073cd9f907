// Turns over tenants: whoever sends much waits for itself, and not the others for it. The event loop is shared like this
// before anything else is known of a request.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Moment } from '../../payments/finding/search-fence.js';
import type { Tenant } from '../../payments/pipeline/room.js';
import { TenantLines } from './tenant-lines.js';

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
