// A gateway process to measure: on a fresh data directory with its own PostgreSQL, everything on this machine.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = new URL('../bin/tollgate.js', import.meta.url).pathname;
const LOAD = new URL('./load.js', import.meta.url).pathname;

export async function startGateway(settings = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-bench-'));
  // As `npm start` does.
  const child = spawn(process.execPath, [PROGRAM, 'serve'], {
    env: { ...process.env, ...settings, TOLLGATE_DATA_DIR: dataDir, TOLLGATE_PORT: '0' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const port = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the gateway ended with ${code}`)));
    const lines = createInterface({ input: child.stdout }).on('line', (line) => {
      const url = line.includes('"listening"') && JSON.parse(line).base_url;
      if (!url) return;
      lines.close();
      resolve(Number(new URL(url).port));
    });
  });
  // Read to the end, since a log that nobody reads would stop the gateway; but not looked at, which would cost.
  child.stdout.removeAllListeners().resume();
  const { username, password } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
  return {
    port,
    pid: child.pid,
    dataDir,
    program: PROGRAM,
    async databaseUrl() {
      const [, , , databasePort] = (await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split(
        '\n',
      );
      const secret = (await readFile(join(dataDir, 'postgres-password'), 'utf8')).trim();
      return `postgres://tollgate:${secret}@127.0.0.1:${databasePort}/tollgate`;
    },
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    async stop() {
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('exit', resolve));
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Processor time used up to now, in clock ticks of a hundredth of a second, by a process and by those it has waited for. */
async function ticks(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The name, in brackets, may hold anything; behind it come the state, the parent, and so on.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const used = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), used };
}

/** Processor seconds that the gateway and its PostgreSQL have used up to now. Only on Linux. */
export async function cpuSeconds({ pid, dataDir }) {
  const [postmaster] = (await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n');
  const running = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name));
  const backends = (await Promise.all(running.map(ticks))).filter(
    ({ parent }) => parent === Number(postmaster),
  );
  const database = [await ticks(postmaster), ...backends].reduce((sum, { used }) => sum + used, 0);
  return { gateway: (await ticks(pid)).used / 100, database: database / 100 };
}

/** Loads a gateway, and adds what each purchase cost the processor, in milliseconds, by part. */
export async function measuredLoad(gateway, options) {
  const before = await cpuSeconds(gateway);
  const result = await load(gateway, options);
  const after = await cpuSeconds(gateway);
  const each = (seconds) => Number(((seconds * 1000) / result.requests).toFixed(4));
  return {
    ...result,
    cpuMs: {
      gateway: each(after.gateway - before.gateway),
      database: each(after.database - before.database),
      load: each(result.cpuSeconds),
    },
  };
}

/** Loads a gateway from a process of its own. */
export function load(gateway, options) {
  const { port, authorization } = gateway;
  const child = spawn(process.execPath, [LOAD], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify({ port, authorization, ...options }));
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('exit', (code) =>
      code === 0 ? resolve(JSON.parse(output)) : reject(new Error('the load failed')),
    );
  });
}

export const PURCHASE = {
  method: 'POST',
  paths: ['/v1/transactions/purchase'],
  body: JSON.stringify({
    merchant: { id: 1 },
    transaction: {
      reference: 'bench',
      amount_details: { total_amount: '1995', currency: 'AUD' },
      payment_method: { creditcard: { pan: '4111111111111111', expiry_date: '1239', cvv: '123' } },
    },
  }),
};

/** Resident memory of the gateway process. Only on Linux. */
export async function memoryMiB({ pid }) {
  const status = await readFile(`/proc/${pid}/status`, 'latin1');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
