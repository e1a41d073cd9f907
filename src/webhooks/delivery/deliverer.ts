// Delivers webhooks: finds endpoints with events to send, leases each in the database, and serves it. Any number of processes
// do this side by side.
import { slotsBetween } from '../../events/events.js';
import type { EventFeed } from '../../events/feed.js';
import type { EventWatcher } from '../../events/watcher.js';
import { fitNow } from '../../journal/seals.js';
import type { OrganisationId } from '../../values/ids.js';
import { rowOfEndpoint } from '../endpoints.js';
import type { EndpointKey, LeasedEndpoint } from './delivery.js';
import {
  ANY_ENDPOINT,
  LOOK,
  LOOK_THOROUGHLY,
  MEND_DELIVERIES,
  MEND_ENDPOINTS,
  TAKE,
  WANTED,
} from './delivery.sql.js';
import { EndpointRun, type EndpointRunParts } from './endpoint-run.js';
import { longestPauseMs } from './schedule.js';
import type { Sender } from './sender.js';

export interface DelivererParts extends Omit<EndpointRunParts, 'leaseMs' | 'stopping' | 'aborted'> {
  readonly feed: Pick<EventFeed, 'readMerchantAfter' | 'newestPosition'>;
  readonly sender: Sender;
  readonly watcher: Pick<EventWatcher, 'onAdvance'>;
  readonly onError: (error: unknown) => void;
}

/** A lease outlasts two attempts. */
const LEASE_SPARE_MS = 5_000;
/** How many endpoints are served at once, in total and per organisation. */
const MOST_RUNS = 128;
const MOST_RUNS_OF_ORGANISATION = 16;
/** How often to check for a first endpoint. */
const IDLE_MS = 2_000;
const STOP_WITHIN_MS = 2_000;
const THOROUGHLY_EVERY_MS = 30_000;
const MEND_EVERY_MS = 600_000;
/** Events up to this many polls old are checked again: another process may have held the endpoint's lease until now. */
const LOOKS_BACK = 4;

export class Deliverer {
  readonly #runs = new Map<
    number,
    { readonly organisationId: OrganisationId; readonly ended: Promise<void> }
  >();
  readonly #runParts: EndpointRunParts;
  /** The feed's positions at the last polls. */
  readonly #seen: number[] = [];
  #newest = 0;
  #stopListening: (() => void) | undefined;
  #idleUntilMs = 0;
  #thoroughlyAtMs = 0;
  #mendAtMs = 0;
  #lookedAtMs = performance.now();
  #stopping = false;
  #aborted = false;

  constructor(private readonly parts: DelivererParts) {
    const leaseMs = 2 * parts.timeoutMs + LEASE_SPARE_MS;
    this.#runParts = {
      ...parts,
      leaseMs,
      stopping: () => this.#stopping,
      aborted: () => this.#aborted,
    };
  }

  /** Since the last completed poll. */
  get lookAgeSeconds(): number {
    return (performance.now() - this.#lookedAtMs) / 1_000;
  }

  /** One poll. Returns once the endpoints it found are being served. */
  async run(): Promise<void> {
    const nowMs = performance.now();
    if (this.#stopping || nowMs < this.#idleUntilMs) return;
    if (this.#stopListening === undefined && !(await this.#begin())) {
      this.#idleUntilMs = nowMs + IDLE_MS;
      this.#lookedAtMs = nowMs;
      return;
    }
    if (nowMs >= this.#mendAtMs) {
      const mostMs = longestPauseMs(this.parts.firstPauseMs);
      // Deliveries first: an endpoint that is released in between wakes for the next of them.
      await this.parts.database.query(MEND_DELIVERIES, [mostMs]);
      await this.parts.database.query(MEND_ENDPOINTS, [mostMs]);
      this.#mendAtMs = nowMs + MEND_EVERY_MS;
    }
    await this.#take(this.#fitting(await this.#look(nowMs)));
    this.#lookedAtMs = performance.now();
  }

  /** Starts nothing more. Attempts under way get a moment; another process sends the rest again. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#stopListening?.();
    const ended = Promise.all([...this.#runs.values()].map((run) => run.ended));
    const abort = setTimeout(() => {
      this.#aborted = true;
      this.parts.sender.close();
    }, STOP_WITHIN_MS);
    await ended;
    clearTimeout(abort);
    this.parts.sender.close();
  }

  /** Follows the feed while there is an endpoint. */
  async #begin(): Promise<boolean> {
    if (!(await this.#any())) return false;
    this.#seen.length = 0;
    this.#newest = 0;
    this.#stopListening = this.parts.watcher.onAdvance((newest) => {
      this.#newest = newest;
    });
    // The thorough poll finds older events.
    this.#newest = Math.max(this.#newest, await this.parts.feed.newestPosition());
    this.#thoroughlyAtMs = 0;
    return true;
  }

  async #any(): Promise<boolean> {
    return (await this.parts.database.query<{ any: boolean }>(ANY_ENDPOINT)).rows[0]?.any ?? false;
  }

  async #look(nowMs: number): Promise<EndpointKey[]> {
    const { database } = this.parts;
    const found: EndpointKey[] = [];
    if (nowMs >= this.#thoroughlyAtMs) {
      this.#thoroughlyAtMs = nowMs + THOROUGHLY_EVERY_MS;
      if (!(await this.#any())) {
        this.#stopListening?.();
        this.#stopListening = undefined;
        return [];
      }
      found.push(...(await database.query<EndpointKey>(LOOK_THOROUGHLY)).rows);
    }
    const newest = this.#newest;
    this.#seen.push(newest);
    const [since = newest] = this.#seen;
    if (this.#seen.length > LOOKS_BACK) this.#seen.shift();
    found.push(...(await database.query<EndpointKey>(LOOK, [since, slotsBetween(since, newest)])).rows);
    return found;
  }

  /** The endpoints that there is capacity for. A later poll finds the others again. */
  #fitting(found: readonly EndpointKey[]): EndpointKey[] {
    const underWay = new Map<OrganisationId, number>();
    const count = (organisationId: OrganisationId) => {
      const runs = (underWay.get(organisationId) ?? 0) + 1;
      underWay.set(organisationId, runs);
      return runs;
    };
    for (const { organisationId } of this.#runs.values()) count(organisationId);
    const once = new Map(found.map((endpoint) => [endpoint.id, endpoint]));
    // In random order, so that busy endpoints do not always come first.
    return shuffled([...once.values()])
      .filter(({ id }) => !this.#runs.has(id))
      .filter(({ organisationId }) => count(organisationId) <= MOST_RUNS_OF_ORGANISATION)
      .slice(0, MOST_RUNS - this.#runs.size);
  }

  async #take(wanted: readonly EndpointKey[]): Promise<void> {
    if (wanted.length === 0) return;
    const askedAtMs = performance.now();
    const values = [this.#runParts.leaseMs, ...WANTED.encode(wanted)];
    const { rows } = await this.parts.database.query<LeasedEndpoint>(TAKE, values);
    for (const endpoint of rows) {
      const fit = await fitNow(this.parts.database, rowOfEndpoint(endpoint));
      // guard(directions: nothing is sent to an endpoint that is not as it was sealed): fit.kind === 'fits' ⇒ fit.version >= 0
      if (fit.kind === 'fits') this.#startRun(endpoint, askedAtMs);
    }
  }

  #startRun(endpoint: LeasedEndpoint, leasedAtMs: number): void {
    const { organisationId, id } = endpoint;
    const ended = new EndpointRun(this.#runParts, endpoint, leasedAtMs)
      .run()
      .catch(this.parts.onError)
      .then(() => {
        this.#runs.delete(id);
      });
    this.#runs.set(id, { organisationId, ended });
  }
}

function shuffled<Value>(values: readonly Value[]): Value[] {
  return values
    .map((value) => ({ value, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ value }) => value);
}
