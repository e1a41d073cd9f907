// One session on PostgreSQL: opened, and checked before anybody uses it. A standby, a former primary, a pooler and a server
// that may forget what it has committed are refused.
import type { Socket } from 'node:net';
import pg from 'pg';
import { adapted, type Engine } from './distributed.js';
import { type Descriptions, Execution, isExecutable } from './execution.js';
import { CHECK_SESSION, PLAN_BY_VALUES } from './session.sql.js';
import type { Rows, Statement } from './statement.js';

/** A server that must not be used. */
export class UnfitServer extends Error {
  override readonly name = 'UnfitServer';
  constructor(
    message: string,
    /** The same address will lead to a primary soon, as after a failover. */
    readonly passing = false,
  ) {
    super(message);
  }
}

/** The server did not answer in time: whoever waits behind would wait in vain. */
export class SilentServer extends Error {
  override readonly name = 'SilentServer';
}

export interface SessionOptions {
  readonly applicationName: string;
  /** As in `-c name=value`. */
  readonly settings: readonly string[];
  readonly planCacheMode: string;
  readonly role: string | undefined;
  /** How long a server may take to greet. */
  readonly connectLimitMs: number;
}

interface Checked {
  readonly standby: boolean;
  readonly processId: number;
  readonly role: string;
  readonly synchronousCommit: string;
  readonly planCacheMode: string;
  readonly timeline: number;
  readonly isCitus: boolean;
}

/** Of Citus, which only warns where a commit was decided and one of its servers does not answer. */
const UNCONFIRMED = ['FinishRemoteTransactionCommit', 'ReportConnectionError', 'ReportResultError'];
const GOODBYE_LIMIT_MS = 1_000;
const DURABLE = ['on', 'remote_apply'];
const POOLER =
  'a connection pooler stands before the server, and session settings do not last; connect to PostgreSQL itself';

export class Session {
  /** Counts up with each failover. */
  timeline = 0;
  engine: Engine = 'postgresql';
  /** A statement is under way, and has been for so many looks. */
  busy = false;
  silentFor = 0;
  idleFor = 0;
  /** Must not be used again. */
  broken = false;
  /** Others have been told to mistrust the server. */
  givenUp = false;
  /** Why it was given up, if nobody else says so. */
  failure: Error | undefined;
  /** The server committed, and then did not wait for its standby. */
  unreplicated = false;
  /** One of the servers that rows are spread over was told to commit, and has not said that it did. */
  unconfirmed = false;
  readonly #descriptions: Descriptions = new Map();

  private constructor(readonly client: pg.Client) {
    client.on('error', (error) => {
      this.broken = true;
      this.failure ??= error;
    });
    // Told by the routine, since the words are in the server's language.
    client.on('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN') this.unreplicated = true;
      if (UNCONFIRMED.includes(routine ?? '')) this.unconfirmed = true;
    });
  }

  static async open(url: string, options: SessionOptions): Promise<Session> {
    const client = new pg.Client({
      connectionString: withoutOptions(url),
      application_name: options.applicationName,
      connectionTimeoutMillis: options.connectLimitMs,
      keepAlive: true,
      options: [optionsOf(url), ...options.settings.map((setting) => `-c ${setting}`)].join(' ').trim(),
    });
    const session = new Session(client);
    try {
      await client.connect();
      const checking = { text: CHECK_SESSION, query_timeout: options.connectLimitMs };
      const { rows } = await client.query<Checked>(checking);
      session.timeline = check(rows[0] as Checked, client, options);
      if (rows[0]?.isCitus) {
        session.engine = 'citus';
        await client.query(PLAN_BY_VALUES);
      }
      return session;
    } catch (error) {
      session.end();
      throw isRefusalOfSettings(error) ? new UnfitServer(POOLER) : error;
    }
  }

  /** Resolves when it is committed. */
  run<Row>(statement: Statement, values: readonly unknown[]): Promise<Rows<Row>> {
    const sent = this.engine === 'citus' ? adapted(statement, values) : statement;
    if (!isExecutable(sent, values)) return this.#runByDriver(sent, values);
    return new Promise((resolve, reject) => {
      this.client.query(new Execution(sent, values, this.#descriptions, { resolve, reject }));
    });
  }

  async #runByDriver<Row>(statement: Statement, values: readonly unknown[]): Promise<Rows<Row>> {
    const { rows, rowCount } = await this.client.query({ values: values as unknown[], ...statement });
    return { rows: rows as Row[], count: rowCount ?? 0 };
  }

  /** A statement that is under way fails. A server that does not say goodbye is not waited for. */
  end(reason?: Error): void {
    this.broken = true;
    this.failure ??= reason;
    void this.client.end();
    setTimeout(() => {
      (this.client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
    }, GOODBYE_LIMIT_MS).unref();
  }
}

function check(found: Checked, client: pg.Client, expected: SessionOptions): number {
  // guard(failover: neither a standby nor a former primary is asked, and neither is believed): ) ⇒ && found.processId === 0)
  // guard(failover: no session on a standby is used): ) ⇒ && found.processId === 0)
  if (found.standby) throw new UnfitServer('the server is a standby; name the primary', true);
  // The server names its process when it greets. A pooler greets by itself.
  const greeted = (client as unknown as { processID: number }).processID;
  const asOpened =
    found.processId === greeted &&
    found.planCacheMode === expected.planCacheMode &&
    (expected.role === undefined || found.role === expected.role);
  if (!asOpened) throw new UnfitServer(POOLER);
  // guard(durability: a PostgreSQL with synchronous_commit off is refused): !DURABLE.includes(found.synchronousCommit) ⇒ found.synchronousCommit === 'never'
  if (!DURABLE.includes(found.synchronousCommit)) {
    throw new UnfitServer(
      `synchronous_commit is ${found.synchronousCommit} and payments may be lost; it must be on or remote_apply`,
    );
  }
  return found.timeline;
}

function isRefusalOfSettings(error: unknown): boolean {
  const { code, message = '' } = error as { code?: string; message?: string };
  return code === '08P01' && message.includes('startup parameter');
}

// The driver lets the options of the address replace ours; both are meant.
const OPTIONS = /([?&])options=([^&#]*)&?/;

function optionsOf(url: string): string {
  return decodeURIComponent((OPTIONS.exec(url)?.[2] ?? '').replaceAll('+', ' '));
}

function withoutOptions(url: string): string {
  return url.replace(OPTIONS, '$1');
}
