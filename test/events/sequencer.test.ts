// The positions of events: assigned once, by whichever process, and whatever became of the server that assigned the last ones.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Json } from '../../testkit/client.js';
import { everyEvent } from '../../testkit/event-feed.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { locker, somebodyWaits } from '../../testkit/locks.js';

let gateway: TestGateway;
/** Where the feed ended before the test. */
let from: string;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());
beforeEach(async () => {
  from = (await everyEvent(gateway.api)).next;
});

async function purchased(): Promise<number> {
  return (await gateway.api.purchase()).body.audit;
}

async function toldSince(next: string): Promise<number[]> {
  return (await everyEvent(gateway.api, next)).events.map(({ data }: Json) => data.audit ?? data.id);
}

/** As they stand in the table of a dump: with the transaction IDs of the server that it was made on. */
function unmoved(customers: readonly number[], xid: string): Promise<object[]> {
  return gateway.sql(
    `INSERT INTO event (organisation_id, merchant_id, subject, version, type, created_at, data, xid)
     SELECT 1, 1, id, 1, 'customer.created', now(), '{"name":"","reference":""}', $2::xid8
     FROM unnest($1::integer[]) WITH ORDINALITY asked(id, place) ORDER BY place`,
    [customers, xid],
  );
}

test.each([
  ['higher', '900000000000', '800000000000:800000000000:'],
  ['lower', '5', '4:4:'],
])(
  'dump of a server whose transaction IDs were %s, restored into another → events without a position get one, once, before new events',
  async (_, xid, seen) => {
    await gateway.sql(`UPDATE event_sequencer SET lineage = 'another/00000001', seen = $1::pg_snapshot`, [
      seen,
    ]);
    const customers = [1_000_003, 1_000_001, 1_000_002];
    await unmoved(customers, xid);
    const audit = await purchased();
    expect(await toldSince(from)).toEqual([...customers, audit]);
    expect(await toldSince(from)).toEqual([...customers, audit]);
  },
);

// catches(events: under another lineage everything is looked at)
test('dump whose transaction IDs this server has just reached → no event is left out', async () => {
  const [{ ahead }] = (await gateway.sql(
    'SELECT (pg_current_xact_id()::text::bigint + 1000)::text AS ahead',
  )) as [{ ahead: string }];
  await gateway.sql(`UPDATE event_sequencer SET lineage = 'another/00000001', seen = $1::pg_snapshot`, [
    `${ahead}:${ahead}:`,
  ]);
  const first = await purchased();
  const next = (await everyEvent(gateway.api, from)).next;
  const second = await purchased();
  expect(await toldSince(from)).toEqual([first, second]);
  expect(await toldSince(next)).toEqual([second]);
});

// catches(events: positions that readers may know are not given again)
test('failover that lost the last positions → a reader who had passed them misses no new event', async () => {
  const [before] = await gateway.sql<{ position: number }>('SELECT position::float8 FROM event_sequencer');
  await purchased();
  const { next } = await everyEvent(gateway.api, from);
  // As the standby knows it.
  await gateway.sql(`DELETE FROM event_feed WHERE position > $1`, [before?.position]);
  await gateway.sql(`UPDATE event_sequencer SET lineage = 'this/00000001', position = $1`, [
    before?.position,
  ]);
  const audit = await purchased();
  expect(await toldSince(next)).toEqual([audit]);
});

// catches(events: one at a time gives positions)
test('positions assigned while another session has not committed its own → they follow those', async () => {
  const { query, commit } = await locker(gateway);
  const written = (subject: number) =>
    `INSERT INTO event (organisation_id, merchant_id, subject, version, type, created_at, data)
     VALUES (1, 2, ${subject}, 1, 'customer.created', now(), '{"name":"","reference":""}')`;
  await query(written(2_000_001));
  await query('SELECT sequence_events()');
  await gateway.sql(written(2_000_002));
  const second = gateway.sql('SELECT sequence_events()');
  await Promise.race([second, somebodyWaits(gateway)]);
  await commit();
  await second;
  await gateway.sql('SELECT sequence_events()');
  const rows = await gateway.sql<{ subject: number; position: string }>(
    'SELECT subject, position FROM event_feed WHERE subject > 2000000 ORDER BY subject',
  );
  expect(rows).toHaveLength(2);
  expect(Number(rows[1]?.position)).toBeGreaterThan(Number(rows[0]?.position));
});

test('many sessions that assign positions at once, while events are written → each event has one, and no two the same', async () => {
  const sequencers = await Promise.all(Array.from({ length: 4 }, () => locker(gateway)));
  let over = false;
  const sequencing = sequencers.map(async ({ query }) => {
    await query('COMMIT');
    while (!over) await query('SELECT sequence_events()');
  });
  const audits: number[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let made = 0; made < 15; made += 1) audits.push(await purchased());
    }),
  );
  over = true;
  await Promise.all(sequencing);
  const told = await toldSince(from);
  expect(told.toSorted()).toEqual(audits.toSorted());
  const rows = await gateway.sql('SELECT position FROM event_feed GROUP BY position HAVING count(*) > 1');
  expect(rows).toEqual([]);
});

test('the process that assigns positions hangs and is killed → the feed can be read up to that point, and nothing is lost', async () => {
  const audit = await purchased();
  const { query, rollback } = await locker(gateway);
  const [held] = (await query('SELECT moved FROM sequence_events()')).rows;
  const second = await purchased();
  const meanwhile = await gateway.api.get(from);
  expect(meanwhile.status).toBe(200);
  await rollback();
  const told = await toldSince(from);
  expect(told).toEqual([audit, second]);
  // Unless the gateway's own watcher was there first.
  expect([0, 1]).toContain(held.moved);
});

// catches(events: a clock that goes back takes no position back)
test('the server’s clock goes back to an earlier day → positions do not', async () => {
  const first = await purchased();
  const { next } = await everyEvent(gateway.api, from);
  await gateway.sql(
    `UPDATE event_sequencer SET position = position + 30000000000, day = day + 3, lineage = database_lineage()`,
  );
  const second = await purchased();
  expect(await toldSince(next)).toEqual([second]);
  const third = await purchased();
  expect(await toldSince(from)).toEqual([first, second, third]);
});

// catches(events: a crowd is moved from its beginning)
test('more events than one round handles → all of them, in order', async () => {
  const { query, commit } = await locker(gateway);
  await query(
    `INSERT INTO event (organisation_id, merchant_id, subject, version, type, created_at, data)
     SELECT 1, 3, n, 1, 'customer.created', now(), '{"name":"","reference":""}' FROM generate_series(1, 45000) n`,
  );
  await commit();
  const moved = [];
  for (let round = 0; round < 4; round += 1) {
    const [row] = await gateway.sql<{ newest: number }>('SELECT newest::float8 FROM sequence_events()');
    moved.push(row?.newest);
  }
  const [found] = await gateway.sql(
    `SELECT count(*)::integer AS events, bool_and(in_order) AS ordered FROM (
       SELECT subject = row_number() OVER (ORDER BY position) AS in_order FROM event_feed WHERE merchant_id = 3) placed`,
  );
  expect(found).toEqual({ events: 45_000, ordered: true });
});

// catches(events: a crowd is moved from its beginning)
test('a row with more events than one round handles, and others behind it → all of them, once, in order', async () => {
  const { query, commit } = await locker(gateway);
  for (const first of [1, 25_001, 25_002])
    await query(
      `INSERT INTO event (organisation_id, merchant_id, subject, version, subjects, versions, type, created_at)
       SELECT 1, 99, 0, 0, array_agg(n), array_agg(1), 'transaction.approved', now()
       FROM generate_series(${first}, ${first === 1 ? 25_000 : first}) n`,
    );
  await commit();
  for (let round = 0; round < 3; round += 1) await gateway.sql('SELECT sequence_events()');
  const [found] = await gateway.sql(
    `SELECT count(DISTINCT subject)::integer AS subjects, count(*)::integer AS events,
       (array_agg(subject ORDER BY position DESC))[1:2] AS newest FROM event_feed WHERE merchant_id = 99`,
  );
  expect(found).toEqual({ subjects: 25_002, events: 25_002, newest: [25_002, 25_001] });
});
