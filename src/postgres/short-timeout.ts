// Short statement timeouts for what operators look at while payments are processed.
import type { Queryable } from './database.js';
import { SET_STATEMENT_TIMEOUT } from './short-timeout.sql.js';

const STATEMENT_TIMEOUT = '3s';

/** Runs a read in one transaction; a statement that takes too long is cancelled. */
export function withShortTimeout<Result>(
  database: Queryable,
  read: (connection: Queryable) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (connection) => {
    await connection.query(SET_STATEMENT_TIMEOUT, [STATEMENT_TIMEOUT]);
    return read(connection);
  });
}

/** The same for long work made of many short statements: each has its own timeout. */
export function withShortTimeouts(database: Queryable): Queryable {
  return {
    query: (...asked) => withShortTimeout(database, (connection) => connection.query(...asked)),
    transaction: (work) => withShortTimeout(database, work),
    origin: database.origin ?? database,
  };
}
