// Receivers of webhooks for the bench, in a process of their own: one that is fast, one that is slow, and an address where nobody
// listens. Their addresses are printed as one line of JSON.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const SLOW_MS = 2_000;

async function listen(pauseMs: number): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (pauseMs === 0) response.writeHead(204).end();
      else setTimeout(() => response.writeHead(204).end(), pauseMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/webhooks`, close: () => server.close() };
}

const [fast, slow, dead] = [await listen(0), await listen(SLOW_MS), await listen(0)];
dead.close();
process.stdout.write(`${JSON.stringify({ fast: fast.url, slow: slow.url, dead: dead.url })}\n`);
