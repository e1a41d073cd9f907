// What is sent to an engine that spreads organisations over servers, and what becomes of batches there. What that engine makes of it is tried
// by `npm run test:citus`.
import { describe, expect, test } from 'vitest';
import { checkEngine, distribute } from '../../src/admin/distribution.js';
import { Batcher } from '../../src/postgres/batcher.js';
import { columns, integer, text } from '../../src/postgres/columns.js';
import { Database } from '../../src/postgres/database.js';
import { adapted, constraintIn } from '../../src/postgres/distributed.js';
import { testDatabase } from '../../testkit/gateway.js';

interface Entry {
  readonly organisationId: number;
  readonly name: string;
}

const ASKED = columns<Entry>(
  'asked',
  { organisation_id: integer(({ organisationId }) => organisationId), name: text(({ name }) => name) },
  { after: 1 },
);
const BY_ROWS = {
  name: 'by-rows',
  text: `SELECT FROM ${ASKED.rows} JOIN transaction t ON t.organisation_id = asked.organisation_id
    WHERE EXISTS (SELECT FROM process)`,
};
const SOUGHT = columns<Entry>('sought', {
  of_organisation: integer(({ organisationId }) => organisationId),
  of_name: text(({ name }) => name),
});
const BY_PLACES = {
  name: 'by-places',
  text: `SELECT place FROM ${SOUGHT.places} JOIN transaction ON organisation_id = of_organisation AND reference = of_name`,
};

function sent(statement: { name: string; text: string }, organisations: readonly number[]) {
  const entries = organisations.map((organisationId) => ({ organisationId, name: 'x' }));
  return adapted(statement, statement === BY_ROWS ? ['1', ...ASKED.encode(entries)] : SOUGHT.encode(entries));
}

describe('a statement for such an engine', () => {
  test('a batch of one organisation → named as a constant wherever organisations are compared', () => {
    expect(sent(BY_ROWS, [7, 7]).text).toContain(
      't.organisation_id = ($2::integer[])[1] AND asked.organisation_id = ($2::integer[])[1]',
    );
    expect(sent(BY_PLACES, [7]).text).toContain('ON organisation_id = ($1::integer[])[1] AND');
  });

  test('a batch of two organisations → not named: none of them would be left out unseen', () => {
    expect(sent(BY_ROWS, [7, 8]).text).not.toContain('[1]');
    expect(sent(BY_PLACES, [7, 8]).text).toBe(BY_PLACES.text);
  });

  test('the two go under different names, since a session keeps each', () => {
    expect(sent(BY_ROWS, [7]).name).not.toBe(sent(BY_ROWS, [7, 8]).name);
  });

  test('asked whether there is a row → with something in the list', () => {
    expect(sent(BY_ROWS, [7]).text).toContain('EXISTS (SELECT 1 FROM process)');
  });

  test('a text of its own → in place of the other', () => {
    expect(adapted({ name: 'two', text: 'SELECT 1', spread: 'SELECT 2' }, []).text).toBe('SELECT 2');
  });

  test('an error of a server → the constraint as the schema has it, or none', () => {
    expect(constraintIn('duplicate key value violates unique constraint "correlation_id_once_102009"')).toBe(
      'correlation_id_once',
    );
    expect(constraintIn('duplicate key value violates unique constraint "request_once"')).toBeUndefined();
  });
});

test('organisations must not be mixed → each batch is one organisation’s, in turns', async () => {
  const batches: string[][] = [];
  const batcher = new Batcher<Entry, string>(
    async (entries) => {
      batches.push(entries.map(({ name }) => name));
      return entries.map(({ name }) => name);
    },
    { maxBatch: 2, lanes: 1, database: { mixesOrganisations: false } },
  );
  const entries = [
    { organisationId: 1, name: 'a1' },
    { organisationId: 1, name: 'a2' },
    { organisationId: 1, name: 'a3' },
    { organisationId: 2, name: 'b1' },
  ];
  expect(await Promise.all(entries.map((entry) => batcher.submit(entry)))).toEqual(['a1', 'a2', 'a3', 'b1']);
  expect(batches).toEqual([['a1', 'a2'], ['b1'], ['a3']]);
});

test('a plain PostgreSQL → served as it is; `distribute` refused; marked as distributed, it is refused', async () => {
  const { url, drop } = await testDatabase();
  const database = new Database(url, { maxConnections: 1 });
  try {
    await checkEngine(database);
    expect(database.mixesOrganisations).toBe(true);
    await expect(distribute(database, 32)).rejects.toThrow('this PostgreSQL has no Citus');
    await database.query({ name: '', text: 'UPDATE gateway SET distribution = 1' });
    await expect(checkEngine(database)).rejects.toThrow('they are elsewhere');
  } finally {
    await database.close();
    await drop();
  }
});
