// Receives the gateway's webhooks: verifies them, writes them into the books, and only then acknowledges them.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { verifyWebhook, WebhookRejected } from 'tollgate-client';
import type { Books } from './books.js';

const MOST_BYTES = 1_000_000;

export async function receiveWebhooks(books: Books, secret: string, port: number): Promise<Server> {
  const server = createServer(async (request, response) => {
    try {
      const body = await bodyOf(request);
      const event = await verifyWebhook({ body, headers: request.headers, secret });
      await books.apply(event);
      response.writeHead(204).end();
    } catch (error) {
      // The gateway sends it again, because it was not acknowledged.
      response.writeHead(error instanceof WebhookRejected ? 400 : 500).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}

async function bodyOf(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new WebhookRejected('not_an_event');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
