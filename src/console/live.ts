// Pages that watch: one reader of the database for all of them, once a second, and none where nobody watches.
import { setTimeout as sleep } from 'node:timers/promises';
import { type LiveFigures, type LiveScope, type Moment, readLive } from '../figures/live.js';
import type { Queryable } from '../postgres/database.js';

const EVERY_MS = 1_000;

interface Watched {
  readonly scope: LiveScope;
  watchers: number;
  changed: number;
  mark: string;
  figures: LiveFigures | undefined;
}

export class Live {
  readonly #watched = new Map<string, Watched>();
  #round: Promise<void> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  #fails = false;

  constructor(
    private readonly database: Queryable,
    /** Told when it begins to fail. */
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Everything since it was called, at most once a second, until it is told to stop. */
  async *figures(scope: LiveScope, signal: AbortSignal): AsyncGenerator<LiveFigures> {
    const key = `${scope.organisation ?? ''}/${scope.mode ?? ''}`;
    const watched = this.#watched.get(key) ?? {
      scope,
      watchers: 0,
      changed: 0,
      mark: '',
      figures: undefined,
    };
    this.#watched.set(key, watched);
    watched.watchers += 1;
    try {
      let last: LiveFigures | undefined;
      while (!signal.aborted) {
        if (watched.figures !== undefined && watched.figures !== last) {
          last = watched.figures;
          yield last;
        } else await this.#next();
      }
    } finally {
      watched.watchers -= 1;
      if (watched.watchers === 0) this.#watched.delete(key);
    }
  }

  /** Everybody who waits shares it. */
  #next(): Promise<void> {
    this.#round ??= this.#read().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  async #read(): Promise<void> {
    const leftMs = this.#readAtMs + EVERY_MS - performance.now();
    if (leftMs > 0) await sleep(leftMs);
    this.#readAtMs = performance.now();
    const all = [...this.#watched.values()];
    const moments = await this.#moments(all.map(({ scope }) => scope));
    for (const [place, { mark, ...figures }] of moments.entries()) {
      const watched = all[place] as Watched;
      if (mark !== watched.mark) watched.changed += 1;
      watched.mark = mark;
      watched.figures = { ...figures, changed: watched.changed };
    }
  }

  /** A database that cannot be read now is read again in a second; whoever watches sees that nothing comes. */
  async #moments(scopes: readonly LiveScope[]): Promise<readonly Moment[]> {
    try {
      const moments = await readLive(this.database, scopes);
      this.#fails = false;
      return moments;
    } catch (error) {
      if (!this.#fails) this.onError(error);
      this.#fails = true;
      return [];
    }
  }
}
