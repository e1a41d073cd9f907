// The connection to PostgreSQL: statements, transactions, and telling "gone" from "refused". Only this folder knows the driver.
import pg from 'pg';
import { constraintIn } from './distributed.js';
import { Pool, type PoolFigures } from './pool.js';
import { isPassing, type Session, SilentServer } from './session.js';
import type { Rows, Statement } from './statement.js';

export type { Statement } from './statement.js';

// Identifiers and cents are at most 12 digits: a double holds them exactly.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export interface Queryable {
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Rows<Row>>;
  /** Runs `work` inside one transaction: a new one, or the one that this already is. */
  transaction<Result>(work: (connection: Queryable) => Promise<Result>): Promise<Result>;
  /** The same for everything that works through one database: what was given to that is had here. */
  readonly origin?: object;
}

const DISK_FULL = '53100';

/** The database could not be reached or went away. Whether the statement was committed is not known. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  constructor(cause: unknown) {
    super('the database is not available', { cause });
  }

  /** The server's state, if the server said why. */
  get code(): string | undefined {
    return (this.cause as { code?: string }).code;
  }

  /** It was waited for, for as long as anybody should wait. */
  get silent(): boolean {
    return this.cause instanceof SilentServer;
  }

  /** The server has no room on its disk for what was to be written. */
  get diskFull(): boolean {
    return this.code === DISK_FULL;
  }

  /** It may be there soon by itself. Otherwise somebody has to change something first: a password, a right, a server. */
  get passing(): boolean {
    return isPassing(this.cause);
  }

  /** Not just one statement failed: no session on this server is to be trusted. */
  get serverGone(): boolean {
    return isServerGone(this.cause);
  }
}

export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const { code, constraint: violated } = error as { code?: string; constraint?: string };
  return code === '23505' && (constraint === undefined || constraint === violated);
}

export function isCheckViolation(error: unknown, constraint: string): boolean {
  const { code, constraint: violated } = error as { code?: string; constraint?: string };
  return code === '23514' && constraint === violated;
}

export function isDeadlock(error: unknown): boolean {
  return (error as { code?: string }).code === '40P01';
}

/** The statement waited for a lock for longer than it was told to. */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === '55P03';
}

/** A value that does not fit: a number too large, a text that is none of its type. */
export function isValueRefused(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^22/.test(error.code ?? '');
}

/** The login lacks a right. */
export function isForbidden(error: unknown): error is Error {
  return (error as { code?: string }).code === '42501';
}

/** The statement took longer than its connection allows. */
export function isStatementTimeout(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return error instanceof DatabaseUnavailable && cause?.code === '57014';
}

/** What a function or a migration of ours says itself, in words for the operator. */
export function isRaised(error: unknown): error is Error {
  return (error as { code?: string }).code === 'P0001';
}

/** The statement names a table or a column that the schema does not have (yet). */
export function isUndefined(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === '42P01' || code === '42703';
}

// A refusal by the server has a state. Class 08 (connection), 53 (resources), 57 (shutdown, timeout) and 58 (system), and
// every error that did not come from the server, mean that it is not there for us. Nor is a standby (25006).
function isUnavailable(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(08|53|57|58|25006)/.test(error.code ?? '');
}

function isServerGone(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(08|57P|58|25006)/.test(error.code ?? '');
}

/** It is another server of the cluster that does not answer: this one, and the other organisations, are well. */
function isElsewhere(error: unknown, { engine, unconfirmed }: Session): boolean {
  return engine === 'citus' && (unconfirmed || error instanceof pg.DatabaseError);
}

/** Another server was lost while it took part in a transaction, which was given up: Citus has no state of its own for that. */
function isLostElsewhere(error: unknown, { engine }: Session): boolean {
  return engine === 'citus' && (error as { code?: string }).code === 'XX000';
}

function nameConstraint(error: Error & { constraint?: string }): void {
  const named = constraintIn(error.message);
  if (named !== undefined) error.constraint = named;
}

/** Refused for what the statement says or meets, and the session is as good as before. */
function isHarmless(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(22|23|40|55P03|57014)/.test(error.code ?? '');
}

// No statistics, however old or wrong, may talk PostgreSQL into reading a whole table where an index leads to the rows.
// And a plan that counts as expensive must not be compiled: that would take longer than to run it.
const BY_INDEX = ['enable_seqscan=off', 'jit=off'];
// A plan made while the tables were empty would be kept for ever.
const FOR_THE_TABLE_AS_IT_IS = [...BY_INDEX, 'plan_cache_mode=force_custom_plan'];
// Planning costs a batch as much as a quarter of its work. Kept is a plan only where it cannot be one for empty tables:
// what is left to choose from goes from row to row by an index.
const BY_INDEX_ALWAYS = [
  ...BY_INDEX,
  'plan_cache_mode=force_generic_plan',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
];

/** A statement that hangs is a database that is gone: better refused than waited for. */
const ANSWER_LIMIT_MS = 20_000;
/** The server gives a statement up by itself before its session is given up. */
const STATEMENT_SHARE = 0.75;
const BEGIN: Statement = { name: '', text: 'BEGIN' };
const COMMIT: Statement = { name: '', text: 'COMMIT' };
const ROLLBACK: Statement = { name: '', text: 'ROLLBACK' };
/** The first in a transaction: all that follow see what was there at one moment. */
export const ONE_MOMENT: Statement = { name: '', text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ' };

export interface DatabaseOptions {
  readonly maxConnections?: number;
  readonly applicationName?: string;
  /** A session broke that nobody was using. */
  readonly onError?: (error: Error) => void;
  /** A statement found no room on the server's disk. */
  readonly onDiskFull?: () => void;
  /** For an operator's long work: nothing is cut off for taking its time. */
  readonly patient?: boolean;
  /** For what clients wait for: after so long a session that does not answer is given up. */
  readonly answerLimitMs?: number;
  /** After this long the server gives a statement up: before its session would be given up. */
  readonly statementTimeoutMs?: number;
  /** For batches that find each row by its key: every statement is planned once for each connection. */
  readonly planOnce?: boolean;
  /** For what must go on when the server has no further connection: what was opened once stays open. */
  readonly keepsSessions?: boolean;
  /** Works with the rights of this role instead of its own. */
  readonly role?: string | undefined;
  /** Uses the sessions of this one, whose other options count. */
  readonly sharing?: Database;
}

export class Database implements Queryable {
  readonly origin: object = this;
  readonly #pool: Pool;
  readonly #onDiskFull: (() => void) | undefined;

  constructor(
    readonly url: string,
    options: DatabaseOptions = {},
  ) {
    const { role, patient = false, planOnce = false, answerLimitMs = ANSWER_LIMIT_MS } = options;
    const { statementTimeoutMs = Math.floor(answerLimitMs * STATEMENT_SHARE) } = options;
    if (options.sharing !== undefined) {
      this.#onDiskFull = options.sharing.#onDiskFull;
      this.#pool = options.sharing.#pool;
      return;
    }
    this.#onDiskFull = options.onDiskFull;
    this.#pool = new Pool(url, {
      maxSessions: options.maxConnections ?? 10,
      applicationName: options.applicationName ?? 'tollgate',
      answerLimitMs: patient ? undefined : answerLimitMs,
      keepsSessions: options.keepsSessions ?? false,
      // Early enough to try another server. A start, and an operator's command, can wait.
      connectLimitMs: patient ? ANSWER_LIMIT_MS / 2 : answerLimitMs / 2,
      planCacheMode: planOnce ? 'force_generic_plan' : 'force_custom_plan',
      role,
      settings: [
        ...(planOnce ? BY_INDEX_ALWAYS : FOR_THE_TABLE_AS_IT_IS),
        ...(patient ? [] : [`statement_timeout=${statementTimeoutMs}`]),
        // The one warning that matters must not be switched off: a commit that did not wait for its standby.
        'client_min_messages=warning',
        ...(role === undefined ? [] : [`role=${role}`]),
      ],
      onLost: options.onError ?? (() => {}),
    });
  }

  async query<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Rows<Row>> {
    const session = this.#pool.take() ?? (await this.#acquire());
    try {
      return await this.#run<Row>(session, statement, values);
    } finally {
      this.#pool.release(session);
    }
  }

  async transaction<Result>(work: (connection: Queryable) => Promise<Result>): Promise<Result> {
    const session = this.#pool.take() ?? (await this.#acquire());
    try {
      await this.#run(session, BEGIN, []);
      const connection: Queryable = {
        query: (statement, values = []) => this.#run(session, statement, values),
        transaction: (nested) => nested(connection),
        origin: this,
      };
      const result = await work(connection);
      await this.#run(session, COMMIT, []);
      return result;
    } catch (error) {
      // A session that is broken is closed, which rolls back too.
      if (!session.broken) await this.#run(session, ROLLBACK, []).catch(() => {});
      throw error;
    } finally {
      this.#pool.release(session);
    }
  }

  /** The same sessions, as an origin of its own: what is given to that, such as the pen of one request, is not had here. */
  apart(): Database {
    return new Database(this.url, { sharing: this });
  }

  /**
   * Whether one statement may be about several organisations: the one place where that is decided. Where organisations are spread over
   * several servers it would visit all of them. Not known before the first session: then none are mixed.
   */
  get mixesOrganisations(): boolean {
    return this.#pool.engine === 'postgresql';
  }

  get figures(): PoolFigures {
    return this.#pool.figures;
  }

  /** Runs several statements given as one text, as migrations are. */
  async script(connection: Queryable, text: string): Promise<void> {
    await connection.query({ name: '', text });
  }

  /** Returns when the server has let the last connection go, or does not answer. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  #acquire(): Promise<Session> {
    return this.#pool.acquire().catch((error: unknown) => {
      throw new DatabaseUnavailable(error);
    });
  }

  async #run<Row>(session: Session, statement: Statement, values: readonly unknown[]): Promise<Rows<Row>> {
    session.busy = true;
    session.silentFor = 0;
    try {
      const result = await session.run<Row>(statement, values);
      // guard(failover: a commit that did not wait for its standby is not acknowledged): ) ⇒ && session.broken)
      if (session.unreplicated) throw new Error('a commit was not confirmed by the standby');
      if (session.unconfirmed) throw new Error('a commit was not confirmed by a server of the cluster');
      return result;
    } catch (error) {
      // Its own stack leads to the driver's socket, this one to who asked.
      Error.captureStackTrace(error as Error);
      if (!isHarmless(error)) session.broken = true;
      if (session.engine === 'citus') nameConstraint(error as Error);
      if (!isUnavailable(error) && !isLostElsewhere(error, session)) throw error;
      if (isServerGone(error) && !session.givenUp && !isElsewhere(error, session)) this.#pool.suspect();
      const unavailable = new DatabaseUnavailable(session.failure ?? error);
      if (unavailable.diskFull) this.#onDiskFull?.();
      throw unavailable;
    } finally {
      session.busy = false;
    }
  }
}
