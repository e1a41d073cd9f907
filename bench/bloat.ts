// What is dead or empty in tables and indexes after an hour at full load. It also shows what autovacuum did, and whether purchases have
// become slower or transactions larger.
import type pg from 'pg';
import { load, PURCHASE } from '../testkit/load.js';
import { programOptions } from '../testkit/program-options.js';
import { say } from '../testkit/report.js';
import { startStandalone } from '../testkit/standalone.js';
import { withDatabase } from './measuring/filling.js';

const values = programOptions({
  minutes: 60,
  slices: 12,
  connections: 64,
});
const SLICES = values.slices;
const SLICE_SECONDS = (values.minutes * 60) / SLICES;
const CONNECTIONS = values.connections;
/** What a purchase writes to. */
const TABLES = ['transaction', 'settlement_entry', 'event', 'event_feed'];
const TABLES_WITH_PARTS = `
  SELECT c.oid, c.oid::regclass::text AS name FROM unnest($1::text[]) AS asked(name)
  JOIN pg_class c ON c.relkind = 'r' AND (c.oid = asked.name::regclass
    OR c.oid IN (SELECT relid FROM pg_partition_tree(asked.name::regclass)))`;
/** Of what is there at the end, as a share of what there was after the first slice: the first rows fill their pages only in part. */
const LARGER_AT_MOST = 1.2;
const DEAD_AT_MOST = 0.2;
/** Events wait there for their position, most of them for less than a second: what is in it is always nearly all dead, and little. */
const QUEUE = 'event';
const QUEUE_BYTES_AT_MOST = 16 * 1024 ** 2;

interface Room {
  readonly rows: number;
  readonly bytes: number;
}

interface Table {
  readonly name: string;
  readonly bytes: number;
  readonly dead: number;
  readonly free: number;
  readonly updates: number;
  readonly hot: number;
  readonly vacuums: number;
  readonly analyses: number;
}

interface Index {
  readonly name: string;
  readonly bytes: number;
  readonly density: number;
}

/** Transactions, and the room that they and everything about them take. */
async function roomOf(database: pg.Client): Promise<Room> {
  const { rows } = await database.query<Room>(
    `SELECT (SELECT sum(n_tup_ins)::float8 FROM pg_stat_user_tables WHERE relname = 'transaction') AS rows,
       sum(pg_total_relation_size(oid))::float8 AS bytes FROM (${TABLES_WITH_PARTS}) parts`,
    [TABLES],
  );
  return rows[0] as Room;
}

/** Pages that everybody can see are not read for this: what is in them is alive. */
async function tablesOf(database: pg.Client): Promise<Table[]> {
  const { rows } = await database.query<Table>(
    `SELECT parts.name, pg_table_size(parts.oid)::float8 AS bytes, found.dead_tuple_percent / 100 AS dead,
       found.approx_free_percent / 100 AS free, s.n_tup_upd::float8 AS updates, s.n_tup_hot_upd::float8 AS hot,
       s.autovacuum_count::integer AS vacuums, s.autoanalyze_count::integer AS analyses
     FROM (${TABLES_WITH_PARTS}) parts JOIN pg_stat_user_tables s ON s.relid = parts.oid,
       pgstattuple_approx(parts.oid) found
     WHERE pg_table_size(parts.oid) > 1024 * 1024 ORDER BY bytes DESC`,
    [TABLES],
  );
  return rows;
}

/** The largest, and how full their leaves are. */
async function indexesOf(database: pg.Client): Promise<Index[]> {
  const { rows } = await database.query<Index>(
    `SELECT i.indexrelid::regclass::text AS name, pg_relation_size(i.indexrelid)::float8 AS bytes,
       (pgstatindex(i.indexrelid)).avg_leaf_density / 100 AS density
     FROM (${TABLES_WITH_PARTS}) parts JOIN pg_index i ON i.indrelid = parts.oid
     WHERE pg_relation_size(i.indexrelid) > 1024 * 1024 ORDER BY bytes DESC`,
    [TABLES],
  );
  return rows;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const megabytes = (bytes: number) => `${Math.round(bytes / 1024 ** 2).toLocaleString('en')} MB`;

const gateway = await startStandalone();
try {
  await load(gateway, { ...PURCHASE, connections: CONNECTIONS, seconds: 10 });
  await withDatabase(gateway, (database) => database.query('CREATE EXTENSION pgstattuple'));
  const slices: { perSecond: number; p99Ms: number; perRow: number }[] = [];
  for (let slice = 1; slice <= SLICES; slice += 1) {
    const { perSecond, p99Ms } = await load(gateway, {
      ...PURCHASE,
      connections: CONNECTIONS,
      seconds: SLICE_SECONDS,
    });
    const { rows, bytes } = await withDatabase(gateway, roomOf);
    slices.push({ perSecond, p99Ms, perRow: bytes / rows });
    say(
      `after ${Math.round((slice * SLICE_SECONDS) / 60)} min: ${Math.round(perSecond)} purchases/s, p99 ${p99Ms.toFixed(0)} ms; ` +
        `${Math.round(rows).toLocaleString('en')} transactions, ${megabytes(bytes)}, ${Math.round(bytes / rows)} bytes each`,
    );
  }
  const { tables, indexes } = await withDatabase(gateway, async (database) => ({
    tables: await tablesOf(database),
    indexes: await indexesOf(database),
  }));
  for (const { name, bytes, dead, free, updates, hot, vacuums, analyses } of tables) {
    const within =
      updates === 0 ? 'no updates' : `${percent(hot / updates)} of the updates without an index entry`;
    say(
      `${name}: ${megabytes(bytes)}, dead ${percent(dead)}, free ${percent(free)}, ${within}, vacuumed ${vacuums} times, analysed ${analyses} times`,
    );
  }
  for (const { name, bytes, density } of indexes)
    say(`${name}: ${megabytes(bytes)}, leaves ${percent(density)} full`);
  const [first, last] = [slices[0], slices.at(-1)];
  if (first === undefined || last === undefined) throw new Error('nothing was measured');
  const dead = Math.max(...tables.filter(({ name }) => name !== QUEUE).map((table) => table.dead));
  const queueBytes = tables.find(({ name }) => name === QUEUE)?.bytes ?? 0;
  say(
    `last slice against the first: purchases/s ${(last.perSecond / first.perSecond).toFixed(2)}, room of a transaction ` +
      `${(last.perRow / first.perRow).toFixed(2)} (wanted: at most ${LARGER_AT_MOST}); dead at most ${percent(dead)} (wanted: at most ${percent(DEAD_AT_MOST)}); ` +
      `waiting events ${megabytes(queueBytes)} (wanted: at most ${megabytes(QUEUE_BYTES_AT_MOST)})`,
  );
  if (last.perRow > first.perRow * LARGER_AT_MOST || dead > DEAD_AT_MOST || queueBytes > QUEUE_BYTES_AT_MOST)
    process.exitCode = 1;
} finally {
  await gateway.stop();
}
