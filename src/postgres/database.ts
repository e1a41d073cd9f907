// The connection to PostgreSQL: statements, transactions, and telling an unavailable database from a refused statement. Only this folder
// knows the driver.
import pg from 'pg';
import { constraintIn } from './distributed.js';
import { Pool, type PoolFigures } from './pool.js';
import { isTransient, type Session, UnresponsiveServer } from './session.js';
import { CANCEL_STATEMENT } from './short-timeout.sql.js';
import type { Rows, Statement } from './statement.js';

export type { Statement } from './statement.js';

// IDs and cents have at most 12 digits, which a double holds exactly.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export interface Queryable {
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Rows<Row>>;
  /** Runs `work` inside a transaction: the current one if there is one, otherwise a new one. */
  transaction<Result>(work: (connection: Queryable) => Promise<Result>): Promise<Result>;
  /** Identifies the database behind all its connections: settings attached to it, such as the entry signer, apply to all of them. */
  readonly origin?: object;
}

const DISK_FULL = '53100';

/** The database could not be reached, or went away. Whether the statement was committed is unknown. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  constructor(cause: unknown) {
    super('the database is not available', { cause });
  }

  /** The server's SQLSTATE, if the server gave one. */
  get code(): string | undefined {
    return (this.cause as { code?: string }).code;
  }

  /** The server did not answer within the limit. */
  get unresponsive(): boolean {
    return this.cause instanceof UnresponsiveServer;
  }

  /** The server's disk is full. */
  get diskFull(): boolean {
    return this.code === DISK_FULL;
  }

  /** The database may come back by itself. Otherwise somebody must change a password, a privilege or a server first. */
  get transient(): boolean {
    return isTransient(this.cause);
  }

  /** No session on this server can be trusted, not only the one that failed. */
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

/** The organisation has moved to another cell, or is on its way: nothing is written of it here. */
export function isOrganisationElsewhere(error: unknown): error is Error {
  return error instanceof pg.DatabaseError && isCheckViolation(error, 'organisation_is_elsewhere');
}

export function isDeadlock(error: unknown): boolean {
  return (error as { code?: string }).code === '40P01';
}

/** The statement waited too long for a lock. */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === '55P03';
}

/** A value does not fit its type: a number too large, a malformed text. */
export function isValueRefused(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^22/.test(error.code ?? '');
}

/** The login lacks a privilege. */
export function isForbidden(error: unknown): error is Error {
  return (error as { code?: string }).code === '42501';
}

/** The statement took longer than its connection allows. */
export function isStatementTimeout(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return error instanceof DatabaseUnavailable && cause?.code === '57014';
}

/** Raised by one of our own functions or migrations, with a message for the operator. */
export function isRaised(error: unknown): error is Error {
  return (error as { code?: string }).code === 'P0001';
}

/** The schema does not have a table or column of the statement (yet). */
export function isUndefined(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === '42P01' || code === '42703';
}

// Errors from the server have an SQLSTATE. Classes 08 (connection), 53 (resources), 57 (shutdown, timeout) and 58 (system), a standby
// (25006), and all errors that did not come from the server, mean that the database is unavailable.
function isUnavailable(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(08|53|57|58|25006)/.test(error.code ?? '');
}

function isServerGone(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(08|57P|58|25006)/.test(error.code ?? '');
}

/** Another server of the cluster does not answer. This server, and the other organisations, are not affected. */
function isElsewhere(error: unknown, { engine, unconfirmed }: Session): boolean {
  return engine === 'citus' && (unconfirmed || error instanceof pg.DatabaseError);
}

/** Another server was lost during a transaction, which was rolled back. Citus has no SQLSTATE of its own for that. */
function isLostElsewhere(error: unknown, { engine }: Session): boolean {
  return engine === 'citus' && (error as { code?: string }).code === 'XX000';
}

function nameConstraint(error: Error & { constraint?: string }): void {
  const named = constraintIn(error.message);
  if (named !== undefined) error.constraint = named;
}

/** The statement failed because of its text or its data; the session can still be used. */
function isHarmless(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(22|23|40|55P03|57014)/.test(error.code ?? '');
}

// Whatever the statistics say, PostgreSQL must not read a whole table where an index finds the rows. JIT is off because compiling an
// expensive-looking plan takes longer than running it.
const BY_INDEX = ['enable_seqscan=off', 'jit=off'];
// A plan made while the tables were empty would be kept for ever.
const FOR_THE_TABLE_AS_IT_IS = [...BY_INDEX, 'plan_cache_mode=force_custom_plan'];
// Planning takes a quarter of a batch's time. A kept plan is safe only if it cannot suit empty tables alone, so the planner is left with
// nested loops over indexes.
const BY_INDEX_ALWAYS = [
  ...BY_INDEX,
  'plan_cache_mode=force_generic_plan',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
];

/** A statement that hangs means that the database is gone: better to refuse than to wait. */
const ANSWER_LIMIT_MS = 20_000;
/** The server cancels a statement before the session is given up. */
const STATEMENT_SHARE = 0.75;
const BEGIN: Statement = { name: '', text: 'BEGIN' };
const COMMIT: Statement = { name: '', text: 'COMMIT' };
const ROLLBACK: Statement = { name: '', text: 'ROLLBACK' };
/** As the first statement of a transaction: all later ones see the same snapshot. */
export const REPEATABLE_READ: Statement = {
  name: '',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ',
};

export interface DatabaseOptions {
  readonly maxConnections?: number;
  readonly applicationName?: string;
  /** An idle session was lost. */
  readonly onError?: (error: Error) => void;
  /** A statement failed because the server's disk is full. */
  readonly onDiskFull?: () => void;
  /** For operators' long work: no timeouts. */
  readonly patient?: boolean;
  /** For work that clients wait for: a session without an answer is given up after this time. */
  readonly answerLimitMs?: number;
  /** The server cancels a statement after this time, before its session would be given up. */
  readonly statementTimeoutMs?: number;
  /** For batches that find each row by its key: each connection plans a statement once. */
  readonly planOnce?: boolean;
  /** How much memory a statement uses before it writes to disk. */
  readonly workMemory?: string;
  /** For work that must go on when the server is out of connections: open connections stay open. */
  readonly keepsSessions?: boolean;
  /** Uses the privileges of this role instead of the login's. */
  readonly role?: string | undefined;
  /** Shares the sessions of this database, whose other options apply. */
  readonly sharing?: Database;
  /** With `sharing`: the asker of all statements has gone once it is aborted. */
  readonly asker?: AbortSignal;
}

export class Database implements Queryable {
  readonly origin: object;
  readonly #pool: Pool;
  readonly #asker: AbortSignal | undefined;
  /** Whose sessions these are. */
  readonly #owner: Database;
  /** Cancels statements, since the other sessions may all be busy with them. */
  #canceller: Database | undefined;
  readonly #onDiskFull: (() => void) | undefined;

  constructor(
    readonly url: string,
    options: DatabaseOptions = {},
  ) {
    const { role, patient = false, planOnce = false, answerLimitMs = ANSWER_LIMIT_MS } = options;
    const { statementTimeoutMs = Math.floor(answerLimitMs * STATEMENT_SHARE) } = options;
    this.#asker = options.asker;
    this.#owner = options.sharing === undefined ? this : options.sharing.#owner;
    this.origin =
      options.asker !== undefined && options.sharing !== undefined ? options.sharing.origin : this;
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
      // Early enough to try another server. Starts and operators' commands can wait.
      connectLimitMs: patient ? ANSWER_LIMIT_MS / 2 : answerLimitMs / 2,
      planCacheMode: planOnce ? 'force_generic_plan' : 'force_custom_plan',
      role,
      settings: [
        ...(planOnce ? BY_INDEX_ALWAYS : FOR_THE_TABLE_AS_IT_IS),
        ...(options.workMemory === undefined ? [] : [`work_mem=${options.workMemory}`]),
        ...(patient ? [] : [`statement_timeout=${statementTimeoutMs}`]),
        // Keeps the one warning that matters: a commit that did not wait for its standby.
        'client_min_messages=warning',
        ...(role === undefined ? [] : [`role=${role}`]),
      ],
      onLost: options.onError ?? (() => {}),
    });
  }

  async query<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Rows<Row>> {
    const session = this.#pool.take() ?? (await this.#acquire());
    try {
      return await (this.#asker === undefined
        ? this.#run<Row>(session, statement, values)
        : this.#runForAsker<Row>(session, this.#asker, statement, values));
    } finally {
      this.#pool.release(session);
    }
  }

  async transaction<Result>(work: (connection: Queryable) => Promise<Result>): Promise<Result> {
    const session = this.#pool.take() ?? (await this.#acquire());
    const asker = this.#asker;
    try {
      asker?.throwIfAborted();
      await this.#run(session, BEGIN, []);
      const connection: Queryable = {
        query: (statement, values = []) =>
          asker === undefined
            ? this.#run(session, statement, values)
            : this.#runForAsker(session, asker, statement, values),
        transaction: (nested) => nested(connection),
        origin: this.origin,
      };
      const result = await work(connection);
      await this.#run(session, COMMIT, []);
      return result;
    } catch (error) {
      // A broken session is closed, which rolls back too.
      if (!session.broken) await this.#run(session, ROLLBACK, []).catch(() => {});
      throw error;
    } finally {
      this.#pool.release(session);
    }
  }

  /** The same sessions with an origin of its own: an entry signer set there, for one request, does not apply here. */
  withOwnOrigin(): Database {
    return new Database(this.url, { sharing: this });
  }

  /** The same for work that nobody needs once its asker has gone: no further statement begins, and the running one is cancelled. */
  until(asker: AbortSignal): Database {
    return new Database(this.url, { sharing: this, asker });
  }

  /**
   * Whether one statement may concern several organisations; the only place that decides it. With organisations spread over several
   * servers, such a statement would visit all of them. Before the first session this is unknown, and organisations are not mixed.
   */
  get mixesOrganisations(): boolean {
    return this.#pool.engine === 'postgresql';
  }

  get figures(): PoolFigures {
    return this.#pool.figures;
  }

  /** Runs several statements given as one text, such as a migration. */
  async script(connection: Queryable, text: string): Promise<void> {
    await connection.query({ name: '', text });
  }

  /** Returns when the server has closed the last connection, or does not answer. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), this.#canceller?.close()]);
  }

  #acquire(): Promise<Session> {
    return this.#pool.acquire().catch((error: unknown) => {
      throw new DatabaseUnavailable(error);
    });
  }

  async #runForAsker<Row>(
    session: Session,
    asker: AbortSignal,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Rows<Row>> {
    asker.throwIfAborted();
    let cancelled: Promise<void> | undefined;
    const cancel = () => {
      cancelled = this.#owner.#cancelStatement(session);
    };
    asker.addEventListener('abort', cancel, { once: true });
    try {
      return await this.#run(session, statement, values);
    } finally {
      asker.removeEventListener('abort', cancel);
      // A later one would hit the next statement of the session.
      await cancelled;
    }
  }

  /** If that fails, the statement runs until its timeout. */
  async #cancelStatement({ processId }: Session): Promise<void> {
    this.#canceller ??= new Database(this.url, { maxConnections: 1, applicationName: 'tollgate-cancel' });
    await this.#canceller.query(CANCEL_STATEMENT, [processId]).catch(() => {});
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
      // The error's own stack leads to the driver's socket; this one leads to the caller.
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
