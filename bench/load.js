// A load generator that costs little: raw sockets, prebuilt requests, just enough HTTP to find the end of a response.
// Run as a process of its own, which reads what to do from its standard input.
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

/**
 * @typedef {object} Load
 * @property {string} [host]
 * @property {number} port
 * @property {number} connections
 * @property {number} [seconds] how long, unless a count ends it sooner
 * @property {number} [count] how many requests
 * @property {string} authorization
 * @property {'POST' | 'GET'} method
 * @property {string[]} paths taken in turn
 * @property {string} [body]
 */

/** @param {Load} load */
export async function generate({
  host = '127.0.0.1',
  port,
  connections,
  seconds = 600,
  count = Number.POSITIVE_INFINITY,
  authorization,
  method,
  paths,
  body,
}) {
  const latenciesMs = [];
  const statuses = {};
  const run = randomBytes(6).toString('hex');
  let sent = 0;
  let stopping = false;

  const opening = `host: ${host}\r\nauthorization: ${authorization}\r\n`;
  const ending =
    body === undefined
      ? '\r\n\r\n'
      : `\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const request = () => {
    sent += 1;
    const path = paths[sent % paths.length];
    return `${method} ${path} HTTP/1.1\r\n${opening}x-correlation-id: ${run}-${sent}${ending}`;
  };

  const converse = () =>
    new Promise((resolve, reject) => {
      let startedMs = 0;
      // The part of a response that came so far, if it did not come at once.
      let begun;
      const ask = () => {
        if (stopping || sent >= count) {
          socket.destroy();
          resolve(undefined);
          return;
        }
        startedMs = performance.now();
        socket.write(request(), 'latin1');
      };
      const receive = (length, buffer) => {
        const chunk = buffer.subarray(0, length);
        const received = begun === undefined ? chunk : Buffer.concat([begun, chunk]);
        if (!isWhole(received)) {
          begun = Buffer.from(received);
          return true;
        }
        begun = undefined;
        const status = received.latin1Slice(9, 12);
        statuses[status] = (statuses[status] ?? 0) + 1;
        latenciesMs.push(performance.now() - startedMs);
        ask();
        return true;
      };
      // Into one buffer and past the stream: an object less, and an event less, for each response.
      const onread = { buffer: Buffer.allocUnsafe(65_536), callback: receive };
      const socket = connect({ host, port, noDelay: true, onread });
      socket.on('connect', ask);
      socket.on('error', reject);
    });

  const startedCpu = process.cpuUsage();
  const startedMs = performance.now();
  const bell = setTimeout(() => {
    stopping = true;
  }, seconds * 1000);
  await Promise.all(Array.from({ length: connections }, converse));
  clearTimeout(bell);
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(startedCpu);
  latenciesMs.sort((one, other) => one - other);
  const percentile = (share) => Number((latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0).toFixed(2));
  return {
    perSecond: Math.round(latenciesMs.length / elapsedSeconds),
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    requests: latenciesMs.length,
    cpuSeconds: (user + system) / 1_000_000,
    statuses,
  };
}

/** Whether everything up to the end that the header names is there. */
function isWhole(response) {
  const headEnd = response.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const named = response.indexOf('content-length: ');
  if (named === -1 || named > headEnd) return true;
  const length = Number.parseInt(response.latin1Slice(named + 16, named + 24), 10);
  return response.length >= headEnd + 4 + length;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  let asked = '';
  for await (const chunk of process.stdin) asked += chunk;
  process.stdout.write(`${JSON.stringify(await generate(JSON.parse(asked)))}\n`);
}
