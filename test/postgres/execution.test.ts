// Statements that are prepared once for a session and executed many times, over one session each.
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';

let own: TestDatabase;
let database: Database;
beforeEach(async () => {
  own = await testDatabase();
  database = new Database(own.url, { maxConnections: 1 });
});
afterEach(async () => {
  await database.close();
  await own.drop();
});

const HALVES = {
  name: 'halves',
  text: `SELECT number, 10 / number AS tenth, NULL::text AS nothing, number > 1 AS several, '{"a": [1]}'::json AS document
    FROM unnest($1::integer[]) AS asked(number)`,
};

test('a statement is executed again → rows of every type, as the first time', async () => {
  const of = (number: number) => ({
    number,
    tenth: Math.floor(10 / number),
    nothing: null,
    several: number > 1,
    document: { a: [1] },
  });
  for (const numbers of [[1, 2], [5], [], [2, 1]]) {
    const { rows, count } = await database.query(HALVES, [`{${numbers.join()}}`]);
    expect(rows).toEqual(numbers.map(of));
    expect(count).toBe(numbers.length);
  }
});

test('the server refuses the first execution, or a later one → the next has its rows', async () => {
  for (const numbers of ['{0}', '{0}', '{5}', '{1,0}', '{5}']) {
    const executed = database.query(HALVES, [numbers]);
    if (numbers.includes('0')) await expect(executed).rejects.toMatchObject({ code: '22012' });
    else expect((await executed).rows).toMatchObject([{ number: 5, tenth: 2 }]);
  }
});

test('parameters of every kind, in turns → the same statement, the same answer', async () => {
  const statement = { name: 'length', text: 'SELECT coalesce(length($1::text), -1) AS length' };
  for (const [value, length] of [
    ['four', 4],
    [null, -1],
    [12345, 5],
    [Buffer.from('six'), 3],
    ['', 0],
  ]) {
    expect((await database.query(statement, [value])).rows).toEqual([{ length }]);
  }
});

test('rows are changed and none returned → the number of changed rows', async () => {
  await database.query({ name: '', text: 'CREATE TABLE thing (id integer)' });
  const insert = { name: 'insert', text: 'INSERT INTO thing SELECT generate_series(1, $1::integer)' };
  const remove = { name: 'remove', text: 'DELETE FROM thing WHERE id <= $1' };
  for (let round = 1; round <= 2; round += 1) {
    expect(await database.query(insert, [3])).toEqual({ rows: [], count: 3 });
    expect(await database.query(remove, [2])).toEqual({ rows: [], count: 2 });
  }
});

test('the command completes and its commit fails → the statement fails', async () => {
  await database.query({
    name: '',
    text: 'CREATE TABLE thing (id integer UNIQUE DEFERRABLE INITIALLY DEFERRED)',
  });
  const insert = { name: 'insert', text: 'INSERT INTO thing VALUES ($1) RETURNING id' };
  expect((await database.query(insert, [1])).rows).toEqual([{ id: 1 }]);
  await expect(database.query(insert, [1])).rejects.toMatchObject({ code: '23505' });
  expect((await database.query(insert, [2])).rows).toEqual([{ id: 2 }]);
});

test('two statements with one name → the second is refused, and never mistaken for the first', async () => {
  const first = { name: 'same', text: 'SELECT $1::integer AS first' };
  const second = { name: 'same', text: 'SELECT $1::integer AS second' };
  expect((await database.query(first, [1])).rows).toEqual([{ first: 1 }]);
  await expect(database.query(second, [1])).rejects.toThrow();
  expect((await database.query(first, [2])).rows).toEqual([{ first: 2 }]);
});

test('the server goes away during a statement → unavailable, and the next has a new session', async () => {
  const end = { name: 'end', text: 'SELECT pg_terminate_backend(pg_backend_pid()), $1::integer' };
  const one = { name: 'one', text: 'SELECT $1::integer AS one' };
  expect((await database.query(one, [1])).rows).toEqual([{ one: 1 }]);
  await expect(database.query(end, [1])).rejects.toThrow('not available');
  expect((await database.query(one, [1])).rows).toEqual([{ one: 1 }]);
});

test('an unreadable row → the statement fails, not the process, and the next one is served', async () => {
  // A type that nothing else here reads.
  pg.types.setTypeParser(pg.types.builtins.MACADDR, () => {
    throw new Error('no such address');
  });
  const address = { name: 'address', text: 'SELECT $1::macaddr AS address' };
  const one = { name: 'one', text: 'SELECT $1::integer AS one' };
  expect((await database.query(one, [1])).rows).toEqual([{ one: 1 }]);
  await expect(database.query(address, ['08:00:2b:01:02:03'])).rejects.toThrow('not available');
  expect((await database.query(one, [1])).rows).toEqual([{ one: 1 }]);
});
