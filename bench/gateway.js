// A gateway process to measure: on a fresh data directory with its own PostgreSQL, everything on this machine.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = new URL('../bin/tollgate.js', import.meta.url).pathname;
const LOAD = new URL('./load.js', import.meta.url).pathname;

export async function startGateway(settings = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-bench-'));
  const child = spawn(process.execPath, [PROGRAM, 'serve'], {
    env: { ...process.env, ...settings, TOLLGATE_DATA_DIR: dataDir, TOLLGATE_PORT: '0' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // Read to the end: a log that nobody reads would stop the gateway.
  const port = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the gateway ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const url = line.includes('"listening"') && JSON.parse(line).base_url;
      if (url) resolve(Number(new URL(url).port));
    });
  });
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
