// Logs once that the database is lost and once that it is back, however many sessions and statements fail meanwhile.
import type { Logger } from 'pino';
import { DatabaseUnavailable } from '../../postgres/database.js';
import { reasonOf } from '../database/connection.js';

/** The pause between retries while the database is lost. */
const TRY_AGAIN_MS = 200;

export class DatabaseWatch {
  #suspectedMs: number | undefined;
  #lost: { readonly sinceMs: number; readonly cause: string } | undefined;
  #heartbeat: () => void = () => {};
  /** Failures of each background job, except for a lost database or a full disk, which have metrics of their own. */
  readonly failures = new Map<string, number>();
  /** Jobs without an answer from the database, until the heartbeat shows whether it is lost. */
  #unanswered: string[] = [];

  constructor(private readonly log: Logger) {}

  get lost(): boolean {
    return this.#lost !== undefined;
  }

  /** The heartbeat decides: it commits, so it can tell a writable database from a read-only one. */
  goBy(heartbeat: () => void): void {
    this.#heartbeat = heartbeat;
  }

  /** Something failed, and the heartbeat shall find out why. */
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

  /** A background job failed. The heartbeat decides whether the database is lost. */
  jobFailed(job: string, error: unknown): void {
    if (error instanceof DatabaseUnavailable) {
      // The disk watch reports a full disk once.
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
