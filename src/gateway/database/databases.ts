// The gateway's pools of database sessions. Each kind of work has its own: a flood of look-ups cannot delay a claim.
import { Database, type DatabaseOptions } from '../../postgres/database.js';
import { FairConnections } from '../../postgres/fair-connections.js';
import type { PoolFigures } from '../../postgres/pool.js';
import type { Settings } from '../settings/settings.js';
import { APPLICATION_ROLE } from './connection.sql.js';

/** For operations of the vault. */
export const VAULT_SESSIONS = 4;
const SEARCH_SESSIONS = 3;
const SEARCHES = { connections: SEARCH_SESSIONS, perOrganisation: 2, maxWaiting: 100, maxWaitMs: 5_000 };
/** So little that the look at the disk does not fit into it. */
const LOOKS_MEMORY = '64kB';
/** For readers of events, except one for the watcher. */
export const EVENT_SESSIONS = 4;

export class Databases {
  readonly #all = new Map<string, Database>();

  /** Every pool below. */
  get all(): Iterable<Database> {
    return this.#all.values();
  }

  /** Claims and records. */
  readonly commits: Database;
  readonly lookUps: Database;
  /** Log-ins, heartbeats and leases: everything else depends on these. */
  readonly vital: Database;
  readonly vault: Database;
  readonly newTokens: Database;
  /** Customer searches, transaction lists and reports, with a short statement timeout. */
  readonly searches: FairConnections;
  readonly events: Database;
  /** For background work, which nobody waits for. */
  readonly background: Database;
  /** For looks whether there is anything to do: short statements, over and over. */
  readonly looks: Database;
  /** For webhooks and their progress. */
  readonly webhooks: Database;
  /** Everything else. */
  readonly others: Database;

  private constructor(
    private readonly url: string,
    { databaseTimeoutMs, searchTimeoutMs }: Settings,
    pool: Pick<DatabaseOptions, 'onError' | 'onDiskFull' | 'role'>,
  ) {
    const prompt = { answerLimitMs: databaseTimeoutMs, ...pool };
    // Payments depend on these.
    const lasting = { keepsSessions: true, ...prompt };
    this.commits = this.#add('commits', { maxConnections: 7, planOnce: true, ...lasting });
    this.lookUps = this.#add('look-ups', { maxConnections: 5, planOnce: true, ...lasting });
    this.vital = this.#add('vital', { maxConnections: 3, planOnce: true, ...lasting });
    this.vault = this.#add('vault', { maxConnections: VAULT_SESSIONS, ...prompt });
    this.newTokens = this.#add('new tokens', { maxConnections: 2, ...prompt });
    const searches = this.#add('searches', {
      maxConnections: SEARCH_SESSIONS,
      statementTimeoutMs: searchTimeoutMs,
      answerLimitMs: searchTimeoutMs + databaseTimeoutMs,
      ...pool,
    });
    this.searches = new FairConnections(searches, SEARCHES);
    this.events = this.#add('events', { maxConnections: EVENT_SESSIONS, ...prompt });
    this.background = this.#add('background', { maxConnections: 2, keepsSessions: true, ...pool });
    this.looks = this.#add('looks', {
      maxConnections: 2,
      workMemory: LOOKS_MEMORY,
      planOnce: true,
      ...lasting,
    });
    this.webhooks = this.#add('webhooks', { maxConnections: 2, ...pool });
    this.others = this.#add('others', { maxConnections: 4, ...prompt });
  }

  /** `onError` is called when an idle session breaks. */
  static async open(
    url: string,
    settings: Settings,
    told: Pick<DatabaseOptions, 'onError' | 'onDiskFull'>,
  ): Promise<Databases> {
    return new Databases(url, settings, { ...told, role: await applicationRole(url) });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all.values()].map((database) => database.close()));
  }

  /** By pool name. */
  get figures(): (PoolFigures & { readonly name: string })[] {
    return [...this.#all].map(([name, database]) => ({ name, ...database.figures }));
  }

  #add(name: string, options: DatabaseOptions): Database {
    const database = new Database(this.url, options);
    this.#all.set(name, database);
    return database;
  }
}

/** The role with only the rights that a gateway needs, if the database has it. */
async function applicationRole(url: string): Promise<string | undefined> {
  const database = new Database(url, { maxConnections: 1 });
  try {
    return (await database.query<{ role: string }>(APPLICATION_ROLE)).rows[0]?.role;
  } finally {
    await database.close();
  }
}
