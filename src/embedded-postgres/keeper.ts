// Keeps the embedded PostgreSQL running: restarts a server that was killed or crashed, on the same port, with growing pauses, and never
// gives up.
import { setTimeout as sleep } from 'node:timers/promises';
import { findPostmaster } from './process.js';
import type { ServerSession } from './sessions.js';

/** Events for the operator. */
export interface KeeperReports {
  /** The server has ended by itself. Reported once, however long the restart takes. */
  readonly onEnded: () => void;
  /** The server could not be started, and is tried again. Reported once for each reason. */
  readonly onNotStarted: (reason: string) => void;
  readonly onRunning: (after: { readonly attempts: number; readonly seconds: number }) => void;
}

interface ServerInUse {
  readonly pid: number;
  /** This process's session: it ends when the server does. */
  readonly session: ServerSession;
}

export interface KeeperParts {
  readonly cluster: string;
  readonly first: ServerInUse;
  /** Finds the server that another process has started in the meantime, or starts one; never a second one. */
  readonly startAgain: (signal: AbortSignal) => Promise<ServerInUse>;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;

export class Keeper {
  readonly #ending = new AbortController();
  #server: ServerInUse;
  #keeping: Promise<void> = Promise.resolve();
  #starting = false;

  constructor(private readonly parts: KeeperParts) {
    this.#server = parts.first;
  }

  begin(reports: KeeperReports): void {
    this.#keeping = this.#keep(reports);
  }

  /** Stops restarting. Returns which server this was, and whether it was just being started. */
  async end(): Promise<{ readonly pid: number; readonly starting: boolean }> {
    this.#ending.abort();
    const starting = this.#starting;
    await Promise.all([this.#server.session.end(), this.#keeping]);
    return { pid: this.#server.pid, starting };
  }

  async #keep(reports: KeeperReports): Promise<void> {
    for (;;) {
      await this.#server.session.over;
      if (this.#ended) return;
      this.#starting = true;
      await this.#startAgain(reports);
      this.#starting = false;
      if (this.#ended) return this.#server.session.end();
    }
  }

  async #startAgain(reports: KeeperReports): Promise<void> {
    const beganMs = performance.now();
    const former = this.#server.pid;
    // When a session crashes, the server ends all other sessions, including this one, and continues by itself.
    const found = await findPostmaster(this.parts.cluster).catch(() => undefined);
    const wentOn = found !== undefined && 'pid' in found && found.state !== 'stopping';
    let ended = !wentOn;
    if (ended) reports.onEnded();
    let reason: string | undefined;
    for (let attempts = 1; !this.#ended; attempts += 1) {
      try {
        this.#server = await this.parts.startAgain(this.#ending.signal);
        const seconds = Math.round((performance.now() - beganMs) / 100) / 10;
        if (this.#server.pid === former) return;
        if (!ended) reports.onEnded();
        reports.onRunning({ attempts, seconds });
        return;
      } catch (error) {
        if (this.#ended) return;
        const { message } = error as Error;
        // The server has not continued after all.
        if (!ended) reports.onEnded();
        ended = true;
        // guard(embedded PostgreSQL: one that cannot be started is tried again): if (message !== reason) reports.onNotStarted(message) ⇒ reports.onNotStarted(message); ⏎ this.#ending.abort(); ⏎ return
        if (message !== reason) reports.onNotStarted(message);
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
