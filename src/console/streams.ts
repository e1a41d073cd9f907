// Pages that watch: each has a stream of server-sent events, which ends with its session. There are few of them.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ConsoleProblem } from './problems.js';
import type { EventStream } from './route.js';

const MOST_STREAMS = 64;
/** An operator may have several tabs open. */
const MOST_OF_A_SESSION = 4;
const LOOK_AT_SESSION_EVERY_MS = 2_000;

export interface Watching {
  readonly session: string;
  /** Whether the session still lasts. */
  goesOn(): Promise<boolean>;
}

export class Streams {
  readonly #open = new Map<ServerResponse, string>();

  /** Returns when the browser has gone, the session has ended, or nothing more will come. */
  async send(response: ServerResponse, { values }: EventStream, watching: Watching): Promise<void> {
    const ofSession = [...this.#open.values()].filter((session) => session === watching.session);
    if (this.#open.size >= MOST_STREAMS || ofSession.length >= MOST_OF_A_SESSION)
      throw new ConsoleProblem('too_many_streams', [], 5);
    this.#open.set(response, watching.session);
    const iterator = values[Symbol.asyncIterator]();
    // A database that cannot be asked says nothing about the session; it is asked again.
    const looking = setInterval(async () => {
      if (await watching.goesOn().catch(() => true)) return;
      response.end('event: signed_out\ndata: {}\n\n');
    }, LOOK_AT_SESSION_EVERY_MS);
    const closed = new Promise<void>((resolve) => response.once('close', resolve));
    try {
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
      });
      // The browser is told at once that it is connected, and how soon to come back.
      response.write('retry: 2000\n\n');
      await Promise.race([closed, pump(iterator, response)]);
    } finally {
      clearInterval(looking);
      this.#open.delete(response);
      response.end();
      // It may be waiting for something that takes long.
      void iterator.return?.().then(undefined, () => {});
    }
  }

  close(): void {
    for (const response of this.#open.keys()) response.end();
  }
}

async function pump(values: AsyncIterator<unknown>, response: ServerResponse): Promise<void> {
  for (let next = await values.next(); !next.done && !response.writableEnded; next = await values.next()) {
    // Whoever reads slowly gets less often what is newest.
    if (!response.write(`data: ${JSON.stringify(next.value)}\n\n`)) await once(response, 'drain');
  }
}
