// Keeps the embedded PostgreSQL running: one that was killed, or that crashed, is started again under the same address, with growing
// pauses, and without ever giving up.
import { setTimeout as sleep } from 'node:timers/promises';
import { findPostmaster } from './process.js';
import type { Presence } from './sessions.js';

/** What an operator wants to know of it. */
export interface KeeperReports {
  /** The server has ended by itself. Told once, however long it takes to start it again. */
  readonly onEnded: () => void;
  /** It could not be started, and is tried again. Told when it is for another reason than the last time. */
  readonly onNotStarted: (reason: string) => void;
  readonly onRunning: (after: { readonly attempts: number; readonly seconds: number }) => void;
}

interface Attended {
  readonly pid: number;
  /** The session of this process: it ends when the server does. */
  readonly presence: Presence;
}

export interface KeeperParts {
  readonly cluster: string;
  readonly first: Attended;
  /** Finds the server that another process has started meanwhile, or starts one; never a second one. */
  readonly startAgain: (signal: AbortSignal) => Promise<Attended>;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;

export class Keeper {
  readonly #ending = new AbortController();
  #server: Attended;
  #keeping: Promise<void> = Promise.resolve();
  #starting = false;

  constructor(private readonly parts: KeeperParts) {
    this.#server = parts.first;
  }

  begin(told: KeeperReports): void {
    this.#keeping = this.#keep(told);
  }

  /** Nothing is started any more. Says which server this was, and whether it was just being started. */
  async end(): Promise<{ readonly pid: number; readonly starting: boolean }> {
    this.#ending.abort();
    const starting = this.#starting;
    await Promise.all([this.#server.presence.end(), this.#keeping]);
    return { pid: this.#server.pid, starting };
  }

  async #keep(told: KeeperReports): Promise<void> {
    for (;;) {
      await this.#server.presence.over;
      if (this.#ended) return;
      this.#starting = true;
      await this.#startAgain(told);
      this.#starting = false;
      if (this.#ended) return this.#server.presence.end();
    }
  }

  async #startAgain(told: KeeperReports): Promise<void> {
    const beganMs = performance.now();
    const former = this.#server.pid;
    // When a session crashes, the server ends all the others, ours too, and goes on by itself.
    const found = await findPostmaster(this.parts.cluster).catch(() => undefined);
    const wentOn = found !== undefined && 'pid' in found && found.state !== 'stopping';
    let ended = !wentOn;
    if (ended) told.onEnded();
    let reason: string | undefined;
    for (let attempts = 1; !this.#ended; attempts += 1) {
      try {
        this.#server = await this.parts.startAgain(this.#ending.signal);
        const seconds = Math.round((performance.now() - beganMs) / 100) / 10;
        if (this.#server.pid === former) return;
        if (!ended) told.onEnded();
        told.onRunning({ attempts, seconds });
        return;
      } catch (error) {
        if (this.#ended) return;
        const { message } = error as Error;
        // It has not gone on after all.
        if (!ended) told.onEnded();
        ended = true;
        // guard(embedded PostgreSQL: one that cannot be started is tried again): if (message !== reason) told.onNotStarted(message) ⇒ told.onNotStarted(message); ⏎ this.#ending.abort(); ⏎ return
        if (message !== reason) told.onNotStarted(message);
        reason = message;
      }
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS);
      await sleep(pauseMs, undefined, { signal: this.#ending.signal }).catch(() => {});
    }
  }

  get #ended(): boolean {
    return this.#ending.signal.aborted;
  }
}
