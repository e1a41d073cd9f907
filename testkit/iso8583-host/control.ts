// The control interface for tests: an HTTP server on loopback that shows the host's books and messages, and changes its
// behaviour.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Rule } from './behaviour.js';
import type { Host, Said } from './host.js';
import type { HostSettings } from './settings.js';
import type { Stall } from './stalls.js';

type Handler = (host: Host, given: never, url: URL) => unknown;

const ROUTES: Readonly<Record<string, Handler>> = {
  'GET /status': (host) => ({
    dialect: host.dialect.name,
    port: host.port,
    settings: host.settings,
    connections: [...host.connections].map(({ number, signedOn, isStalled, held }) => ({
      number,
      signedOn,
      isStalled,
      held: held.length,
    })),
  }),
  'GET /seen': (host, _given, url) => host.seen.after(Number(url.searchParams.get('after') ?? 0)),
  'GET /positions': (host) => Object.fromEntries(host.books.positions()),
  'GET /payments': (host) => host.books.payments(),
  'GET /answer-times': (host) => host.answerTimes.all,
  'GET /complaints': (host) => host.books.complaints,
  'POST /rules': (host, rule: Rule) => host.rules.add(rule),
  'DELETE /rules': (host) => host.rules.clear(),
  'POST /settings': (host, settings: Partial<HostSettings>) => host.set(settings),
  'POST /release': (host) => ({ released: host.release() }),
  'POST /stall': (host, stall: Stall) => ({ connections: host.stall(stall) }),
  'POST /go-on': (host) => host.goOn(),
  'POST /say': (host, said: Said) => host.say(said),
  'POST /close-connections': (host) => host.closeConnections(),
  'POST /stop-listening': (host) => host.stopListening(),
  'POST /listen': (host) => host.listen(),
  'POST /lose-store': (host) => host.loseStore(),
};

export async function openControl(host: Host, port = 0): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    void answer(host, request).then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function answer(host: Host, request: IncomingMessage): Promise<[number, unknown]> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const handler = ROUTES[`${request.method} ${url.pathname}`];
  if (handler === undefined) return [404, { error: `there is ${Object.keys(ROUTES).join(', ')}` }];
  try {
    const text = await read(request);
    return [200, await handler(host, (text === '' ? {} : JSON.parse(text)) as never, url)];
  } catch (error) {
    return [400, { error: (error as Error).message }];
  }
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
