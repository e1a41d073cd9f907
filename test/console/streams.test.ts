// Pages that watch: what they are sent, how many there may be, and that a stream ends with its session.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConsoleProblem } from '../../src/console/problems.js';
import { EventStream } from '../../src/console/route.js';
import { Streams } from '../../src/console/streams.js';

const streams = new Streams();
const ended = new Set<string>();
let server: Server;
let url: string;

/** A value now, and then nothing for as long as anybody listens. */
async function* values(session: string) {
  yield { session };
  await new Promise(() => {});
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const session = (request.url ?? '').slice(1);
    const goesOn = async () => !ended.has(session);
    streams.send(response, new EventStream(values(session)), { session, goesOn }).catch((error: unknown) => {
      response.writeHead(error instanceof ConsoleProblem ? 429 : 500).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  streams.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function watch(session: string) {
  const gone = new AbortController();
  const response = await fetch(`${url}/${session}`, { signal: gone.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    status: response.status,
    headers: response.headers,
    leave: () => gone.abort(),
    /** Everything up to these words, or all that comes. */
    async until(words: string): Promise<string> {
      while (!text.includes(words)) {
        const read = await reader?.read();
        if (read === undefined || read.done) break;
        text += read.value;
      }
      return text;
    },
  };
}

test('a value → sent at once, as an event that must not be cached', async () => {
  const page = await watch('one');
  expect(await page.until('"one"')).toBe('retry: 2000\n\ndata: {"session":"one"}\n\n');
  expect([page.headers.get('content-type'), page.headers.get('cache-control')]).toEqual([
    'text/event-stream; charset=utf-8',
    'no-store',
  ]);
  page.leave();
});

test('a session that ends → its pages get an event, and the stream ends', async () => {
  const page = await watch('ending');
  await page.until('"ending"');
  ended.add('ending');
  expect(await page.until('until the end')).toMatch(/event: signed_out\ndata: \{\}\n\n$/);
});

test('a fifth page of one session → 429; a page of another session is served; after one closes, there is room again', async () => {
  const pages = await Promise.all([1, 2, 3, 4].map(() => watch('busy')));
  expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect((await watch('busy')).status).toBe(429);
  const other = await watch('other');
  expect(other.status).toBe(200);
  pages[0]?.leave();
  await expect.poll(async () => (await watch('busy')).status).toBe(200);
});
