// `tollgate counters advance`: the guard after a PostgreSQL of the operator's own was restored, on a database without a gateway.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Guarded, guardRestored } from '../../src/installation/restored.js';
import { Database } from '../../src/postgres/database.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory } from '../../testkit/gateway-process.js';

const HOUR_MS = 3_600_000;
const BEGUN_MS = Date.now();
let database: TestDatabase;
let connection: Database;
let client: pg.Client;
let folder: string;

beforeAll(async () => {
  database = await testDatabase();
  connection = new Database(database.url, { maxConnections: 1 });
  client = new pg.Client(database.url);
  await client.connect();
  folder = await dataDirectory();
  await client.query(`
    INSERT INTO organisation (name, next_audit, created_at) VALUES ('Busy', 10000000, now() - interval '100 days'), ('Quiet', 5, now());
    INSERT INTO merchant (organisation_id, name, terminals) SELECT min(id), 'Shop', '{OLD,NEW}' FROM organisation;
    INSERT INTO stan_counter (terminal, leased) VALUES ('OLD', 5000);
    INSERT INTO stan_lease (terminal, first, leased_at) VALUES ('OLD', 4000, now() - interval '1 hour');
    INSERT INTO customer (organisation_id, id, merchant_id, name, reference, version) VALUES (1, 1, 1, 'Ada', 'ada', 3)`);
});
afterAll(async () => {
  await client.end();
  await connection.close();
  await database.drop();
});

const { json, text, refusal } = commands((line) =>
  runHere(wordsOf(line), { DATABASE_URL: database.url, TOLLGATE_DATA_DIR: folder }),
);

async function one<Row extends pg.QueryResultRow>(statement: string): Promise<Row> {
  return (await client.query<Row>(statement)).rows[0] as Row;
}

/** For a backup that was taken so many hours before the tests began. */
function advance(hours: number, more: { times?: number; ahead?: number } = {}): Promise<Guarded> {
  const takenMs = BEGUN_MS - hours * HOUR_MS;
  return guardRestored(connection, 'operator:test', { takenMs, times: 1, isAlone: false, ...more });
}

const movedBy = ({ moved }: Guarded) => moved.map(({ fromAudit, toAudit }) => toAudit - fromAudit);

test('a backup from an hour ago → moved ahead by a million, and by ten times an organisation’s average rate, at least 20 a second', async () => {
  const [busy = 0, quiet = 0] = movedBy(await advance(1));
  // A hundred thousand a day on average, of days that began a little before they were stored.
  expect(busy).toBeGreaterThanOrEqual(1_000_000 + (10 * 100_000) / 24 - 100);
  expect(busy).toBeLessThan(1_000_000 + 100_000);
  expect(quiet).toBeGreaterThanOrEqual(1_000_000 + 72_000);
  expect(quiet).toBeLessThan(1_000_000 + 72_000 + 20_000);
});

test('restored later, or again → moved further each time than could have been used meanwhile', async () => {
  const [[earlier = 0], [later = 0], [again = 0]] = [
    movedBy(await advance(1)),
    movedBy(await advance(2)),
    movedBy(await advance(1, { times: 2 })),
  ];
  expect(later - earlier).toBeGreaterThanOrEqual(72_000);
  expect(again - earlier).toBeGreaterThanOrEqual(1_000_000);
});

// catches(counters: STANs move past what was leased)
test('STANs → past everything leased, also for terminals that had none yet; the gap is not used for a day', async () => {
  const { terminals } = await advance(0);
  expect(terminals).toBe(2);
  const of = (terminal: string) =>
    one<{ leased: number }>(`SELECT leased::integer FROM stan_counter WHERE terminal = '${terminal}'`);
  expect((await of('OLD')).leased).toBeGreaterThanOrEqual(105_000);
  expect((await of('NEW')).leased).toBeGreaterThanOrEqual(100_000);
  const { first, count } = await one<{ first: number; count: number }>(
    `SELECT * FROM lease_stans('OLD', 2000000)`,
  );
  // The next block begins there, and ends before it would come round to the oldest that may be in use.
  expect(first).toBeGreaterThan(105_000);
  expect(first + count).toBeLessThanOrEqual(999_999 + 1);
});

// catches(counters: no STAN that may have been used is used for a day)
test('STANs of a terminal that comes round → none that may have been used since the backup', async () => {
  // Nothing that it was given before the backup counts any more.
  await client.query(`INSERT INTO stan_counter (terminal, leased) VALUES ('FAR', 950000)`);
  await advance(0);
  const { first, count } = await one<{ first: number; count: number }>(
    `SELECT * FROM lease_stans('FAR', 2000000)`,
  );
  expect(first).toBeLessThan(100_000);
  expect(first + count - 1).toBeLessThanOrEqual(950_000);
});

// catches(counters: what can still be decided gets a version that nobody has seen)
// catches(counters: events get positions that no reader knows)
test('events → later positions, and versions that no client has seen', async () => {
  const position = async () =>
    Number((await one<{ position: string }>('SELECT position FROM event_sequencer')).position);
  const versions = async () =>
    (
      await client.query<{ version: number }>(
        `SELECT version FROM customer UNION ALL
        (SELECT version FROM transaction ORDER BY audit)`,
      )
    ).rows.map(({ version }) => version);
  await client.query(`
    INSERT INTO transaction (organisation_id, merchant_id, audit, created_at, amount_cents, transaction_type, currency, correlation_id,
      reference, acquirer, card_mask, card_type)
    SELECT 1, 1, n, now(), 100, 'purchase', 'AUD', 'in-doubt-' || n, 'order', 'simulator', '411111******1111', 'visa'
    FROM generate_series(1, 2) n;
    UPDATE transaction SET status = 'declined', gateway_status_code = 1, decided_at = now() WHERE audit = 2`);
  const [before, [customer = 0, inDoubt = 0, decided = 0]] = [await position(), await versions()];
  await advance(0);
  expect(await position()).toBeGreaterThan(before);
  // What is decided is told no more.
  expect(await versions()).toEqual([customer + 1_000, inDoubt + 1_000, decided]);
});

test('output for a person → what has moved and what is valid again; the journal has it too', async () => {
  const printed = await text('counters advance --taken 2026-11-15T12:00:00Z --ahead 7');
  expect(printed).toMatch(/^Organisation 1: the next audit is \d+ \(was \d+\)/m);
  expect(printed).toMatch(/^0 users can log in/m);
  expect(await json('journal --limit 1')).toMatchObject([{ action: 'gateway.restored' }]);
});

// catches(counters: none moves past its end)
test('more than the remaining audits → refused, and nothing has moved', async () => {
  const next = () => one('SELECT next_audit FROM organisation ORDER BY id LIMIT 1');
  const before = await next();
  expect(await refusal('counters advance --taken 1999-01-01')).toMatch(
    /organisation( \d)? would have hardly any audits or IDs left; say by how many to move, with --ahead$/,
  );
  expect(await refusal('counters advance --taken 2026-01-01 --ahead 2147483647')).toMatch(
    /hardly any audits or IDs left/,
  );
  // Some would be left, but hardly any.
  await expect(advance(29_000)).rejects.toMatchObject({ code: 'counters_exhausted' });
  expect(await next()).toEqual(before);
});

// catches(counters: not while a gateway works on the database)
test('while a gateway uses the database → refused', async () => {
  await client.query('INSERT INTO process DEFAULT VALUES');
  expect(await refusal('counters advance --taken 2026-11-15')).toMatch(
    /^1 processes of the gateway work on this database/,
  );
  await client.query('DELETE FROM process');
});

test('in a fleet, where another cell cannot be asked what it pays for → refused', async () => {
  const fleet = join(folder, 'fleet.json');
  const cells = ['one', 'two'].map((name) => ({
    name,
    address: `https://${name}.pay.example`,
    gateways: [`${name}.internal:8080`],
  }));
  await writeFile(fleet, JSON.stringify({ cells }));
  const { code, stderr } = await runHere(wordsOf('counters advance --taken 2026-11-15'), {
    DATABASE_URL: database.url,
    TOLLGATE_DATA_DIR: folder,
    TOLLGATE_FLEET_FILE: fleet,
  });
  expect([code, stderr]).toEqual([1, expect.stringContaining('cell two: the fleet file names no settings')]);
});
