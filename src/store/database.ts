// The connection to PostgreSQL: the pool, prepared statements, and telling "gone" from "refused". Only this folder knows the driver.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

// Identifiers and cents are at most 12 digits: a double holds them exactly.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export interface Statement {
  /** Prepared under this name once per connection. */
  readonly name: string;
  readonly text: string;
}

export interface Rows<Row> {
  readonly rows: Row[];
  readonly count: number;
}

export interface Queryable {
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Rows<Row>>;
  /** Runs `work` inside one transaction: a new one, or the one that this already is. */
  transaction<Result>(work: (connection: Queryable) => Promise<Result>): Promise<Result>;
}

/** The database could not be reached or went away. Whether the statement was committed is not known. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  constructor(cause: unknown) {
    super('the database is not available', { cause });
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

/** The statement took longer than its connection allows. */
export function isStatementTimeout(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return error instanceof DatabaseUnavailable && cause?.code === '57014';
}

/** The statement names a table or a column that the schema does not have (yet). */
export function isUndefined(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === '42P01' || code === '42703';
}

// A refusal by the server has a state. Class 08 (connection), 53 (resources), 57 (shutdown, timeout) and 58 (system),
// and every error that did not come from the server, mean that it is not there for us.
function isUnavailable(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(08|53|57|58)/.test(error.code ?? '');
}

async function run<Row>(
  client: pg.Pool | pg.ClientBase,
  statement: Statement,
  values: readonly unknown[],
): Promise<Rows<Row>> {
  try {
    const result = await client.query({ values: values as unknown[], ...statement });
    return { rows: result.rows as Row[], count: result.rowCount ?? 0 };
  } catch (error) {
    throw isUnavailable(error) ? new DatabaseUnavailable(error) : error;
  }
}

// No statistics, however old or wrong, may talk PostgreSQL into reading a whole table where an index leads to the rows.
// And a plan that counts as expensive must not be compiled: that would take longer than to run it.
const BY_INDEX = ['-c enable_seqscan=off', '-c jit=off'];
// A plan made while the tables were empty would be kept for ever.
const FOR_THE_TABLE_AS_IT_IS = [...BY_INDEX, '-c plan_cache_mode=force_custom_plan'];
// Planning costs a batch as much as a quarter of its work. Kept is a plan only where it cannot be one for empty tables:
// what is left to choose from goes from row to row by an index.
const BY_INDEX_ALWAYS = [
  ...BY_INDEX,
  '-c plan_cache_mode=force_generic_plan',
  '-c enable_hashjoin=off',
  '-c enable_mergejoin=off',
];

const GOODBYE_LIMIT_MS = 2_000;
const BEGIN: Statement = { name: '', text: 'BEGIN' };
const COMMIT: Statement = { name: '', text: 'COMMIT' };

export interface DatabaseOptions {
  readonly maxConnections?: number;
  readonly applicationName?: string;
  readonly onError?: (error: Error) => void;
  /** For an operator's long work: nothing is cut off for taking its time. */
  readonly patient?: boolean;
  /** After this long the server gives a statement up. */
  readonly statementTimeoutMs?: number;
  /** For batches that find each row by its key: every statement is planned once for each connection. */
  readonly planOnce?: boolean;
  /** Works with the rights of this role instead of its own. */
  readonly role?: string | undefined;
}

export class Database implements Queryable {
  readonly #pool: pg.Pool;
  readonly #connected = new Set<pg.PoolClient>();

  constructor(
    readonly url: string,
    options: DatabaseOptions = {},
  ) {
    this.#pool = new pg.Pool({
      connectionString: url,
      max: options.maxConnections ?? 10,
      application_name: options.applicationName ?? 'tollgate',
      connectionTimeoutMillis: 3_000,
      // A statement that hangs is a database that is gone: better refused in seconds than waited for.
      ...(options.patient !== true && { query_timeout: 20_000 }),
      keepAlive: true,
      options: [
        ...(options.planOnce === true ? BY_INDEX_ALWAYS : FOR_THE_TABLE_AS_IT_IS),
        ...(options.patient === true ? [] : [`-c statement_timeout=${options.statementTimeoutMs ?? 15_000}`]),
        ...(options.role === undefined ? [] : [`-c role=${options.role}`]),
      ].join(' '),
    });
    // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
    this.#pool.on('error', (error) => options.onError?.(error));
    this.#pool.on('connect', (client) => this.#connected.add(client));
    this.#pool.on('remove', (client) => this.#connected.delete(client));
  }

  query<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Rows<Row>> {
    return run<Row>(this.#pool, statement, values);
  }

  async transaction<Result>(work: (connection: Queryable) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw new DatabaseUnavailable(error);
    });
    let broken: Error | undefined;
    // A connection that breaks between two statements has nobody else to tell.
    const onError = (error: Error) => {
      broken = error;
    };
    client.on('error', onError);
    try {
      await run(client, BEGIN, []);
      const connection: Queryable = {
        query: (statement, values = []) => run(client, statement, values),
        transaction: (nested) => nested(connection),
      };
      const result = await work(connection);
      await run(client, COMMIT, []);
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((rollbackError: Error) => {
        broken = rollbackError;
      });
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }

  /** Runs several statements given as one text, as migrations are. */
  async script(connection: Queryable, text: string): Promise<void> {
    await connection.query({ name: '', text });
  }

  /** Returns when the server has let the last connection go, or does not answer. */
  async close(): Promise<void> {
    const gone = new Promise<void>((resolve) => {
      this.#pool.on('remove', () => this.#connected.size === 0 && resolve());
    });
    // The pool calls itself ended as soon as it has told its connections to end.
    await this.#pool.end();
    if (this.#connected.size > 0)
      await Promise.race([gone, sleep(GOODBYE_LIMIT_MS, undefined, { ref: false })]);
  }
}
