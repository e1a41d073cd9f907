// One run for a leased endpoint: sends due and new events until nothing is left, or until other endpoints are to be served.
import type { Logger } from 'pino';
import type { EventFeed } from '../../events/feed.js';
import type { Database, Statement } from '../../postgres/database.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import { signingSecrets } from '../endpoints.js';
import { type BatchParts, sendBatch } from './batch.js';
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
import { LeaseLost, type Progress, recordBatch } from './progress.js';

export interface EndpointRunParts extends BatchParts {
  readonly database: Database;
  readonly keys: DataKeys;
  readonly feed: Pick<EventFeed, 'readMerchantAfter'>;
  readonly log: Logger;
  /** An attempt takes no longer. */
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly firstPauseMs: number;
  /** Whether to start nothing more. */
  readonly stopping: () => boolean;
}

interface Batch {
  readonly deliveries: readonly Delivery[];
  /** How far the feed was read. */
  readonly position: number;
  /** Whether there may be more than this batch holds. */
  readonly more: boolean;
}

const SMALLEST_BATCH = 8;
const LARGEST_BATCH = 64;
/** A batch that took longer was too large, one that took less was too small. */
const LONG_BATCH_MS = 4_000;
const SHORT_BATCH_MS = 500;
/** Afterwards other endpoints are served. */
const RUN_MS = 10_000;
const AFTER_ERROR_MS = 5_000;
/** If the feed was read this recently, its newest event was included. */
const RECENT_MS = 300;
/** Beyond this, events stay in the feed instead of waiting in the table. */
export const MOST_WAITING = 1_000;

export class EndpointRun {
  #batchSize = SMALLEST_BATCH;
  /** How far the database's clock is ahead of this process's. */
  readonly #aheadMs: number;

  /** `leasedAtMs`: when the lease was asked for. */
  constructor(
    private readonly parts: EndpointRunParts,
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
      // Events sent but not recorded are sent again by the next holder of the lease.
      await this.#release({ more: true, restMs: AFTER_ERROR_MS }).catch(() => {});
      throw error;
    }
  }

  async #work(): Promise<void> {
    const endsMs = performance.now() + RUN_MS;
    for (;;) {
      const beganMs = performance.now();
      const batch = await this.#read();
      if (batch.deliveries.length === 0 && batch.position === this.endpoint.position) {
        return this.#release({ more: batch.more });
      }
      const progress = await this.#send(batch, beganMs);
      if (progress.ended) return;
      const { restMs } = progress;
      if (this.#failing || progress.disabled !== undefined) return this.#release({ more: false, restMs });
      const tookMs = performance.now() - beganMs;
      if (tookMs > LONG_BATCH_MS) this.#batchSize = Math.max(this.#batchSize / 2, SMALLEST_BATCH);
      else if (tookMs < SHORT_BATCH_MS) this.#batchSize = Math.min(this.#batchSize * 2, LARGEST_BATCH);
      const over = performance.now() > endsMs || this.parts.stopping();
      if (over || restMs > 0) return this.#release({ more: true, restMs });
    }
  }

  get #failing(): boolean {
    return isFailing(this.endpoint);
  }

  /** Whether only waiting events are sent, since nothing gets through or too much waits. */
  get #nothingNew(): boolean {
    return this.#failing || this.endpoint.waiting >= MOST_WAITING;
  }

  /** Due and new events; for a failing endpoint, one due event. */
  async #read(): Promise<Batch> {
    const { organisationId, merchantId, waiting, position, types } = this.endpoint;
    const limit = this.#failing ? 1 : this.parts.pace.busy ? SMALLEST_BATCH : this.#batchSize;
    const due = waiting === 0 ? [] : await this.#dueOrProbes(limit);
    const full = due.length === limit;
    if (this.#nothingNew) return { deliveries: due, position, more: full && !this.#failing };
    const page = await this.parts.feed.readMerchantAfter({ organisationId, merchantId }, position, limit);
    if (page.skipped) this.#logSkipped();
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

  #logSkipped(): void {
    const { organisationId: organisation, merchantId: merchant, id: endpoint } = this.endpoint;
    this.parts.log.warn(
      { organisation, merchant, endpoint },
      'webhook endpoint was away for longer than events are kept: some were not delivered',
    );
  }

  /** Due deliveries; if none is due, those that show whether the endpoint is back: one, or all once it is known to answer. */
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

  /** Drops events that were not delivered while the feed kept them. */
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

  async #send({ deliveries, position, more }: Batch, readAtMs: number): Promise<Progress> {
    const { organisationId, url } = this.endpoint;
    const { database, keys, timeoutMs, leaseMs } = this.parts;
    const secrets = deliveries.length === 0 ? [] : await signingSecrets(keys, this.endpoint);
    const result = await sendBatch(
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
    const progress = await recordBatch(database, this.endpoint, result, { position, caughtUp }, this.parts);
    this.#log(progress);
    this.endpoint = progress.endpoint;
    this.leasedAtMs = recordedAtMs;
    return progress;
  }

  #log({ endpoint: now, disabled, givenUp }: Progress): void {
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
