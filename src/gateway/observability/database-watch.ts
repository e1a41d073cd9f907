// Tells the operator once that the database is lost and once that it is back, however many sessions and statements fail meanwhile.
import type { Logger } from 'pino';
import { DatabaseUnavailable } from '../../postgres/database.js';
import { reasonOf } from '../database/connection.js';

/** So soon it is tried again while the database is away. */
const TRY_AGAIN_MS = 200;

export class DatabaseWatch {
  #suspectedMs: number | undefined;
  #lost: { readonly sinceMs: number; readonly cause: string } | undefined;
  #heartbeat: () => void = () => {};
  /** How often each background job has failed, other than because the database was lost or its disk full: that has figures of its own. */
  readonly failures = new Map<string, number>();
  /** Jobs that got no answer from the database, until the heartbeat says whether it is lost. */
  #unanswered: string[] = [];

  constructor(private readonly log: Logger) {}

  get lost(): boolean {
    return this.#lost !== undefined;
  }

  /** The heartbeat decides: it commits, and so tells a database that can be paid with from one that can only be read. */
  goBy(heartbeat: () => void): void {
    this.#heartbeat = heartbeat;
  }

  /** Something failed, and the heartbeat shall find out what it means. */
  suspect(): void {
    if (this.#lost !== undefined) return;
    this.#suspectedMs ??= performance.now();
    this.#heartbeat();
  }

  heartbeatFailed(error: unknown): void {
    if (!(error instanceof DatabaseUnavailable)) {
      this.#jobFailed('heartbeat', error);
      return;
    }
    this.#unanswered = [];
    setTimeout(this.#heartbeat, TRY_AGAIN_MS).unref();
    if (this.#lost !== undefined) return;
    this.#lost = { sinceMs: this.#suspectedMs ?? performance.now(), cause: reasonOf(error) };
    this.log.error({ cause: this.#lost.cause }, 'database lost');
  }

  heartbeatCommitted(): void {
    this.#suspectedMs = undefined;
    for (const job of this.#unanswered.splice(0)) this.#count(job);
    if (this.#lost === undefined) return;
    const { sinceMs, cause } = this.#lost;
    this.#lost = undefined;
    const seconds = Math.round((performance.now() - sinceMs) / 100) / 10;
    this.log.warn({ cause, seconds }, 'database back');
  }

  /** Something in the background failed. Whether the database is lost is for the heartbeat to say. */
  jobFailed(job: string, error: unknown): void {
    if (error instanceof DatabaseUnavailable) {
      // A full disk is told of once, by who looks after it.
      if (error.diskFull) return;
      if (error.serverGone) {
        if (!this.lost) this.#unanswered.push(job);
        this.suspect();
        return;
      }
    }
    this.#jobFailed(job, error);
  }

  #count(job: string): void {
    this.failures.set(job, (this.failures.get(job) ?? 0) + 1);
  }

  #jobFailed(job: string, error: unknown): void {
    this.#count(job);
    const { name, code } = error as { name?: string; code?: string };
    this.log.warn({ job, name, code }, 'background job failed');
  }
}
