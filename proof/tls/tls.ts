// Payments over TLS go on while thousands leave handshakes unfinished and the certificate is replaced, well and badly.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { connect as connectPlain, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { paymentBody } from '../../testkit/bodies.js';
import { makeCertificate, type TestCertificate } from '../../testkit/certificates.js';
import { dataDirectory } from '../../testkit/gateway-process.js';
import { type HttpAnswer, httpsCaller } from '../../testkit/http-call.js';
import { programOptions } from '../../testkit/program-options.js';
import { percentile, say } from '../../testkit/report.js';
import { startStandalone } from '../../testkit/standalone.js';
import { verdict } from '../arena/verdict.js';

const values = programOptions({
  handshakes: 10_000,
  swaps: 40,
  workers: 2,
});
const { handshakes, swaps } = values;
/** What so many connections, and the gateway itself, may hold in each process. */
const MOST_MEMORY_MIB = 600;

const authority = makeCertificate({ name: 'authority' });
const issue = () => makeCertificate({ issuer: authority });
const folder = await dataDirectory();
const files = { certificate: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
let current = issue();
await place(current);

const gateway = await startStandalone({
  TLS_CERTIFICATE_FILE: files.certificate,
  TLS_KEY_FILE: files.key,
  WORKERS: String(values.workers),
});

async function place({ certificate, key }: Pick<TestCertificate, 'certificate' | 'key'>, suffix = '') {
  await writeFile(files.certificate + suffix, certificate);
  await writeFile(files.key + suffix, key, { mode: 0o600 });
}

const unanswered: string[] = [];
const waitsMs: number[] = [];

function payer(connectionPerRequest: boolean): () => Promise<HttpAnswer | undefined> {
  const call = httpsCaller({ trusted: authority.certificate, connectionPerRequest });
  return async () => {
    const fromMs = performance.now();
    const headers = {
      authorization: gateway.authorization,
      'content-type': 'application/json',
      'x-correlation-id': crypto.randomUUID(),
    };
    try {
      const body = JSON.stringify(paymentBody());
      const url = `${gateway.baseUrl}/transactions/purchase`;
      const answer = await call(url, { method: 'POST', headers, body });
      waitsMs.push(performance.now() - fromMs);
      if (answer.status !== 201) unanswered.push(`status ${answer.status}`);
      return answer;
    } catch (error) {
      unanswered.push(String((error as NodeJS.ErrnoException).code ?? error));
      return undefined;
    }
  };
}

/** The first bytes of a proper client. */
function clientHello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const listener = createServer((socket) =>
      socket.once('data', (hello) => {
        resolve(hello);
        socket.destroy();
        listener.close();
      }),
    ).listen(0, '127.0.0.1', () => {
      const { port } = listener.address() as { port: number };
      connect({ host: '127.0.0.1', port }).on('error', () => {});
    });
  });
}

/** The most that one of its processes holds. */
async function memoryMiB(): Promise<number> {
  const { pid } = gateway;
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'latin1')).trim().split(' ');
  const sizes = [String(pid), ...children].map(async (one) => {
    const status = await readFile(`/proc/${one}/status`, 'latin1').catch(() => '');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  });
  return Math.max(...(await Promise.all(sizes)));
}

async function crowd(): Promise<number> {
  const hello = await clientHello();
  // Nothing, half of a hello, a whole one without what follows it.
  const begins = [Buffer.alloc(0), hello.subarray(0, 100), hello];
  const sockets: Socket[] = [];
  let most = 0;
  for (let begun = 0; begun < handshakes; begun += 1) {
    // From another address than those who pay: whoever has most handshakes under way loses the oldest of them.
    const from = { host: '127.0.0.1', port: gateway.port, localAddress: '127.0.0.2' };
    const socket = connectPlain(from).on('error', () => {});
    socket.write(begins[begun % begins.length] as Buffer);
    sockets.push(socket.resume());
    if (begun % 250 === 0) {
      await sleep(20);
      most = Math.max(most, await memoryMiB());
    }
  }
  await sleep(500);
  most = Math.max(most, await memoryMiB());
  for (const socket of sockets) socket.destroy();
  return most;
}

/** Each time in another way. */
async function swap(time: number): Promise<void> {
  const next = issue();
  if (time % 4 === 1) await writeFile(files.certificate, next.certificate.slice(0, 300 + time));
  if (time % 4 === 2) await place({ certificate: next.certificate, key: current.key });
  if (time % 2 === 0) gateway.kill('SIGHUP');
  if (time % 4 === 3) {
    await place(next, '.new');
    await rename(`${files.key}.new`, files.key);
    await sleep(5);
    await rename(`${files.certificate}.new`, files.certificate);
  } else await place(next);
  if (time % 3 === 0) gateway.kill('SIGHUP');
  current = next;
}

async function shown(fingerprint: string): Promise<boolean> {
  const pay = payer(true);
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const answers = await Promise.all(Array.from({ length: 8 }, pay));
    if (answers.every((answer) => answer?.certificate === fingerprint)) return true;
    await sleep(100);
  }
  return false;
}

const notShown: string[] = [];
let most = 0;
let isPaying = true;
const paying = [payer(true), payer(true), payer(false)].map(async (pay) => {
  while (isPaying) await pay();
});
try {
  most = await crowd();
  for (let time = 1; time <= swaps; time += 1) {
    await swap(time);
    if (!(await shown(current.fingerprint))) notShown.push(`certificate ${time}`);
  }
} finally {
  isPaying = false;
  await Promise.all(paying);
  await gateway.stop();
}
say(`tls: p50 ${percentile(waitsMs, 0.5)} ms, p99 ${percentile(waitsMs, 0.99)} ms`);
process.exit(
  verdict(
    {
      'every purchase is answered 201': unanswered,
      'every worker shows the new certificate': notShown,
      'memory is bounded': most > MOST_MEMORY_MIB ? [`${Math.round(most)} MiB`] : [],
    },
    `tls: ${handshakes} unfinished handshakes, at most ${Math.round(most)} MiB, ${swaps} certificates, ${waitsMs.length} purchases`,
  ),
);
