// A merchant's backend that follows the feed of events and is killed again and again: it knows no more than what it has stored, the
// events and where to go on, together.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../testkit/bodies.js';
import { call, Unanswered } from '../testkit/caller.js';
import type { Chance } from '../testkit/chance.js';
import type { CalledGateway } from './shop.js';

export interface FeedReaderOptions {
  readonly gateways: readonly CalledGateway[];
  readonly random: Chance;
  readonly authorization: string;
  readonly merchantId: number;
}

export class FeedReader {
  /** What it has stored. */
  readonly events: Json[] = [];
  #next: string;
  /** How often it died with a request on its way, and how often nobody could tell it anything. */
  deaths = 0;
  unanswered = 0;
  readonly complaints: string[] = [];
  readonly #options: FeedReaderOptions;

  constructor(options: FeedReaderOptions) {
    this.#options = options;
    this.#next = `/events?merchant_id=${options.merchantId}`;
  }

  /** Until it is over, and then to the end of the feed. */
  async follow(isOver: () => boolean): Promise<void> {
    for (;;) {
      const last = isOver();
      const found = await this.#read(last);
      if (last && found === 0) return;
      if (found === undefined) await sleep(50);
    }
  }

  /** How many events were stored; undefined where it was killed, or not answered. */
  async #read(inPeace: boolean): Promise<number | undefined> {
    const { gateways, random, authorization } = this.#options;
    const listening = gateways.filter(({ baseUrl }) => baseUrl !== undefined);
    const { baseUrl } = random.pick(listening.length > 0 ? listening : gateways);
    const dies = !inPeace && random.percent(20);
    const path = changed(this.#next, {
      limit: random.pick([1, 7, 100]),
      wait: inPeace ? 0 : random.pick([0, 0, 1, 5]),
    });
    try {
      const { status, body, code } = await call({ baseUrl, authorization }, 'GET', path, {
        timeoutMs: dies ? random.between(1, 100) : 10_000,
      });
      if (status === 200) {
        // One commit of its own database.
        this.events.push(...body.results);
        this.#next = body._links.next.href.slice('/v1'.length);
        return body.results.length;
      }
      if (status !== 503) this.complaints.push(`the feed answered ${status} ${code}`);
      this.unanswered += 1;
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      if (dies) this.deaths += 1;
      else this.unanswered += 1;
    }
    return undefined;
  }
}

function changed(path: string, parameters: Readonly<Record<string, number>>): string {
  const [address, query] = path.split('?') as [string, string];
  const all = new URLSearchParams(query);
  for (const [name, value] of Object.entries(parameters)) all.set(name, String(value));
  return `${address}?${all}`;
}
