// One session on PostgreSQL: opened, checked before anybody uses it, and asked. A standby, a former primary, a pooler and a server
// that may forget what it has committed are refused.
import type { Socket } from 'node:net';
import pg from 'pg';
import { adapted, type Engine } from './distributed.js';
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
  /** By the names of its statements. */
  readonly #descriptions = new Map<string, Description>();

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

/** It starts or stops, has no connection to spare or no room on its disk, or is a standby. Not 08P01, which is a pooler's "no". */
const STATES = /^(08(?!P01)|53|57|25006)/;
/** What the driver says without a code. */
const LOST = /^(timeout expired|Connection terminated|Query read timeout)/;
/** On the way to it. What is wrong with a certificate, or with the file of one, has other calls or none. */
const CALLS = ['connect', 'getaddrinfo', 'read', 'write'];

/** Whether a server that cannot be used may be there soon by itself. Otherwise somebody has to change something first. */
export function isPassing(error: unknown): boolean {
  if (error instanceof UnfitServer) return error.passing;
  if (error instanceof SilentServer) return true;
  if (error instanceof pg.DatabaseError) return STATES.test(error.code ?? '');
  // A name with several addresses fails with an error for each.
  if (error instanceof AggregateError) return error.errors.some(isPassing);
  const { syscall, message } = error as NodeJS.ErrnoException;
  return syscall === undefined ? LOST.test(message) : CALLS.includes(syscall);
}

// The driver lets the server describe the rows anew with every execution of a prepared statement, and makes each row member by
// member; together that costs more than all the rest of a small batch. Here a session describes a statement once.

/** What the rows of a statement are like. */
interface Description {
  readonly names: readonly string[];
  readonly parsers: readonly ((text: string) => unknown)[];
  /** A row without values. Copies of it have one shape, however many columns there are. */
  readonly emptyRow: Readonly<Record<string, null>>;
}

/** What it takes of the driver's connection. */
interface Connection {
  /** The texts that the server has, by name. */
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly stream: { cork(): void; uncork(): void };
  parse(statement: Statement): void;
  bind(bound: {
    statement: string;
    values: readonly unknown[];
    valueMapper: (value: unknown) => string;
  }): void;
  describe(described: { type: 'P' }): void;
  execute(): void;
  sync(): void;
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

interface Settled<Row> {
  readonly resolve: (rows: Rows<Row>) => void;
  readonly reject: (error: unknown) => void;
}

/** Whether it can be executed here. How anything else than texts and numbers is written, the driver knows. */
function isExecutable({ name }: Statement, values: readonly unknown[]): boolean {
  return name !== '' && values.every((value) => typeof value === 'string' || typeof value === 'number');
}

/** One execution of a prepared statement. */
class Execution<Row> implements pg.Submittable {
  /** The driver notes under this name that the server has the statement. */
  readonly name: string;
  readonly text: string;
  readonly #rows: Row[] = [];
  #count = 0;
  #description: Description | undefined;
  /** Why a row could not be read. Thrown at once, it would end the process. */
  #unread: unknown;

  constructor(
    { name, text }: Statement,
    private readonly values: readonly unknown[],
    private readonly descriptions: Map<string, Description>,
    private readonly settled: Settled<Row>,
  ) {
    this.name = name;
    this.text = text;
    this.#description = descriptions.get(name);
  }

  submit(driversConnection: pg.Connection): Error | undefined {
    const connection = driversConnection as unknown as Connection;
    const { name, text, values } = this;
    const parsed = connection.parsedStatements[name];
    if (parsed !== undefined && parsed !== text) return new Error(`two statements are called ${name}`);
    // One packet for all of it.
    connection.stream.cork();
    try {
      if (parsed === undefined) connection.parse({ name, text });
      connection.bind({ statement: name, values, valueMapper: String });
      if (this.#description === undefined) connection.describe({ type: 'P' });
      connection.execute();
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
    return undefined;
  }

  handleRowDescription({ fields }: { fields: readonly Field[] }): void {
    const names = fields.map(({ name }) => name);
    this.#description = {
      names,
      parsers: fields.map(({ dataTypeID }) => pg.types.getTypeParser(dataTypeID, 'text')),
      // Read from a text, since an object to which so many members were added one by one would be slow for ever.
      emptyRow: JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`),
    };
    this.descriptions.set(this.name, this.#description);
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    try {
      this.#rows.push(rowOf(this.#description as Description, fields) as Row);
    } catch (error) {
      this.#unread ??= error;
    }
  }

  /** How many rows it was is the last word, whatever the command. */
  handleCommandComplete({ text }: { text: string }): void {
    this.#count = Number(text.slice(text.lastIndexOf(' ') + 1)) || 0;
  }

  /** Only now it is committed: what the server says before, it says before its commit. */
  handleReadyForQuery(): void {
    if (this.#unread === undefined) this.settled.resolve({ rows: this.#rows, count: this.#count });
    else this.settled.reject(this.#unread);
  }

  handleError(error: unknown): void {
    this.settled.reject(error);
  }

  /** Without a limit to the rows no portal is suspended, and no statement is empty or copies. */
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}

function rowOf(
  { names, parsers, emptyRow }: Description,
  fields: readonly (string | null)[],
): Record<string, unknown> {
  const row: Record<string, unknown> = { ...emptyRow };
  for (let column = 0; column < fields.length; column += 1) {
    const field = fields[column] as string | null;
    if (field !== null) row[names[column] as string] = parsers[column]?.(field);
  }
  return row;
}
