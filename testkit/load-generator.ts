// A cheap load generator: raw sockets, prebuilt requests, just enough HTTP to find the end of a response. Runs as a process of
// its own, which reads its task from standard input.
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const DELAY_RESOLUTION_MS = 2;

export interface Load {
  readonly host?: string;
  readonly port: number;
  readonly connections: number;
  /** How long, unless a count ends it sooner. */
  readonly seconds?: number;
  /** How many requests. */
  readonly count?: number;
  /**
   * Requests a second, sent when they are due whether others are answered or not; without it each connection sends the next one
   * when it has its answer.
   */
  readonly rate?: number;
  /** At a rate: each so long after the one before, or when chance has it (a Poisson process). */
  readonly arrivals?: 'regular' | 'by chance';
  /** Whether to report the latency of each request. */
  readonly keepsLatencies?: boolean;
  /** Requests of the first so many seconds are also reported separately. */
  readonly firstSeconds?: number;
  readonly authorization: string;
  readonly method: 'POST' | 'GET';
  /** Taken in turn. */
  readonly paths: readonly string[];
  readonly body?: string;
  /** Who call, in turns, each with a body of its own; in place of the one above. */
  readonly callers?: readonly { readonly authorization: string; readonly body: string }[];
}

export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadResult extends Latencies {
  readonly perSecond: number;
  readonly byStatus: Record<string, Latencies & { readonly perSecond: number }>;
  /** Of what was sent in the first seconds, and of what was sent later. */
  readonly first: Record<string, Latencies>;
  readonly later: Record<string, Latencies>;
  /** How late the load generator itself is: the limit of every latency's precision. */
  readonly ownDelay: Latencies;
  readonly requests: number;
  /** That were due while no connection was free. */
  readonly unsent: number;
  /** What every correlation ID of this load begins with. */
  readonly run: string;
  readonly cpuSeconds: number;
  readonly statuses: Record<string, number>;
  /** How many were answered in each second of the clock, by the seconds since 1970. */
  readonly bySecond: Record<string, number>;
  /** The number behind its correlation ID's run, and its latency, of each request; empty unless they are kept. */
  readonly latencies: readonly (readonly [number, number])[];
}

export async function generate({
  host = '127.0.0.1',
  port,
  connections,
  seconds = 600,
  count = Number.POSITIVE_INFINITY,
  rate,
  arrivals = 'regular',
  keepsLatencies = false,
  firstSeconds = 0,
  authorization,
  method,
  paths,
  body,
  callers = [],
}: Load): Promise<LoadResult> {
  const latenciesMs: number[] = [];
  const latencies: [number, number][] = [];
  const latenciesByStatus: Record<string, number[]> = {};
  const firstByStatus: Record<string, number[]> = {};
  const laterByStatus: Record<string, number[]> = {};
  const statuses: Record<string, number> = {};
  const bySecond: Record<string, number> = {};
  const idle: (() => void)[] = [];
  let unsent = 0;
  // Letters only: many digits in a row can look like a card number, and are refused then.
  const run = randomBytes(6)
    .toString('hex')
    .replaceAll(/[0-9]/g, (digit) => 'ghijklmnop'.charAt(Number(digit)));
  let sent = 0;
  let stopping = false;

  const written = [{ authorization, body }, ...callers].map((caller) => ({
    opening: `host: ${host}\r\nauthorization: ${caller.authorization}\r\n`,
    ending:
      caller.body === undefined
        ? '\r\n\r\n'
        : `\r\ncontent-type: application/json\r\ncontent-length: ${caller.body.length}\r\n\r\n${caller.body}`,
  }));
  const turns = callers.length === 0 ? written : written.slice(1);
  const request = () => {
    sent += 1;
    const path = paths[sent % paths.length];
    const { opening, ending } = turns[sent % turns.length] as (typeof turns)[number];
    return `${method} ${path} HTTP/1.1\r\n${opening}x-correlation-id: ${run}-${sent}${ending}`;
  };

  const converse = (): Promise<void> =>
    new Promise((resolve, reject) => {
      let startedMs = 0;
      let number = 0;
      let state: 'idle' | 'asking' | 'over' = 'idle';
      // The part of a response that came so far, if it did not come at once.
      let begun: Buffer | undefined;
      const ask = () => {
        if (stopping || sent >= count) {
          state = 'over';
          socket.destroy();
          resolve();
          return;
        }
        state = 'asking';
        startedMs = performance.now();
        socket.write(request(), 'latin1');
        number = sent;
      };
      const rest = rate === undefined ? ask : () => void (stopping ? ask() : idle.push(ask));
      const receive = (length: number, buffer: Uint8Array) => {
        const chunk = Buffer.from(buffer.buffer, buffer.byteOffset, length);
        const received = begun === undefined ? chunk : Buffer.concat([begun, chunk]);
        if (!isWhole(received)) {
          begun = Buffer.from(received);
          return true;
        }
        begun = undefined;
        state = 'idle';
        const status = received.toString('latin1', 9, 12);
        statuses[status] = (statuses[status] ?? 0) + 1;
        const second = Math.floor(Date.now() / 1000);
        bySecond[second] = (bySecond[second] ?? 0) + 1;
        const latencyMs = performance.now() - startedMs;
        latenciesMs.push(latencyMs);
        if (keepsLatencies) latencies.push([number, latencyMs]);
        latenciesByStatus[status] ??= [];
        latenciesByStatus[status].push(latencyMs);
        const period = startedMs < firstUntilMs() ? firstByStatus : laterByStatus;
        period[status] ??= [];
        period[status].push(latencyMs);
        rest();
        return true;
      };
      // Into one buffer and past the stream: an object less, and an event less, for each response.
      const onread = { buffer: Buffer.allocUnsafe(65_536), callback: receive };
      const socket = connect({ host, port, noDelay: true, onread });
      socket.on('connect', rest);
      socket.on('error', reject);
      // The gateway may close a connection on which nothing is asked. Another takes its place.
      socket.on('close', () => {
        if (state === 'asking') reject(new Error('a connection was closed before its answer came'));
        if (state !== 'idle') return;
        const place = idle.indexOf(ask);
        if (place !== -1) idle.splice(place, 1);
        resolve(stopping ? undefined : converse());
      });
    });

  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  const startedCpu = process.cpuUsage();
  const startedMs = performance.now();
  const bell = setTimeout(() => {
    stopping = true;
    for (const ask of idle.splice(0)) ask();
  }, seconds * 1000);
  /** When the next one is due, in milliseconds since the first. */
  let dueMs = 0;
  let pacedFromMs = Number.POSITIVE_INFINITY;
  const firstUntilMs = () => (Number.isFinite(pacedFromMs) ? pacedFromMs : startedMs) + 1000 * firstSeconds;
  const pace =
    rate === undefined
      ? undefined
      : setInterval(() => {
          // Not before all connections are there: a crowd of new ones is another matter than a crowd of requests.
          if (pacedFromMs === Number.POSITIVE_INFINITY && idle.length === connections)
            pacedFromMs = performance.now() + 500;
          const sinceMs = performance.now() - pacedFromMs;
          for (; dueMs < sinceMs && !stopping; dueMs += gapMs(rate, arrivals)) {
            const ask = idle.shift();
            if (ask === undefined) unsent += 1;
            else ask();
          }
        }, 2);
  await Promise.all(Array.from({ length: connections }, converse));
  clearTimeout(bell);
  clearInterval(pace);
  const fromMs = Number.isFinite(pacedFromMs) ? pacedFromMs : startedMs;
  const elapsedSeconds = (performance.now() - fromMs) / 1000;
  const { user, system } = process.cpuUsage(startedCpu);
  return {
    perSecond: Math.round(latenciesMs.length / elapsedSeconds),
    ...percentiles(latenciesMs),
    byStatus: Object.fromEntries(
      Object.entries(latenciesByStatus).map(([status, each]) => [
        status,
        { perSecond: Math.round(each.length / elapsedSeconds), ...percentiles(each) },
      ]),
    ),
    first: percentilesOfEach(firstByStatus),
    later: percentilesOfEach(laterByStatus),
    ownDelay: { p50Ms: delayMs(delay.percentile(50)), p99Ms: delayMs(delay.percentile(99)) },
    requests: latenciesMs.length,
    unsent,
    run,
    cpuSeconds: (user + system) / 1_000_000,
    statuses,
    bySecond,
    latencies,
  };
}

/** From one request that is due to the next. */
function gapMs(rate: number, arrivals: NonNullable<Load['arrivals']>): number {
  return (arrivals === 'regular' ? 1 : -Math.log(1 - Math.random())) * (1000 / rate);
}

function percentilesOfEach(byStatus: Record<string, number[]>): Record<string, Latencies> {
  return Object.fromEntries(Object.entries(byStatus).map(([status, each]) => [status, percentiles(each)]));
}

/** What was measured is the time from one timer to the next. */
function delayMs(intervalNs: number): number {
  return Number(Math.max(0, intervalNs / 1_000_000 - DELAY_RESOLUTION_MS).toFixed(2));
}

function percentiles(latenciesMs: number[]): Latencies {
  latenciesMs.sort((one, other) => one - other);
  const at = (share: number) => Number((latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0).toFixed(2));
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Whether everything up to the end that the header names is there. */
function isWhole(response: Buffer): boolean {
  const headEnd = response.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const named = response.indexOf('content-length: ');
  if (named === -1 || named > headEnd) return true;
  const length = Number.parseInt(response.toString('latin1', named + 16, named + 24), 10);
  return response.length >= headEnd + 4 + length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let asked = '';
  for await (const chunk of process.stdin) asked += chunk;
  process.stdout.write(`${JSON.stringify(await generate(JSON.parse(asked)))}\n`);
}
