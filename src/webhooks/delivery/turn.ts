// A turn of an endpoint: this process has its lease, and sends what is due and what is new until nothing is left, or until it is
// the turn of others.
import type { Logger } from 'pino';
import type { EventFeed } from '../../events/feed.js';
import type { Database, Statement } from '../../postgres/database.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import { signingSecrets } from '../endpoints.js';
import {
  type Delivery,
  freshDelivery,
  isFailing,
  type LeasedEndpoint,
  type WaitingDelivery,
} from './delivery.js';
import {
  ADVANCE_SUBJECTS,
  DELIVERIES_TO_PROBE,
  DONE,
  DUE_DELIVERIES,
  RELEASE,
  REMOVE_DELIVERIES,
  WAITING_SUBJECTS,
} from './delivery.sql.js';
import { type PageParts, sendPage } from './page.js';
import { LeaseLost, type Progress, recordPage } from './progress.js';

export interface TurnParts extends PageParts {
  readonly database: Database;
  readonly keys: DataKeys;
  readonly feed: Pick<EventFeed, 'readMerchantAfter'>;
  readonly log: Logger;
  /** An attempt takes no longer. */
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly firstPauseMs: number;
  /** Whether nothing more is to be begun. */
  readonly stopping: () => boolean;
}

interface Page {
  readonly deliveries: readonly Delivery[];
  /** Up to where the feed was read. */
  readonly position: number;
  /** Whether there may be more than this page holds. */
  readonly more: boolean;
}

const SMALLEST_PAGE = 8;
const LARGEST_PAGE = 64;
/** A page that took longer was too large, one that took less was too small. */
const LONG_PAGE_MS = 4_000;
const SHORT_PAGE_MS = 500;
/** Then others have their turns. */
const TURN_MS = 10_000;
const AFTER_ERROR_MS = 5_000;
/** What was read so shortly before the end of a turn is the newest that there is. */
const RECENT_MS = 300;
/** More than this does not wait in the table: it stays in the feed. */
export const MOST_WAITING = 1_000;

export class Turn {
  #pageSize = SMALLEST_PAGE;
  /** What the database's clock is ahead of this process's. */
  readonly #aheadMs: number;

  /** `leasedAtMs`: when the lease was asked for. */
  constructor(
    private readonly parts: TurnParts,
    private endpoint: LeasedEndpoint,
    private leasedAtMs: number,
  ) {
    this.#aheadMs = endpoint.nowMs - performance.now();
  }

  async run(): Promise<void> {
    try {
      await this.#work();
    } catch (error) {
      if (error instanceof LeaseLost) return;
      // What was sent and not recorded is sent again, by whoever has the next turn.
      await this.#release({ more: true, restMs: AFTER_ERROR_MS }).catch(() => {});
      throw error;
    }
  }

  async #work(): Promise<void> {
    const endsMs = performance.now() + TURN_MS;
    for (;;) {
      const beganMs = performance.now();
      const page = await this.#read();
      if (page.deliveries.length === 0 && page.position === this.endpoint.position) {
        return this.#release({ more: page.more });
      }
      const progress = await this.#send(page, beganMs);
      if (progress.ended) return;
      const { restMs } = progress;
      if (this.#failing || progress.disabled !== undefined) return this.#release({ more: false, restMs });
      const tookMs = performance.now() - beganMs;
      if (tookMs > LONG_PAGE_MS) this.#pageSize = Math.max(this.#pageSize / 2, SMALLEST_PAGE);
      else if (tookMs < SHORT_PAGE_MS) this.#pageSize = Math.min(this.#pageSize * 2, LARGEST_PAGE);
      const over = performance.now() > endsMs || this.parts.stopping();
      if (over || restMs > 0) return this.#release({ more: true, restMs });
    }
  }

  get #failing(): boolean {
    return isFailing(this.endpoint);
  }

  /** Whether only what waits is sent, since nothing gets through, or too much waits. */
  get #nothingNew(): boolean {
    return this.#failing || this.endpoint.waiting >= MOST_WAITING;
  }

  /** What is due, and what is new; of an endpoint that fails, one that is due. */
  async #read(): Promise<Page> {
    const { organisationId, merchantId, waiting, position, types } = this.endpoint;
    const limit = this.#failing ? 1 : this.parts.pace.busy ? SMALLEST_PAGE : this.#pageSize;
    const due = waiting === 0 ? [] : await this.#dueOrProbes(limit);
    const full = due.length === limit;
    if (this.#nothingNew) return { deliveries: due, position, more: full && !this.#failing };
    const page = await this.parts.feed.readMerchantAfter({ organisationId, merchantId }, position, limit);
    if (page.skipped) this.#tellSkipped();
    const wanted = page.events
      .filter(({ type }) => types === null || types.includes(type))
      .map(freshDelivery);
    const fresh = waiting === 0 ? wanted : await this.#behindOthers(wanted);
    return {
      deliveries: [...due, ...fresh],
      position: page.position,
      more: full || page.events.length === limit,
    };
  }

  #tellSkipped(): void {
    const { organisationId: organisation, merchantId: merchant, id: endpoint } = this.endpoint;
    this.parts.log.warn(
      { organisation, merchant, endpoint },
      'webhook endpoint was away for longer than events are kept: some were not delivered',
    );
  }

  /** What is due, or nothing else being due, what shows whether the endpoint is back: one message, or all once it is known to answer. */
  async #dueOrProbes(limit: number): Promise<Delivery[]> {
    const due = await this.#waiting(DUE_DELIVERIES, limit);
    if (due.length > 0 || !this.endpoint.toProbe) return due;
    const probes = await this.#waiting(DELIVERIES_TO_PROBE, this.endpoint.failures > 0 ? 1 : limit);
    return probes.map((delivery) => ({ ...delivery, probe: true }));
  }

  async #waiting(statement: Statement, limit: number): Promise<Delivery[]> {
    const { organisationId, merchantId, id } = this.endpoint;
    const { database, feed } = this.parts;
    const { rows } = await database.query<WaitingDelivery>(statement, [organisationId, id, limit]);
    const due: Delivery[] = [];
    const forgotten: WaitingDelivery[] = [];
    for (const row of rows) {
      const page = await feed.readMerchantAfter({ organisationId, merchantId }, row.position - 1, 1);
      const event = page.events.find(({ position }) => position === row.position);
      if (event === undefined) forgotten.push(row);
      else due.push({ ...row, event, stored: true, behind: false, probe: false });
    }
    if (forgotten.length > 0) await this.#forget(forgotten);
    return due;
  }

  /** Events that were not delivered while they were kept. */
  async #forget(forgotten: readonly WaitingDelivery[]): Promise<void> {
    const { organisationId, id } = this.endpoint;
    await this.parts.database.transaction(async (connection) => {
      await connection.query(REMOVE_DELIVERIES, [organisationId, id, ...DONE.encode(forgotten)]);
      const subjects = forgotten.map(({ subject }) => subject);
      await connection.query(ADVANCE_SUBJECTS, [organisationId, id, subjects]);
    });
    const { waiting, waitingSubjects } = this.endpoint;
    this.endpoint = {
      ...this.endpoint,
      waiting: waiting - forgotten.length,
      waitingSubjects: Math.max(waitingSubjects - forgotten.length, 0),
    };
    const { merchantId: merchant } = this.endpoint;
    this.parts.log.warn(
      { organisation: organisationId, merchant, endpoint: id, events: forgotten.length },
      'webhooks not delivered while their events were kept',
    );
  }

  async #behindOthers(fresh: readonly Delivery[]): Promise<Delivery[]> {
    if (fresh.length === 0) return [];
    const { organisationId, id } = this.endpoint;
    const subjects = [...new Set(fresh.map(({ subject }) => subject))];
    const { rows } = await this.parts.database.query<{ subject: string }>(WAITING_SUBJECTS, [
      organisationId,
      id,
      subjects,
    ]);
    const waiting = new Set(rows.map(({ subject }) => subject));
    // guard(webhooks: what is new waits behind what failed about the same subject): waiting.has(delivery.subject) ⇒ false
    return fresh.map((delivery) => ({ ...delivery, behind: waiting.has(delivery.subject) }));
  }

  async #send({ deliveries, position, more }: Page, readAtMs: number): Promise<Progress> {
    const { organisationId, url } = this.endpoint;
    const { database, keys, timeoutMs, leaseMs } = this.parts;
    const secrets = deliveries.length === 0 ? [] : await signingSecrets(keys, this.endpoint);
    const result = await sendPage(
      this.parts,
      {
        organisationId,
        url,
        secrets,
        nowMs: () => performance.now() + this.#aheadMs,
        hasTime: () => !this.parts.stopping() && performance.now() + timeoutMs < this.leasedAtMs + leaseMs,
      },
      deliveries,
    );
    const recordedAtMs = performance.now();
    const caughtUp = !more && recordedAtMs - readAtMs < RECENT_MS;
    const progress = await recordPage(database, this.endpoint, result, { position, caughtUp }, this.parts);
    this.#tell(progress);
    this.endpoint = progress.endpoint;
    this.leasedAtMs = recordedAtMs;
    return progress;
  }

  #tell({ endpoint: now, disabled, givenUp }: Progress): void {
    const { log } = this.parts;
    const { organisationId: organisation, merchantId: merchant, id: endpoint } = now;
    const [failing, failed] = [now, this.endpoint].map(isFailing);
    if (failing && !failed) log.warn({ organisation, merchant, endpoint }, 'webhook endpoint is failing');
    if (failed && !failing) log.info({ organisation, merchant, endpoint }, 'webhook endpoint delivers again');
    if (disabled !== undefined && disabled !== 'before') {
      log.error({ organisation, merchant, endpoint, because: disabled }, 'webhook endpoint disabled');
    }
    for (const { event } of givenUp) {
      log.warn({ organisation, merchant, endpoint, event: event.id }, 'webhook given up');
    }
  }

  async #release({ more, restMs = 0 }: { more: boolean; restMs?: number }): Promise<void> {
    const { organisationId, id, lease } = this.endpoint;
    const values = [organisationId, id, lease, more, Math.round(restMs), this.#nothingNew];
    await this.parts.database.query(RELEASE, values);
  }
}
