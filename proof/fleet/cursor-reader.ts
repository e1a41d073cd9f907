// A reader of the feed that goes on with the cursor it has, through every move of its organisation.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../../testkit/bodies.js';
import { type CallAnswer, Unanswered } from '../../testkit/caller.js';
import type { Calling } from '../arena/shop.js';

/** Answers that say nothing about events: it asks again, with the same cursor. */
const TRIED_AGAIN = [408, 421, 502, 503, 504];
const PAUSE_MS = 200;
const READ_AGAIN_LIMIT_MS = 60_000;

/** As much of an event as is judged. */
export interface ToldEvent {
  readonly id: string;
  readonly type: string;
  readonly version: number;
}

export class CursorReader {
  readonly events: ToldEvent[] = [];
  readonly complaints: string[] = [];
  unanswered = 0;
  #next: string | undefined;
  /** Cursors that it was given before moves, and how many events it had by then. */
  readonly #kept: { readonly cursor: string; readonly count: number }[] = [];

  constructor(
    private readonly calling: Calling,
    private readonly merchantId: number,
  ) {}

  /** Until it is told to stop. */
  async follow(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const found = await this.#read(this.#next, 5);
      if (found === undefined) {
        await sleep(PAUSE_MS);
        continue;
      }
      this.events.push(...found.events);
      this.#next = found.next;
    }
  }

  keepCursor(): void {
    if (this.#next !== undefined) this.#kept.push({ cursor: this.#next, count: this.events.length });
  }

  /** Reads once more from each cursor that it has kept: what comes must be what has come then. */
  async readAgain(): Promise<string[]> {
    const complaints: string[] = [];
    for (const { cursor, count } of this.#kept) {
      const expected = this.events.slice(count).map(({ id }) => id);
      const again: string[] = [];
      const untilMs = performance.now() + READ_AGAIN_LIMIT_MS;
      for (let next = cursor; again.length < expected.length && performance.now() < untilMs; ) {
        const found = await this.#read(next, 0);
        again.push(...(found?.events ?? []).map(({ id }) => id));
        next = found?.next ?? next;
      }
      if (again.join() !== expected.join())
        complaints.push(
          `merchant ${this.merchantId}: ${again.length} events after its cursor at ${count}, of ${expected.length}`,
        );
    }
    return complaints;
  }

  async #read(
    after: string | undefined,
    wait: number,
  ): Promise<{ events: ToldEvent[]; next: string } | undefined> {
    const query = new URLSearchParams({
      merchant_id: String(this.merchantId),
      limit: '100',
      wait: String(wait),
      ...(after !== undefined && { after }),
    });
    let answer: CallAnswer;
    try {
      answer = await this.calling('GET', `/events?${query}`, { timeoutMs: 15_000 });
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      this.unanswered += 1;
      return undefined;
    }
    if (answer.status !== 200) {
      this.unanswered += 1;
      if (!TRIED_AGAIN.includes(answer.status))
        this.complaints.push(`the feed answered ${answer.status} ${answer.code}`);
      return undefined;
    }
    const { results, _links } = answer.body;
    return {
      events: (results as Json[]).map(({ id, type, version }) => ({ id, type, version })),
      next: new URL(_links.next.href, 'http://localhost').searchParams.get('after') ?? '',
    };
  }
}
