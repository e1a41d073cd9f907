// The gateway's pools of sessions. Each kind of work has its own: a flood of look-ups cannot keep a claim waiting for a session.
import { Database, type DatabaseOptions } from '../../postgres/database.js';
import { FairConnections } from '../../postgres/fair-connections.js';
import type { PoolFigures } from '../../postgres/pool.js';
import type { Settings } from '../settings/settings.js';
import { APPLICATION_ROLE } from './connection.sql.js';

/** For operations of the vault. */
export const VAULT_SESSIONS = 4;
const SEARCH_SESSIONS = 3;
const SEARCHES = { connections: SEARCH_SESSIONS, perOrganisation: 2, maxWaiting: 100, maxWaitMs: 5_000 };
/** For readers of events, but for one, which is the watcher's. */
export const EVENT_SESSIONS = 4;

export class Databases {
  readonly #all = new Map<string, Database>();

  /** Each of those below. */
  get all(): Iterable<Database> {
    return this.#all.values();
  }

  /** Claims and records. */
  readonly commits: Database;
  readonly lookUps: Database;
  /** Log-ins, heartbeats and leases: without these nothing else goes on. */
  readonly vital: Database;
  readonly vault: Database;
  readonly newTokens: Database;
  /** Searches for customers, lists of transactions and reports, whose statements have little time. */
  readonly searches: FairConnections;
  readonly events: Database;
  /** Nobody waits for what happens in the background, and it may take its time. */
  readonly background: Database;
  /** What webhooks are sent, and how far they are. */
  readonly webhooks: Database;
  /** Everything else. */
  readonly others: Database;

  private constructor(
    private readonly url: string,
    { databaseTimeoutMs, searchTimeoutMs }: Settings,
    pool: Pick<DatabaseOptions, 'onError' | 'onDiskFull' | 'role'>,
  ) {
    const prompt = { answerLimitMs: databaseTimeoutMs, ...pool };
    // Without these nothing is paid.
    const lasting = { keepsSessions: true, ...prompt };
    this.commits = this.#add('commits', { maxConnections: 7, planOnce: true, ...lasting });
    this.lookUps = this.#add('look-ups', { maxConnections: 5, planOnce: true, ...lasting });
    this.vital = this.#add('vital', { maxConnections: 3, ...lasting });
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
    this.background = this.#add('background', { maxConnections: 2, ...pool });
    this.webhooks = this.#add('webhooks', { maxConnections: 2, ...pool });
    this.others = this.#add('others', { maxConnections: 4, ...prompt });
  }

  /** `onError` is called when a session broke that nobody was using. */
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

  /** By the names of the pools. */
  get figures(): (PoolFigures & { readonly name: string })[] {
    return [...this.#all].map(([name, database]) => ({ name, ...database.figures }));
  }

  #add(name: string, options: DatabaseOptions): Database {
    const database = new Database(this.url, options);
    this.#all.set(name, database);
    return database;
  }
}

/** The role with only the rights that a gateway needs, where the database has it. */
async function applicationRole(url: string): Promise<string | undefined> {
  const database = new Database(url, { maxConnections: 1 });
  try {
    return (await database.query<{ role: string }>(APPLICATION_ROLE)).rows[0]?.role;
  } finally {
    await database.close();
  }
}
