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

  const request = () => {
    sent += 1;
    const path = paths[sent % paths.length];
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${authorization}\r\nx-correlation-id: ${run}-${sent}\r\n`;
    if (body === undefined) return `${head}\r\n`;
    return `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  };

  const converse = () =>
    new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true });
      let startedMs = 0;
      let received = '';
      const ask = () => {
        if (stopping || sent >= count) {
          socket.destroy();
          resolve(undefined);
          return;
        }
        startedMs = performance.now();
        socket.write(request());
      };
      socket.setEncoding('latin1');
      socket.on('connect', ask);
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        received += chunk;
        const headEnd = received.indexOf('\r\n\r\n');
        if (headEnd === -1) return;
        const length = Number(/content-length: (\d+)/i.exec(received.slice(0, headEnd))?.[1] ?? 0);
        if (received.length < headEnd + 4 + length) return;
        const status = received.slice(9, 12);
        statuses[status] = (statuses[status] ?? 0) + 1;
        latenciesMs.push(performance.now() - startedMs);
        received = '';
        ask();
      });
    });

  const startedMs = performance.now();
  const bell = setTimeout(() => {
    stopping = true;
  }, seconds * 1000);
  await Promise.all(Array.from({ length: connections }, converse));
  clearTimeout(bell);
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage();
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

if (process.argv[1] === new URL(import.meta.url).pathname) {
  let asked = '';
  for await (const chunk of process.stdin) asked += chunk;
  process.stdout.write(`${JSON.stringify(await generate(JSON.parse(asked)))}\n`);
}
