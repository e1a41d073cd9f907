// A life of an installation: a data directory, the gateway and the PostgreSQL in it, and what its shop was told. Each restore of a
// backup begins another life beside the same acquirers, who forget nothing.
import { copyFile, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Tollgate } from '../../client/src/index.js';
import { basicAuthorization, cardAccount } from '../../testkit/bodies.js';
import { STORED_TRANSACTIONS, type StoredTransaction } from '../../testkit/books.js';
import type { Chance } from '../../testkit/chance.js';
import {
  dataDirectory,
  type Ended,
  type GatewayProcess,
  postgresPid,
  type RunningProcess,
  run,
  start,
  startGatewayProcess,
} from '../../testkit/gateway-process.js';
import { asEnvironment } from '../../testkit/project.js';
import { leaveNothing } from '../../testkit/temporary-folder.js';
import { type Attempt, type Order, Shop } from '../arena/shop.js';
import { storeCards, tradeTogether, type VirtualPans } from '../arena/trade.js';

const KEY = 'key-encryption-key';
const DECISION_LIMIT_MS = 60_000;

/** Whom a life is about: one merchant over the simulator, and one over a host. */
export interface Tenants {
  readonly username: string;
  readonly password: string;
  readonly merchants: readonly number[];
  readonly virtualPans: VirtualPans;
}

/** Ids that were given out, in words: `customer 17`. */
export type GivenIds = readonly string[];

export class Life {
  readonly dataDir: string;
  readonly #ledger: string;
  readonly #traders: number;
  #gateway: GatewayProcess | undefined;
  #called: { baseUrl: string | undefined }[] = [{ baseUrl: undefined }];
  #shops: Shop[] = [];
  readonly #answeredMs = new Map<Attempt, number>();

  private constructor(dataDir: string, ledger: string, traders: number) {
    this.dataDir = dataDir;
    this.#ledger = ledger;
    this.#traders = traders;
  }

  /** With the books of the simulated acquirer in this file, and so many traders for each merchant. */
  static async begin(ledger: string, traders: number): Promise<Life> {
    const dataDir = await dataDirectory('tollgate-life-');
    process.once('exit', () => leaveNothing(dataDir));
    return new Life(dataDir, ledger, traders);
  }

  get environment(): Record<string, string> {
    return asEnvironment({
      DATA_DIR: this.dataDir,
      SIMULATOR_LEDGER: this.#ledger,
      RESOLVER_INTERVAL_MS: '100',
      RESOLVER_FIRST_PAUSE_MS: '100',
      PROCESS_TIMEOUT_MS: '3000',
      LOG_LEVEL: 'warn',
    });
  }

  async start(): Promise<void> {
    this.#gateway = await startGatewayProcess(this.environment, { keep: 'the end' });
    for (const called of this.#called) called.baseUrl = this.#gateway.baseUrl;
  }

  /** The demo's user and merchants, and cards in their vault. */
  async tenants(): Promise<Tenants> {
    const { username, password, merchants } = JSON.parse(
      await readFile(join(this.dataDir, 'demo.json'), 'utf8'),
    );
    const virtualPans = await storeCards(this.#client({ username, password }));
    return { username, password, merchants, virtualPans };
  }

  #client({ username, password }: Pick<Tenants, 'username' | 'password'>): Tollgate {
    return new Tollgate({ baseUrl: this.#gateway?.baseUrl ?? '', username, password });
  }

  command(...args: string[]): Promise<Ended> {
    return run(args, this.environment);
  }

  begun(...args: string[]): RunningProcess {
    return start(args, this.environment);
  }

  async crashGateway(): Promise<void> {
    for (const called of this.#called) called.baseUrl = undefined;
    await this.#gateway?.crash();
  }

  async stop(): Promise<void> {
    for (const called of this.#called) called.baseUrl = undefined;
    await this.#gateway?.stop();
  }

  /** `kill -9`. The gateway starts it again. */
  async killPostgres(): Promise<void> {
    process.kill((await postgresPid(this.dataDir)) as number, 'SIGKILL');
  }

  /** Brings the backup back into this life, with the key, which is no part of it. */
  async restore(folder: string, former: Life): Promise<Ended> {
    await copyFile(join(former.dataDir, KEY), join(this.dataDir, KEY));
    return this.command('restore', folder, '--json');
  }

  /** Trades until `isOver`, for one merchant each. */
  async trade(
    tenants: Tenants,
    merchants: readonly number[],
    random: Chance,
    isOver: () => boolean,
  ): Promise<void> {
    await Promise.all(
      merchants.map((merchantId) => {
        const shop = new Shop({
          gateways: this.#called,
          random: random.fork(),
          authorization: basicAuthorization(tenants),
          merchantId,
          onAnswered: async (attempt) => void this.#answeredMs.set(attempt, performance.now()),
        });
        this.#shops.push(shop);
        const { virtualPans } = tenants;
        // A life that was restored has the orders of the one before.
        const name = `order-of-${basename(this.dataDir)}`;
        const shared = { shop, name, random: random.fork(), virtualPans, faultPercent: 5, isOver };
        return tradeTogether(this.#traders, shared);
      }),
    );
  }

  get orders(): readonly Order[] {
    return this.#shops.flatMap(({ orders }) => orders);
  }

  get attempts(): readonly Attempt[] {
    return this.orders.flatMap(({ attempts }) => attempts);
  }

  answeredBefore(moment: number): (attempt: Attempt) => boolean {
    return (attempt) => (this.#answeredMs.get(attempt) ?? Number.POSITIVE_INFINITY) < moment;
  }

  /** New customers and tokens, and the ids that they got. */
  async makeIds(tenants: Tenants, name: string): Promise<GivenIds> {
    const { customers, tokens } = this.#client(tenants);
    const given: string[] = [];
    for (let number = 0; number < 5; number += 1) {
      const customer = await customers.create({ reference: `${name}-${number}`, name: 'Ada Lovelace' });
      const card = { preferred_name: 'card', active: true, account: cardAccount() };
      const token = await tokens.create(customer.id, card);
      given.push(`customer ${customer.id}`, `token ${token.id}`);
    }
    return given;
  }

  async sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const lines = (await readFile(join(this.dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
    const password = (await readFile(join(this.dataDir, 'postgres-password'), 'utf8')).trim();
    const client = new pg.Client(`postgres://tollgate:${password}@127.0.0.1:${lines[3]}/tollgate`);
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Once none of them is in doubt any more, or when the time is up. */
  async decidedTransactions(): Promise<StoredTransaction[]> {
    const untilMs = performance.now() + DECISION_LIMIT_MS;
    for (;;) {
      const rows = await this.sql<StoredTransaction & pg.QueryResultRow>(STORED_TRANSACTIONS, [null]);
      if (!rows.some(({ status }) => status === 'unknown') || performance.now() > untilMs) return rows;
      await sleep(100);
    }
  }
}
