// Whether the database's disk has space. A heartbeat cannot tell, since it updates an existing row, while a payment needs new
// disk pages. So a write is tried once a second, and the log says once that the disk is full and once that it is not.
import type { Logger } from 'pino';
import { DatabaseUnavailable, type Queryable } from '../../postgres/database.js';
import { WRITE_TO_DISK } from './disk-watch.sql.js';

/** After a statement found the disk full, the disk counts as full for this long, even if the test write succeeds. */
const BELIEVED_MS = 5_000;

export class DiskWatch {
  #fullSinceMs: number | undefined;
  #refusedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly log: Logger) {}

  get full(): boolean {
    return this.#fullSinceMs !== undefined;
  }

  /** A statement found the disk full. The pools report every one. */
  refused(): void {
    this.#refusedAtMs = performance.now();
    if (this.#fullSinceMs !== undefined) return;
    this.#fullSinceMs = this.#refusedAtMs;
    this.log.error('the disk of the database is full');
  }

  async look(database: Queryable): Promise<void> {
    try {
      await database.query(WRITE_TO_DISK);
    } catch (error) {
      // Its pool has reported it.
      if (error instanceof DatabaseUnavailable && error.diskFull) return;
      throw error;
    }
    if (performance.now() - this.#refusedAtMs > BELIEVED_MS) this.#over();
  }

  #over(): void {
    if (this.#fullSinceMs === undefined) return;
    const seconds = Math.round((performance.now() - this.#fullSinceMs) / 100) / 10;
    this.#fullSinceMs = undefined;
    this.log.warn({ seconds }, 'the disk of the database has space again');
  }
}
