// One session on PostgreSQL, checked before it is used. Refused are a standby, a former primary, a pooler, and a server that may lose
// what it has committed.
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
    /** The same address will soon lead to a primary, as after a failover. */
    readonly transient = false,
  ) {
    super(message);
  }
}

/** The server did not answer in time: work queued behind would wait in vain. */
export class UnresponsiveServer extends Error {
  override readonly name = 'UnresponsiveServer';
}

export interface SessionOptions {
  readonly applicationName: string;
  /** In the form `name=value` of the option `-c`. */
  readonly settings: readonly string[];
  readonly planCacheMode: string;
  readonly role: string | undefined;
  /** How long a connection attempt may take. */
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

/** Citus only warns if a commit was decided and one of its servers does not answer. */
const UNCONFIRMED = ['FinishRemoteTransactionCommit', 'ReportConnectionError', 'ReportResultError'];
const CLOSE_LIMIT_MS = 1_000;
const DURABLE = ['on', 'remote_apply'];
const POOLER =
  'a connection pooler stands before the server, and session settings do not last; connect to PostgreSQL itself';

export class Session {
  /** Increases with each failover. */
  timeline = 0;
  engine: Engine = 'postgresql';
  /** A statement is running; `silentFor` is the time without an answer. */
  busy = false;
  silentFor = 0;
  idleFor = 0;
  /** Must not be used again. */
  broken = false;
  /** The pool already knows that the server is not to be trusted. */
  givenUp = false;
  /** Why the session was given up, unless the server says so. */
  failure: Error | undefined;
  /** The server committed without waiting for its standby. */
  unreplicated = false;
  /** A server of the cluster was told to commit, and has not confirmed it. */
  unconfirmed = false;
  /** By statement name. */
  readonly #descriptions = new Map<string, Description>();

  private constructor(readonly client: pg.Client) {
    client.on('error', (error) => {
      this.broken = true;
      this.failure ??= error;
    });
    // Recognised by the server's routine, because messages may be in another language.
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
      session.timeline = check(rows[0] as Checked, session.processId, options);
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

  /** Of the server's process, as it was greeted. */
  get processId(): number {
    return (this.client as unknown as { processID: number }).processID;
  }

  /** Resolves after the commit. */
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

  /** A running statement fails. A server that does not close the connection is not waited for. */
  end(reason?: Error): void {
    this.broken = true;
    this.failure ??= reason;
    void this.client.end();
    setTimeout(() => {
      (this.client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
    }, CLOSE_LIMIT_MS).unref();
  }
}

function check(found: Checked, greeted: number, expected: SessionOptions): number {
  // guard(failover: neither a standby nor a former primary is asked, and neither is believed): ) ⇒ && found.processId === 0)
  // guard(failover: no session on a standby is used): ) ⇒ && found.processId === 0)
  if (found.standby) throw new UnfitServer('the server is a standby; name the primary', true);
  // PostgreSQL names its process in the greeting. A pooler greets by itself.
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

// The driver lets the options in the URL replace ours; both must apply.
const OPTIONS = /([?&])options=([^&#]*)&?/;

function optionsOf(url: string): string {
  return decodeURIComponent((OPTIONS.exec(url)?.[2] ?? '').replaceAll('+', ' '));
}

function withoutOptions(url: string): string {
  return url.replace(OPTIONS, '$1');
}

/** The server starts or stops, is out of connections or disk, or is a standby. Without 08P01, with which a pooler refuses. */
const STATES = /^(08(?!P01)|53|57|25006)/;
/** Messages of the driver that have no code. */
const LOST = /^(timeout expired|Connection terminated|Query read timeout)/;
/** System calls of connecting. Errors with a certificate, or its file, have other system calls or none. */
const CALLS = ['connect', 'getaddrinfo', 'read', 'write'];

/** Whether an unusable server may come back by itself. Otherwise somebody must change something first. */
export function isTransient(error: unknown): boolean {
  if (error instanceof UnfitServer) return error.transient;
  if (error instanceof UnresponsiveServer) return true;
  if (error instanceof pg.DatabaseError) return STATES.test(error.code ?? '');
  // A host name with several addresses fails with one error for each.
  if (error instanceof AggregateError) return error.errors.some(isTransient);
  const { syscall, message } = error as NodeJS.ErrnoException;
  return syscall === undefined ? LOST.test(message) : CALLS.includes(syscall);
}

// The driver lets the server describe the rows again at every execution of a prepared statement, and builds each row member by member.
// Together that costs more than the rest of a small batch. Here a session describes a statement once.

/** The columns of a statement's rows. */
interface Description {
  readonly names: readonly string[];
  readonly parsers: readonly ((text: string) => unknown)[];
  /** A row without values. All copies of it have one hidden class, however many columns there are. */
  readonly emptyRow: Readonly<Record<string, null>>;
}

/** The part of the driver's connection that is used here. */
interface Connection {
  /** Statements prepared on the server, by name. */
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

/** Whether this class can send the values. Only the driver knows how to encode anything but texts and numbers. */
function isExecutable({ name }: Statement, values: readonly unknown[]): boolean {
  return name !== '' && values.every((value) => typeof value === 'string' || typeof value === 'number');
}

/** One execution of a prepared statement. */
class Execution<Row> implements pg.Submittable {
  /** The driver uses this name to remember which statements the server has prepared. */
  readonly name: string;
  readonly text: string;
  readonly #rows: Row[] = [];
  #count = 0;
  #description: Description | undefined;
  /** Why a row could not be read. Throwing immediately would end the process. */
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
    if (parsed !== undefined && parsed !== text) return new Error(`two statements have the name ${name}`);
    // Sends all messages in one packet.
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
      // Parsed from JSON, because an object whose members are added one by one would stay slow.
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

  /** The last word is the number of rows, whatever the command. */
  handleCommandComplete({ text }: { text: string }): void {
    this.#count = Number(text.slice(text.lastIndexOf(' ') + 1)) || 0;
  }

  /** Only now is the statement committed: all earlier messages arrive before the commit. */
  handleReadyForQuery(): void {
    if (this.#unread === undefined) this.settled.resolve({ rows: this.#rows, count: this.#count });
    else this.settled.reject(this.#unread);
  }

  handleError(error: unknown): void {
    this.settled.reject(error);
  }

  /** Never called: there is no row limit, and no statement is empty or a COPY. */
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
