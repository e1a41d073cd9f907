// A cell of the fleet: an installation with a PostgreSQL of its own, and gateway processes that are started again when they are killed.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addOrganisation, setHostName } from '../../src/organisations/organisations.js';
import { addUser } from '../../src/organisations/users/users.js';
import { Database } from '../../src/postgres/database.js';
import { type Credentials, credentialKeyOf } from '../../testkit/cast.js';
import { type RunningProcess, start } from '../../testkit/gateway-process.js';
import type { Settings } from '../../testkit/installation.js';
import { KillableDatabase } from '../../testkit/killable-database.js';
import { asEnvironment } from '../../testkit/project.js';
import { RECEIVER_SETTINGS } from '../arena/webhook-books.js';
import { storePayments } from './stored.js';

export const CELLS = ['one', 'two', 'three'] as const;
export type CellName = (typeof CELLS)[number];

export interface CellOptions {
  readonly name: CellName;
  /** Of the fleet, with the fleet file. */
  readonly folder: string;
  /** Of the acquirer that all cells ask. */
  readonly ledgerPath: string;
  /** One for each gateway. */
  readonly ports: readonly number[];
  /** Of the database; a folder of its own in the fleet's unless it is given. */
  readonly databaseFolder?: string | undefined;
}

interface Added {
  readonly id: number;
  readonly merchantId: number;
  readonly credentials: Credentials;
  /** Of the payments that were stored without a request for each. */
  readonly storedMerchantId: number | undefined;
}

interface Slot {
  readonly port: number;
  process?: RunningProcess;
  listens: boolean;
  /** Somebody means it to end. */
  isDoomed: boolean;
}

const OPERATOR = 'operator:proof';

const SETTINGS: Settings = {
  ACQUIRER_DEADLINE_MS: '2500',
  RESOLVER_INTERVAL_MS: '200',
  // What is in doubt stays so for a while, and some of it comes across a move.
  RESOLVER_FIRST_PAUSE_MS: '1000',
  RESOLVER_LONGEST_PAUSE_MS: '5000',
  PROCESS_TIMEOUT_MS: '4000',
  LOG_LEVEL: 'warn',
  ...RECEIVER_SETTINGS,
};

/** Cells that are copies of one prepared cluster would have one name at the acquirer. */
const AS_ITSELF = (installation: string) => `
  BEGIN; SET LOCAL session_replication_role = replica; UPDATE gateway SET installation = '${installation}'; COMMIT;
  UPDATE event_sequencer SET cursor_key = gen_random_uuid()`;

export class Cell {
  readonly complaints: string[] = [];
  readonly #slots: readonly Slot[];
  #isClosed = false;
  #isDown = false;
  #killing: Promise<void> = Promise.resolve();

  private constructor(
    private readonly options: CellOptions,
    readonly number: number,
    readonly installation: string,
    readonly database: KillableDatabase,
    private readonly dataDir: string,
  ) {
    this.#slots = options.ports.map((port) => ({ port, listens: false, isDoomed: false }));
  }

  /** Named, without organisations, and without gateways yet. */
  static async open(options: CellOptions): Promise<Cell> {
    const { name, folder, databaseFolder } = options;
    const dataDir = join(folder, name);
    await mkdir(dataDir);
    const database = await KillableDatabase.open(databaseFolder ?? dataDir);
    const number = CELLS.indexOf(name) + 1;
    const cell = new Cell(options, number, `CELL${number}X`, database, dataDir);
    const settings = Object.entries(cell.environment()).map(([key, value]) => `${key}='${value}'\n`);
    await writeFile(cell.settingsFile, settings.filter((line) => !/FLEET/.test(line)).join(''));
    await cell.command('migrate');
    await cell.sql(AS_ITSELF(cell.installation));
    await cell.command('cell', 'name', name, '--number', String(number));
    return cell;
  }

  get name(): CellName {
    return this.options.name;
  }

  get settingsFile(): string {
    return join(this.options.folder, `${this.name}.settings`);
  }

  /** As the fleet file lists it. */
  get listed() {
    return {
      name: this.name,
      address: `https://${this.name}.pay.example`,
      gateways: this.#slots.map(({ port }) => `127.0.0.1:${port}`),
      settings: this.settingsFile,
    };
  }

  /** Those that listen. */
  get origins(): string[] {
    return this.#slots.filter(({ listens }) => listens).map(({ port }) => `http://127.0.0.1:${port}`);
  }

  /** Of commands and gateways. */
  environment(settings: Settings = {}): Record<string, string> {
    return {
      DATABASE_URL: this.database.lastingUrl,
      ...asEnvironment({
        DATA_DIR: this.dataDir,
        FLEET_FILE: join(this.options.folder, 'fleet.json'),
        SIMULATOR_LEDGER: this.options.ledgerPath,
        ...SETTINGS,
        ...settings,
      }),
    };
  }

  /** What a command printed that nobody disturbed. */
  async command(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.begun(...words).ended;
    if (code !== 0) throw new Error(`tollgate ${words.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  }

  /** A command of its own, which may be killed. */
  begun(...words: string[]): RunningProcess {
    return start(words, this.environment());
  }

  /**
   * An organisation with a merchant and its user, who call under the host name. Added here: a process for each would take most of the time.
   * Another merchant of it has so many payments `stored`.
   */
  async addOrganisation(name: string, host: string, stored = 0): Promise<Added> {
    const database = new Database(this.database.url, { maxConnections: 2 });
    try {
      const key = await credentialKeyOf(database, readSettings({ TOLLGATE_DATA_DIR: this.dataDir }));
      const { id } = await addOrganisation(database, OPERATOR, name);
      const merchant = await addMerchant(database, OPERATOR, id, name, { vault: true });
      const old = stored > 0 ? await addMerchant(database, OPERATOR, id, `${name}, stored`) : undefined;
      const grants = old === undefined ? [] : [old.id];
      const credentials = await addUser(database, OPERATOR, key, name, { merchant: merchant.id, grants });
      await setHostName(database, OPERATOR, id, host);
      if (old !== undefined)
        await storePayments(database, { organisation: id, merchant: old.id, dataDir: this.dataDir }, stored);
      return { id, merchantId: merchant.id, credentials, storedMerchantId: old?.id };
    } finally {
      await database.close();
    }
  }

  /** Returns once all of its gateways listen. From then on they are started again whenever they end. */
  async startGateways(): Promise<void> {
    for (const slot of this.#slots) void this.#keepRunning(slot);
    while (!this.#slots.every(({ listens }) => listens)) await sleep(50);
  }

  /** Returns when it has ended; it is started again. */
  async killGateway(which: number): Promise<void> {
    const slot = this.#slots[which % this.#slots.length] as Slot;
    slot.isDoomed = true;
    slot.process?.kill('SIGKILL');
    await slot.process?.ended;
  }

  /** Returns when it is back. Nobody kills it meanwhile. */
  killDatabase(signal: NodeJS.Signals): Promise<void> {
    this.#killing = this.#killing.then(async () => {
      await this.database.kill(signal);
      await this.database.start();
    });
    return this.#killing;
  }

  /** Gateways and PostgreSQL stand still (SIGSTOP), or go on (SIGCONT). */
  async suspend(signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    for (const { process } of this.#slots) process?.kill(signal);
    await this.database.suspend(signal);
  }

  /** Gateways and PostgreSQL are killed, and stay so until `comeBack`. */
  async goDown(): Promise<void> {
    this.#isDown = true;
    await Promise.all(this.#slots.map((_, which) => this.killGateway(which)));
    await this.database.kill('SIGKILL');
  }

  async comeBack(): Promise<void> {
    if (!(await this.database.runs())) await this.database.start();
    this.#isDown = false;
  }

  /** In a session of its own, past the relay. */
  async sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]> {
    const client = await this.session();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  async session(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.database.url });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { process } of this.#slots) process?.kill('SIGKILL');
    await this.database.stop();
  }

  async #keepRunning(slot: Slot): Promise<void> {
    while (!this.#isClosed) {
      if (this.#isDown) {
        await sleep(50);
        continue;
      }
      slot.isDoomed = false;
      const process = start(['serve'], this.environment({ PORT: String(slot.port) }), { keep: 'the end' });
      slot.process = process;
      slot.listens = (await process.listening) !== undefined;
      const hasListened = slot.listens;
      const { code, signal } = await process.ended;
      slot.listens = false;
      if (hasListened && !slot.isDoomed && !this.#isClosed)
        this.complaints.push(
          `a gateway of cell ${this.name} ended by itself with ${signal ?? code}: ${process.output()}`,
        );
      // Without its database it does not start, and says so.
      if (!hasListened) await sleep(200);
    }
  }
}
