// What operators look at while payments go on: no statement of it takes long.
import type { Queryable } from './database.js';
import { BRIEF } from './short-timeout.sql.js';

const STATEMENT_TIMEOUT = '3s';

/** Reads at one go; a statement that takes longer is given up. */
export function briefly<Result>(
  database: Queryable,
  read: (connection: Queryable) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (connection) => {
    await connection.query(BRIEF, [STATEMENT_TIMEOUT]);
    return read(connection);
  });
}

/** The same for work that goes on for long, of many short statements: each is given up by itself. */
export function eachBriefly(database: Queryable): Queryable {
  return {
    query: (...asked) => briefly(database, (connection) => connection.query(...asked)),
    transaction: (work) => briefly(database, work),
    origin: database.origin ?? database,
  };
}
