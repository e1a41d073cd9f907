// What is sent to an engine that spreads organisations over servers, what becomes of batches there, and on which of them a start is refused.
// What that engine makes of it is tried by `npm run proof citus`.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../src/gateway/database/connection.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { checkEngine, distribute } from '../../src/installation/distribution.js';
import { Batcher, columns, integer, text } from '../../src/postgres/batches.js';
import { Database } from '../../src/postgres/database.js';
import { adapted, constraintIn } from '../../src/postgres/distributed.js';
import { administer } from '../../testkit/database-server.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';

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

describe('a statement for a distributed database', () => {
  test('a batch of one organisation → has it as a constant wherever organisations are compared', () => {
    expect(sent(BY_ROWS, [7, 7]).text).toContain(
      't.organisation_id = ($2::integer[])[1] AND asked.organisation_id = ($2::integer[])[1]',
    );
    expect(sent(BY_PLACES, [7]).text).toContain('ON organisation_id = ($1::integer[])[1] AND');
  });

  test('a batch of two organisations → has no constant: otherwise one would be left out silently', () => {
    expect(sent(BY_ROWS, [7, 8]).text).not.toContain('[1]');
    expect(sent(BY_PLACES, [7, 8]).text).toBe(BY_PLACES.text);
  });

  test('the two have different names, since a session keeps each', () => {
    expect(sent(BY_ROWS, [7]).name).not.toBe(sent(BY_ROWS, [7, 8]).name);
  });

  test('asked whether a row exists → with a column in the select list', () => {
    expect(sent(BY_ROWS, [7]).text).toContain('EXISTS (SELECT 1 FROM process)');
  });

  test('a text of its own → used instead of the other', () => {
    expect(adapted({ name: 'two', text: 'SELECT 1', spread: 'SELECT 2' }, []).text).toBe('SELECT 2');
  });

  test('an error of a server → the constraint as the schema has it, or none', () => {
    expect(constraintIn('duplicate key value violates unique constraint "correlation_id_once_102009"')).toBe(
      'correlation_id_once',
    );
    expect(constraintIn('duplicate key value violates unique constraint "request_once"')).toBeUndefined();
  });
});

test('organisations must not be mixed → each batch has one organisation, in turn', async () => {
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

describe('a start', () => {
  /** What is asked of Citus, answered as its catalogue and functions would: the embedded PostgreSQL has none to install. */
  const CITUS = `
    CREATE SCHEMA citus;
    CREATE TABLE citus.pg_extension AS SELECT 'citus' AS extname, '13.2-1' AS extversion;
    CREATE TABLE citus.pg_dist_local_group AS SELECT 0 AS groupid;
    CREATE TABLE citus.pg_dist_node AS
      SELECT groupid, nodename, 5432 AS nodeport, true AS isactive, 'primary' AS noderole, 'on' AS synchronous_commit
      FROM (VALUES (0, 'coordinator'), (1, 'worker-1'), (2, 'worker-2')) server(groupid, nodename);
    CREATE FUNCTION citus.run_command_on_workers(command text)
      RETURNS TABLE (nodename text, nodeport integer, success boolean, result text) LANGUAGE plpgsql AS $$
      DECLARE
        worker record;
        says boolean;
      BEGIN
        FOR worker IN SELECT * FROM citus.pg_dist_node WHERE groupid <> 0 LOOP
          PERFORM set_config('synchronous_commit', worker.synchronous_commit, true);
          EXECUTE command INTO says;
          RETURN QUERY SELECT worker.nodename, worker.nodeport, true, CASE WHEN says THEN 't' ELSE 'f' END;
        END LOOP;
      END $$;
    CREATE TABLE citus.pg_dist_shard AS SELECT 'transaction'::regclass AS logicalrelid;
    CREATE TABLE citus.citus_shards AS
      SELECT 'transaction'::regclass AS table_name, 'worker-1' AS nodename, 5432 AS nodeport;
    UPDATE gateway SET distribution = 1`;

  const CLUSTERS: readonly [cluster: string, made: string, message: RegExp][] = [
    ...['12.1-1', '13.1-1', '14.0-1'].map((version): [string, string, RegExp] => [
      `Citus ${version}`,
      `UPDATE citus.pg_extension SET extversion = '${version}'`,
      /Citus \S+ is not one that this release was tried with; it takes 13.2 or a later 13/,
    ]),
    [
      'a worker',
      'UPDATE citus.pg_dist_local_group SET groupid = 1',
      /this server is a worker of a Citus cluster; name its coordinator/,
    ],
    ['a Citus that knows no servers yet', 'DELETE FROM citus.pg_dist_node', /citus_set_coordinator_host/],
    [
      'a coordinator that does not know itself',
      'DELETE FROM citus.pg_dist_node WHERE groupid = 0',
      /citus_set_coordinator_host/,
    ],
    [
      'a coordinator whose workers are all switched off',
      'UPDATE citus.pg_dist_node SET isactive = false WHERE groupid <> 0',
      /Citus knows no server but its coordinator/,
    ],
    [
      'a cluster one of whose workers does not wait for its disk',
      `UPDATE citus.pg_dist_node SET synchronous_commit = 'off' WHERE nodename = 'worker-2'`,
      /worker-2:5432 runs with fsync off, or commits without waiting for its disk/,
    ],
    [
      'a cluster on which nothing was distributed',
      'DELETE FROM citus.pg_dist_shard; UPDATE gateway SET distribution = NULL',
      /the transactions are not distributed/,
    ],
    [
      'a cluster distributed as an earlier release had it',
      'UPDATE gateway SET distribution = 0',
      /the transactions are not distributed, or not as this release needs it/,
    ],
    [
      'a cluster whose mark was restored without its shards',
      'DELETE FROM citus.pg_dist_shard',
      /the transactions are not distributed/,
    ],
  ];

  let own: TestDatabase;
  beforeAll(async () => {
    own = await testDatabase();
  });
  afterEach(() =>
    administer(own.url, 'DROP SCHEMA IF EXISTS citus CASCADE; UPDATE gateway SET distribution = NULL'),
  );
  afterAll(() => own.drop());

  /** As `serve` does: first whether the server is fit, then what is on it. */
  async function start({
    on = own.url,
    check = checkEngine as (database: Database) => Promise<unknown>,
  } = {}) {
    const { logins } = await connect(readSettings({ DATABASE_URL: on }));
    const database = new Database(logins.migrating, { maxConnections: 1 });
    try {
      await check(database);
      return { mixesOrganisations: database.mixesOrganisations };
    } finally {
      await database.close();
    }
  }

  /** What it has under the names of PostgreSQL's catalogue comes before it. */
  const cluster = () => `${own.url}?options=-c%20search_path%3Dcitus%2Cpg_catalog%2Cpublic`;

  test('on a plain PostgreSQL → served without changes; `distribute` is refused', async () => {
    expect(await start()).toEqual({ mixesOrganisations: true });
    await expect(start({ check: (database) => distribute(database, 32) })).rejects.toThrow(
      'this PostgreSQL has no Citus',
    );
  });

  test('on a plain PostgreSQL that is marked as distributed → refused', async () => {
    await administer(own.url, 'UPDATE gateway SET distribution = 1');
    await expect(start()).rejects.toThrow('they are elsewhere');
  });

  test.each(['13.2-1', '13.4-1'])('on a distributed cluster of Citus %s → served', async (version) => {
    await administer(own.url, `${CITUS}; UPDATE citus.pg_extension SET extversion = '${version}'`);
    expect(await start({ on: cluster() })).toEqual({ mixesOrganisations: false });
  });

  test.each(CLUSTERS)('on %s → refused', async (_, made, message) => {
    await administer(own.url, `${CITUS}; ${made}`);
    await expect(start({ on: cluster() })).rejects.toThrow(message);
  });
});
