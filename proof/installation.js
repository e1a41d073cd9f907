// What is attacked: a database, the simulated acquirer's ledger, gateway processes on both, and somebody to call them as.
import { execFile, spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import pg from 'pg';
import { call } from './client.js';
import { KillableDatabase } from './database.js';

const PROGRAM = new URL('../bin/tollgate.js', import.meta.url).pathname;
const HOUR_MS = 3_600_000;
const TRANSACTIONS = `
  SELECT g.installation || '-' || t.organisation_id || '-' || t.audit AS "acquirerReference", t.audit,
    t.target_audit AS "targetAudit", t.transaction_type AS type, t.status, t.gateway_status_code AS "gatewayStatusCode",
    t.amount_cents::float8 AS "amountCents", t.refunded_cents::float8 AS "refundedCents",
    t.completed_cents::float8 AS "completedCents", t.completed_by AS "completedBy", t.voided_by AS "voidedBy",
    t.correlation_id AS "correlationId", t.reference
  FROM transaction t, gateway g WHERE $1::text IS NULL OR t.reference = $1 ORDER BY t.audit`;

export class Installation {
  #directory;
  #ledgerPath;
  #settings;
  #databaseUrl;
  #children = new Set();

  database;
  /** Of a user of `merchantId`, which has the vault. */
  authorization;
  merchantId;

  /** Settings without the prefix TOLLGATE_, for every gateway. A database that may be killed costs a relay before it. */
  static async open(settings = {}, { killable = false, openDatabase = KillableDatabase.open } = {}) {
    const installation = new Installation();
    installation.#settings = settings;
    installation.#directory = await mkdtemp(join(tmpdir(), 'tollgate-proof-'));
    installation.#ledgerPath = join(installation.#directory, 'ledger.ndjson');
    process.once('exit', () => installation.#leaveNothing());
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
    installation.database = await openDatabase(installation.#directory);
    const { url, lastingUrl } = installation.database;
    installation.#databaseUrl = killable ? lastingUrl : url;
    return installation;
  }

  /** Starts a gateway process. `listening` becomes its address, or undefined when it ended before. */
  startGateway({ databaseUrl = this.#databaseUrl, ...settings } = {}) {
    const child = spawn(process.execPath, [PROGRAM, 'serve'], {
      env: { ...this.#environment({ PORT: '0', LOG_LEVEL: 'warn', ...settings }), DATABASE_URL: databaseUrl },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    const words = [];
    const hear = (line) => {
      words.push(line);
      if (words.length > 20) words.shift();
    };
    createInterface({ input: child.stdout }).on('line', hear);
    const ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#children.delete(child);
        resolve({ code, signal, lastWords: () => words.join('\n') });
      });
    });
    const listening = new Promise((resolve) => {
      createInterface({ input: child.stderr }).on('line', (line) => {
        hear(line);
        const [, address] = /listens on (http\S+)/.exec(line) ?? [];
        if (address !== undefined) resolve(address);
      });
      void ended.then(() => resolve(undefined));
    });
    return { listening, ended, kill: (signal = 'SIGKILL') => child.kill(signal) };
  }

  /** A gateway that listens and is not meant to end. */
  async startedGateway(settings) {
    const gateway = this.startGateway(settings);
    const baseUrl = await gateway.listening;
    if (baseUrl === undefined) throw new Error(`no gateway: ${(await gateway.ended).lastWords()}`);
    return { ...gateway, baseUrl };
  }

  /** Makes the demo's user known, and lets `work` do with a first gateway what has to be done in peace. */
  async prepare(work = async () => {}) {
    const gateway = await this.startedGateway({ DEMO: 'true' });
    const demo = JSON.parse(await readFile(join(this.#directory, 'demo.json'), 'utf8'));
    this.authorization = `Basic ${Buffer.from(`${demo.username}:${demo.password}`).toString('base64')}`;
    [this.merchantId] = demo.merchants;
    await this.#avoidCutOff(gateway.baseUrl);
    await work(gateway.baseUrl);
    gateway.kill('SIGTERM');
    await gateway.ended;
  }

  /** Voids end when the business day closes: where that is near, the gateway's clock is moved beyond it. */
  async #avoidCutOff(baseUrl) {
    const caller = { baseUrl, authorization: this.authorization };
    const made = await call(caller, 'POST', '/transactions/purchase', {
      correlationId: 'before-everything',
      body: paymentBody({ merchantId: this.merchantId, reference: 'before-everything', amountCents: 1 }),
    });
    const { body } = await call(caller, 'GET', `/transactions/${made.body.audit}`);
    const leftMs = Date.parse(body.kvps['GATEWAY.RESPONSE.KVP.VOIDABLE_UNTIL']) - Date.now();
    if (leftMs < HOUR_MS) await this.command('clock', 'advance', '2h');
  }

  /** Returns what the command printed. */
  async command(...args) {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], {
      env: this.#environment({}),
    });
    return stdout;
  }

  #environment(settings) {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(DATABASE_URL|TOLLGATE_)/.test(name));
    const given = Object.entries({
      DATA_DIR: this.#directory,
      SIMULATOR_LEDGER: this.#ledgerPath,
      ...this.#settings,
      ...settings,
    });
    return {
      ...Object.fromEntries(inherited),
      DATABASE_URL: this.#databaseUrl,
      ...Object.fromEntries(given.map(([name, value]) => [`TOLLGATE_${name}`, value])),
    };
  }

  /** In a session of its own, since the database may have been another server just before. */
  async sql(text, values) {
    const client = new pg.Client({ connectionString: this.database.url });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Transactions as the gateway has stored them: all, or those with a reference. */
  transactions(reference) {
    return this.sql(TRANSACTIONS, [reference]);
  }

  /** Every entry of the acquirer's ledger, in order, and up to which byte of the file it reaches. */
  async ledger() {
    const lines = (await readFile(this.#ledgerPath, 'utf8')).split('\n').slice(0, -1);
    let endsAt = 0;
    return lines.flatMap((line) => {
      endsAt += Buffer.byteLength(line) + 1;
      // A line that was cut short is no entry: a process was killed while it wrote.
      try {
        return [{ ...JSON.parse(line), endsAt }];
      } catch {
        return [];
      }
    });
  }

  async ledgerBytes() {
    return (await stat(this.#ledgerPath)).size;
  }

  async close() {
    for (const child of this.#children) child.kill('SIGKILL');
    await this.database.stop();
  }

  #leaveNothing() {
    for (const child of this.#children) child.kill('SIGKILL');
    try {
      const file = readFileSync(join(this.#directory, 'postgres', 'postmaster.pid'), 'utf8');
      process.kill(Number.parseInt(file, 10), 'SIGQUIT');
    } catch {
      // It is not running.
    }
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

export function paymentBody({ merchantId, reference, amountCents, pan = '4111111111111111' }) {
  return {
    merchant: { id: merchantId },
    transaction: {
      reference,
      amount_details: { total_amount: String(amountCents), currency: 'AUD' },
      payment_method: { creditcard: { pan, expiry_date: '1239', cvv: '123' } },
    },
  };
}

/** Of a completion, a refund or, without an amount, a void. */
export function targetedBody({ merchantId, reference, amountCents }) {
  return {
    merchant: { id: merchantId },
    transaction: {
      reference,
      ...(amountCents !== undefined && {
        amount_details: { total_amount: String(amountCents), currency: 'AUD' },
      }),
    },
  };
}
