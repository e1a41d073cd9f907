// Starts the ceilings of bench/ceilings.js, each in a process of its own.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const CEILINGS = new URL('./ceilings.js', import.meta.url).pathname;

/** About what a purchase is answered with. */
const ANSWER = {
  audit: 1,
  gateway_timestamp: '2026-11-15T11:07:18.123+11:00',
  merchant: { id: 1 },
  kvps: {},
  status: {
    gateway_status_code: 0,
    gateway_status_message: 'Processed',
    transaction_status_code: 'approved',
    acquirer: { response_code: '00', response_message: 'Approved', settlement_date: '2026-11-16' },
  },
  _links: {
    self: { href: '/v1/transactions/1' },
    refund: { href: '/v1/transactions/1/refund' },
    void: { href: '/v1/transactions/1/void' },
  },
};

function start(asked) {
  const child = spawn(process.execPath, [CEILINGS, JSON.stringify(asked)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`a ceiling ended with ${code}`)));
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line)));
  });
  return { child, said };
}

export async function batchedStatements(gateway, { connections, seconds }) {
  const databaseUrl = await gateway.databaseUrl();
  return start({ kind: 'statements', databaseUrl, connections, seconds }).said;
}

export async function bareFastify() {
  const { child, said } = start({ kind: 'fastify', answer: ANSWER });
  const { port } = await said;
  child.removeAllListeners('exit');
  return { port, authorization: 'Basic YmVuY2g6YmVuY2g=', stop: () => child.kill('SIGTERM') };
}
