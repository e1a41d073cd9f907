// One side of `npm run proof tenants`, in a process of its own, so that one side's event loop does not disturb the other's:
// many connections, prebuilt requests, and figures of what was answered. Reads what to do from its standard input.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const RECONNECT_MS = 50;
/** Nobody waits for longer until all connections are there. */
const CONNECTING_MS = 20_000;

export interface Job {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** Taken in turn. */
  readonly requests: readonly JobRequest[];
  /** Requests a second in all; without it each connection sends the next one when it has its answer. */
  readonly rate?: number;
  /** How long to stay connected before the first request. */
  readonly idleSeconds?: number;
  /** How many requests in all. */
  readonly count?: number;
  readonly manner?: 'read' | 'never read' | 'never send all' | 'only connect';
  /** How many are sent at once on each connection. */
  readonly pipelined?: number;
}

/** `{serial}` in any text stands for a number that is new each time, `{pair}` for one that comes twice. */
export interface JobRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization?: string;
  readonly correlationId?: string;
  readonly body?: string;
}

/** What came of a job. */
export interface Attended {
  readonly requests: number;
  readonly unsent: number;
  readonly broken: number;
  readonly statuses: Record<string, number>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly lastMs: number;
}

const run = Array.from({ length: 8 }, () =>
  'abcdefghijklmnopqrstuvwxyz'.charAt(Math.floor(Math.random() * 26)),
).join('');

async function attend(job: Job): Promise<Attended> {
  const { port, connections, seconds, requests, rate, manner = 'read', pipelined = 1 } = job;
  const count = job.count ?? Number.POSITIVE_INFINITY;
  const statuses: Record<string, number> = {};
  const latenciesMs: number[] = [];
  const idle: (() => void)[] = [];
  let serial = 0;
  let sent = 0;
  let unsent = 0;
  let broken = 0;
  let stopping = false;

  const text = () => {
    serial += 1;
    const {
      method,
      path,
      authorization,
      correlationId = '{serial}',
      body,
    } = requests[serial % requests.length] as JobRequest;
    const head = [
      `${method} ${path} HTTP/1.1`,
      'host: 127.0.0.1',
      ...(authorization === undefined ? [] : [`authorization: ${authorization}`]),
      `x-correlation-id: ${correlationId}`,
      ...(body === undefined ? [] : ['content-type: application/json', `content-length: {length}`]),
    ].join('\r\n');
    const filled = (template: string) =>
      template.replaceAll('{serial}', `${run}-${serial}`).replaceAll('{pair}', `${run}-${serial >> 1}`);
    const content = body === undefined ? '' : filled(body);
    return `${filled(head).replace('{length}', String(content.length))}\r\n\r\n${content}`;
  };

  const converse = async () => {
    while (!stopping && sent < count) {
      await new Promise<void>((over) => {
        const outstanding: number[] = [];
        let begun: Buffer = Buffer.alloc(0);
        const ask = () => {
          if (stopping || sent >= count) {
            socket.destroy();
            return;
          }
          let packet = '';
          for (let one = 0; one < pipelined; one += 1) {
            sent += 1;
            outstanding.push(performance.now());
            packet += text();
          }
          socket.write(manner === 'never send all' ? packet.slice(0, -1) : packet, 'latin1');
        };
        const rest = rate === undefined ? ask : () => void (stopping ? socket.destroy() : idle.push(ask));
        const socket = connect({ port, host: '127.0.0.1', noDelay: true });
        socket.on('connect', () => {
          if (manner === 'only connect') return;
          if (manner === 'never read') socket.pause();
          rest();
        });
        socket.on('data', (chunk: Buffer) => {
          begun = begun.length === 0 ? chunk : Buffer.concat([begun, chunk]);
          for (let length = wholeLength(begun); length > 0; length = wholeLength(begun)) {
            const status = begun.toString('latin1', 9, 12);
            statuses[status] = (statuses[status] ?? 0) + 1;
            begun = begun.subarray(length);
            const askedMs = outstanding.shift();
            // Nobody asked: who stays silent for long is told so before its connection is closed.
            if (askedMs === undefined) continue;
            latenciesMs.push(performance.now() - askedMs);
            if (outstanding.length === 0) rest();
          }
        });
        socket.on('error', () => {});
        socket.on('close', () => {
          broken += outstanding.length;
          const at = idle.indexOf(ask);
          if (at !== -1) idle.splice(at, 1);
          over();
        });
        closing.add(socket);
        socket.once('close', () => closing.delete(socket));
      });
      if (!stopping && sent < count) await sleep(RECONNECT_MS);
    }
  };

  const closing = new Set<Socket>();
  const conversations = Array.from({ length: connections }, converse);
  // A crowd of new connections is another matter than a crowd of requests.
  const giveUpMs = performance.now() + CONNECTING_MS;
  while (rate !== undefined && idle.length < connections && performance.now() < giveUpMs) await sleep(5);
  await sleep(1000 * (job.idleSeconds ?? 0));
  const startedMs = performance.now();
  let due = 0;
  const pace =
    rate === undefined
      ? undefined
      : setInterval(() => {
          const dueByNow = ((performance.now() - startedMs) / 1000) * rate;
          for (; due < dueByNow && !stopping; due += 1) {
            const ask = idle.shift();
            if (ask === undefined) unsent += 1;
            else ask();
          }
        }, 5);
  const untilMs = startedMs + seconds * 1000;
  while (performance.now() < untilMs && !(sent >= count && latenciesMs.length >= count)) await sleep(20);
  stopping = true;
  clearInterval(pace);
  // Those who only measure wait for their last answers; the others need not.
  const answered = Promise.all(conversations);
  if (rate !== undefined || job.count !== undefined) {
    for (const ask of idle.splice(0)) ask();
    await Promise.race([answered, sleep(15_000, undefined, { ref: false })]);
  }
  const lasting = { requests: sent, unsent, broken, statuses };
  for (const socket of closing) socket.destroy();
  latenciesMs.sort((one, other) => one - other);
  const at = (share: number) =>
    Math.round((latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0) * 10) / 10;
  return { ...lasting, p50Ms: at(0.5), p99Ms: at(0.99), lastMs: at(0.99999) };
}

/** Of the first response, if it is there to its end; 0 otherwise. */
function wholeLength(received: Buffer): number {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return 0;
  const head = received.toString('latin1', 0, headEnd).toLowerCase();
  const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
  return received.length >= headEnd + 4 + length ? headEnd + 4 + length : 0;
}

let asked = '';
for await (const chunk of process.stdin) asked += chunk;
process.stdout.write(`${JSON.stringify(await attend(JSON.parse(asked)))}\n`);
process.exit(0);
