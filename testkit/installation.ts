// A whole installation to attack: a data directory, a database, the ledger of the simulated acquirer, gateway processes, and a client.
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Tollgate, type TollgateOptions } from '../client/src/index.js';
import type { LedgerEntry } from '../src/acquirers/simulator/ledger.js';
import { basicAuthorization, paymentBody } from './bodies.js';
import { STORED_TRANSACTIONS, type StoredTransaction } from './books.js';
import { CITUS_URL, CitusDatabase } from './citus.js';
import { CitusCluster } from './citus-cluster.js';
import {
  type GatewayProcess,
  type RunningProcess,
  run,
  type StartOptions,
  start,
} from './gateway-process.js';
import { KillableDatabase } from './killable-database.js';
import { asEnvironment } from './project.js';
import { temporaryFolder } from './temporary-folder.js';

const HOUR_MS = 3_600_000;

export interface InstalledDatabase {
  /** Of the server that has the data now. */
  readonly url: string;
  /** One that stays, whatever happens to the server. */
  readonly lastingUrl: string;
  stop(): Promise<void>;
}

/** One that is killed, and comes back. */
export interface AttackedDatabase extends InstalledDatabase {
  kill(signal: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
}

/** Without the prefix TOLLGATE_. */
export type Settings = Readonly<Record<string, string>>;

export interface OpenOptions<Database extends InstalledDatabase> {
  /** A database that may be killed costs a relay before it. */
  readonly killable?: boolean;
  readonly openDatabase: (directory: string) => Promise<Database>;
}

/** Where a cluster is named, a distributed one. */
function openDatabase(directory: string): Promise<AttackedDatabase> {
  if (process.env.CITUS_BIN) return CitusCluster.open();
  return CITUS_URL ? CitusDatabase.open() : KillableDatabase.open(directory);
}

export interface PlacedEntry extends LedgerEntry {
  /** Up to which byte of the file it reaches. */
  readonly endsAt: number;
}

interface FirstGatewayOptions {
  /** The clock is not moved, however near the close of the business day is. */
  readonly isInRealTime?: boolean;
  readonly settings?: Settings;
  readonly keep?: StartOptions['keep'];
}

export type AttackedGateway = RunningProcess & Pick<GatewayProcess, 'baseUrl'>;

export class Installation<Database extends InstalledDatabase = AttackedDatabase> {
  readonly #directory: string;
  readonly #ledgerPath: string;
  readonly #settings: Settings;
  readonly #databaseUrl: string;
  readonly #running = new Set<RunningProcess>();

  readonly database: Database;
  /** Of a user of `merchantId`, which has the vault. */
  authorization = '';
  credentials = { username: '', password: '' };
  merchantId = 0;

  private constructor(directory: string, settings: Settings, database: Database, databaseUrl: string) {
    this.#directory = directory;
    this.#ledgerPath = join(directory, 'ledger.ndjson');
    this.#settings = settings;
    this.database = database;
    this.#databaseUrl = databaseUrl;
  }

  /** Settings for every gateway. */
  static open(
    settings?: Settings,
    options?: Pick<OpenOptions<AttackedDatabase>, 'killable'>,
  ): Promise<Installation> {
    return Installation.on({ openDatabase, ...options }, settings);
  }

  /** On a database that is opened in a way of its own. */
  static async on<Database extends InstalledDatabase>(
    { killable = false, openDatabase }: OpenOptions<Database>,
    settings: Settings = {},
  ): Promise<Installation<Database>> {
    const directory = temporaryFolder('proof');
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
    const database = await openDatabase(directory);
    return new Installation(directory, settings, database, killable ? database.lastingUrl : database.url);
  }

  /** Starts a gateway process, which may end before it listens. */
  startGateway(
    settings: Settings = {},
    databaseUrl = this.#databaseUrl,
    keep: StartOptions['keep'] = 'the end',
  ): RunningProcess {
    const environment = this.#environment({ PORT: '0', LOG_LEVEL: 'warn', ...settings });
    const gateway = start(['serve'], { ...environment, DATABASE_URL: databaseUrl }, { keep });
    this.#running.add(gateway);
    void gateway.ended.then(() => this.#running.delete(gateway));
    return gateway;
  }

  /** A gateway that listens and is not meant to end. */
  async startedGateway(
    settings?: Settings,
    databaseUrl?: string,
    keep?: StartOptions['keep'],
  ): Promise<AttackedGateway> {
    const gateway = this.startGateway(settings, databaseUrl, keep);
    const baseUrl = await gateway.listening;
    if (baseUrl === undefined) throw new Error(`no gateway: ${gateway.output()}`);
    return { ...gateway, baseUrl };
  }

  /** Of the user of `merchantId`. */
  clientAt(baseUrl: string, options: Partial<TollgateOptions> = {}): Tollgate {
    return new Tollgate({ baseUrl, ...this.credentials, ...options });
  }

  /** Creates the demo's user, and lets `work` do undisturbed work at a first gateway, which is then stopped. */
  async prepare(
    work: (client: Tollgate) => Promise<void> = async () => {},
    options?: FirstGatewayOptions,
  ): Promise<void> {
    const gateway = await this.firstGateway(options);
    await work(this.clientAt(gateway.baseUrl));
    gateway.kill('SIGTERM');
    await gateway.ended;
  }

  /** A gateway that has made the demo, whose user is known from now on. */
  async firstGateway({
    isInRealTime = false,
    settings = {},
    keep,
  }: FirstGatewayOptions = {}): Promise<AttackedGateway> {
    const gateway = await this.startedGateway({ DEMO: 'true', ...settings }, undefined, keep);
    const demo = JSON.parse(await readFile(join(this.#directory, 'demo.json'), 'utf8'));
    this.authorization = basicAuthorization(demo);
    this.credentials = { username: demo.username, password: demo.password };
    [this.merchantId] = demo.merchants;
    await this.#buyBeforeEverything(this.clientAt(gateway.baseUrl), isInRealTime);
    return gateway;
  }

  /**
   * Voids end when the business day closes: if that is near, the gateway's clock is moved past it. Not with an acquirer that is
   * not simulated: that needs real time.
   */
  async #buyBeforeEverything(client: Tollgate, isInRealTime: boolean): Promise<void> {
    const body = paymentBody({ merchant: this.merchantId, reference: 'before-everything', amount: 1 });
    const { audit } = await client.purchase(body, { correlationId: 'before-everything' });
    const { kvps } = await client.transaction(audit);
    const leftMs = Date.parse(String(kvps?.['GATEWAY.RESPONSE.KVP.VOIDABLE_UNTIL'])) - Date.now();
    if (leftMs < HOUR_MS && !isInRealTime) await this.command('clock', 'advance', '2h');
  }

  /** Where the data of the installation lies, that of its database included. */
  get dataDir(): string {
    return this.#directory;
  }

  /** Returns what the command printed. */
  async command(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(args, this.#environment({}));
    if (code !== 0) throw new Error(`tollgate ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  /** A command that is on its way, and may be killed there. */
  begun(...args: string[]): RunningProcess {
    const begun = start(args, this.#environment({}));
    this.#running.add(begun);
    void begun.ended.then(() => this.#running.delete(begun));
    return begun;
  }

  #environment(settings: Settings): Record<string, string> {
    return {
      DATABASE_URL: this.#databaseUrl,
      ...asEnvironment({
        DATA_DIR: this.#directory,
        SIMULATOR_LEDGER: this.#ledgerPath,
        ...this.#settings,
        ...settings,
      }),
    };
  }

  /** In a session of its own, since the database may just have moved to another server. */
  async sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.database.url });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Transactions as the gateway has stored them: all, or those with a reference. */
  transactions(reference?: string): Promise<StoredTransaction[]> {
    return this.sql(STORED_TRANSACTIONS, [reference]);
  }

  /** The same, once none is in doubt, or when the time is up. */
  async decidedTransactions(limitMs: number): Promise<StoredTransaction[]> {
    const untilMs = performance.now() + limitMs;
    for (;;) {
      const rows = await this.transactions();
      if (!rows.some(({ status }) => status === 'unknown') || performance.now() > untilMs) return rows;
      await sleep(100);
    }
  }

  /** Every entry of the acquirer's ledger, in order. */
  async ledger(): Promise<PlacedEntry[]> {
    const lines = (await readFile(this.#ledgerPath, 'utf8')).split('\n').slice(0, -1);
    let endsAt = 0;
    return lines.flatMap((line) => {
      endsAt += Buffer.byteLength(line) + 1;
      // A line that was cut short is no entry: a process was killed while it wrote.
      try {
        return [{ ...(JSON.parse(line) as LedgerEntry), endsAt }];
      } catch {
        return [];
      }
    });
  }

  async ledgerBytes(): Promise<number> {
    return (await stat(this.#ledgerPath)).size;
  }

  async close(): Promise<void> {
    for (const gateway of this.#running) gateway.kill('SIGKILL');
    await this.database.stop();
  }
}
