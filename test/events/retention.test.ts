// The ring of days that events are kept in: every day has its slot, and past days are emptied while payments go on.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { EventRetention, MOST_DAYS_KEPT } from '../../src/events/feed.js';
import { Database } from '../../src/postgres/database.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker } from '../../testkit/locks.js';

const SLOTS = 64;
let gateway: TestGateway;
/** As the gateway works: with the rights of its role, which may not empty tables. */
let database: Database;
beforeAll(async () => {
  // The gateway leaves these days alone.
  gateway = await testGateway({ settings: { EVENT_DAYS: String(MOST_DAYS_KEPT) } });
  database = new Database(gateway.databaseUrl, { maxConnections: 1, role: 'tollgate_application' });
});
beforeEach(async () => {
  await gateway.sql('TRUNCATE event_feed');
  await eventOfEachDay(MOST_DAYS_KEPT);
});
afterAll(async () => {
  await database.close();
  await gateway.close();
});

/** From today until so many days ago, which the subject says. */
async function eventOfEachDay(last: number): Promise<object[]> {
  const rows = await gateway.sql(
    `INSERT INTO event_feed (organisation_id, merchant_id, subject, version, type, created_at, data, slot, position)
     SELECT 1, 1, ago, 1, 'transaction.approved', now(), '', (event_day() - ago) % ${SLOTS}, (event_day() - ago) * 10000000000 + 1
     FROM generate_series(0, $1::integer) ago RETURNING tableoid`,
    [last],
  );
  await gateway.sql('UPDATE event_sequencer SET position = event_day() * 10000000000 + 1, day = event_day()');
  return rows;
}

async function daysLeft(): Promise<number[]> {
  const rows = await gateway.sql<{ subject: number }>('SELECT subject FROM event_feed ORDER BY subject');
  return rows.map(({ subject }) => subject);
}

function days(from: number, until: number): number[] {
  return Array.from({ length: until - from + 1 }, (_, at) => from + at);
}

test('every day of the ring → has its own slot', async () => {
  const slots = await eventOfEachDay(SLOTS - 1);
  expect(new Set(slots.map((row) => JSON.stringify(row))).size).toBe(SLOTS);
});

test.each([1, 30, MOST_DAYS_KEPT])(
  '%i days kept → those and today stay; the others are empty',
  async (kept) => {
    const emptied = MOST_DAYS_KEPT - kept;
    expect(await new EventRetention(database, kept).run()).toBe(emptied);
    expect(await daysLeft()).toEqual(days(0, kept));
    expect(await new EventRetention(database, kept).run()).toBe(0);
  },
);

test('a day that is being read → emptied the next time, and payments go on', async () => {
  const { query, rollback } = await locker(gateway);
  const [slot] = await gateway.sql<{ name: string }>(
    `SELECT tableoid::regclass AS name FROM event_feed WHERE subject = 50`,
  );
  await query(`LOCK TABLE ${slot?.name} IN ACCESS SHARE MODE`);
  const emptying = new EventRetention(database, 30).run();
  expect((await gateway.api.purchase()).status).toBe(201);
  await emptying;
  const left = await daysLeft();
  expect(left.filter((ago) => ago > 30)).toEqual([50]);
  await rollback();
  expect(await new EventRetention(database, 30).run()).toBe(1);
});
