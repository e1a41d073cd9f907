// STANs: leased in blocks by any number of processes, and never the same twice within a day.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { retrievalReference } from '../../../src/acquirers/iso8583/numbers.js';
import { StanLeases } from '../../../src/acquirers/iso8583/stan-leases.js';
import { Database } from '../../../src/postgres/database.js';
import { type TestDatabase, testDatabase } from '../../../testkit/gateway.js';

const ALL = 999_999;

let own: TestDatabase;
let database: Database;
let terminals = 0;
let terminal: string;
beforeAll(async () => {
  own = await testDatabase();
  database = new Database(own.url, { maxConnections: 5 });
});
afterAll(async () => {
  await database.close();
  await own.drop();
});
beforeEach(() => {
  terminals += 1;
  terminal = `T${terminals}`;
});

const sql = (text: string, values: unknown[] = []) => database.query({ name: '', text }, values);

/** As if so many had been leased, so long ago. */
async function leased(count: number, hoursAgo: number): Promise<void> {
  await sql(`INSERT INTO stan_counter (terminal, leased) VALUES ($1, $2)`, [terminal, count]);
  await sql(
    `INSERT INTO stan_lease (terminal, first, leased_at) VALUES ($1, 0, now() - $2 * interval '1 hour')`,
    [terminal, hoursAgo],
  );
}

async function taken(leases: StanLeases, count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, async () => leases.take(terminal)));
}

describe('STANs of a terminal', () => {
  test('from several processes at once, and after restarts → each is used once, from 1 to 999999', async () => {
    const processes = Array.from({ length: 4 }, () => new StanLeases(database));
    const all = (await Promise.all(processes.map((each) => taken(each, 700)))).flat();
    const restarted = Array.from({ length: 4 }, () => new StanLeases(database));
    all.push(...(await Promise.all(restarted.map((each) => taken(each, 300)))).flat());
    expect(new Set(all).size).toBe(4_000);
    expect(Math.min(...all)).toBe(1);
    expect(Math.max(...all)).toBeLessThanOrEqual(ALL);
  });

  test('retrieval references made from them → 12 digits, and unique even when STANs come round', async () => {
    await leased(ALL - 3, 27);
    const leases = new StanLeases(database);
    const first = 1_800_000_000_000;
    // Every hour of a year, on both sides of the place where STANs begin again.
    const references = (await taken(leases, 6)).flatMap((stan) =>
      Array.from({ length: 366 * 24 }, (_, hour) => retrievalReference(stan, first + hour * 3_600_000)),
    );
    expect(references.every((reference) => /^[0-9]{12}$/.test(reference))).toBe(true);
    expect(new Set(references).size).toBe(references.length);
  });

  test('of another terminal → counted separately', async () => {
    const leases = new StanLeases(database);
    expect([await leases.take(terminal), await leases.take(`${terminal}X`)]).toEqual([1, 1]);
  });

  test('a STAN that is leased already → taken without asking the database', async () => {
    const leases = new StanLeases(database);
    await leases.take(terminal);
    expect(leases.take(terminal)).toBe(2);
  });

  test('after 999999 → they begin again, if the first are more than a day old', async () => {
    await leased(ALL - 3, 27);
    expect((await taken(new StanLeases(database), 5)).sort((one, other) => one - other)).toEqual([
      1,
      2,
      ALL - 2,
      ALL - 1,
      ALL,
    ]);
  });

  // catches(ISO 8583: no STAN comes again within a day)
  test('used up within a day → refused, and none is used twice', async () => {
    await leased(ALL - 3, 25);
    const leases = new StanLeases(database);
    expect(await taken(leases, 3)).toEqual([ALL - 2, ALL - 1, ALL]);
    await expect(async () => leases.take(terminal)).rejects.toThrow('used up its STANs of a day');
  });

  // catches(ISO 8583: an old lease is not used)
  test('a lease older than an hour → no longer used', async () => {
    let nowMs = 1_000_000_000;
    const leases = new StanLeases(database, () => nowMs);
    await leases.take(terminal);
    nowMs += 3_599_000;
    expect(await leases.take(terminal)).toBe(2);
    nowMs += 1_000;
    expect(await leases.take(terminal)).toBeGreaterThan(16);
  });

  test('a clock that goes back → a new lease', async () => {
    let nowMs = 1_000_000_000;
    const leases = new StanLeases(database, () => nowMs);
    await leases.take(terminal);
    nowMs -= 1;
    expect(await leases.take(terminal)).toBeGreaterThan(16);
  });

  // catches(ISO 8583: STANs jump ahead of what a failover lost)
  test('a restored database → far past everything that was leased and lost', async () => {
    const leases = new StanLeases(database);
    await leases.take(terminal);
    await sql(`UPDATE stan_counter SET lineage = 'another' WHERE terminal = $1`, [terminal]);
    const after = new StanLeases(database);
    expect(await after.take(terminal)).toBeGreaterThan(100_000);
    const later = new StanLeases(database);
    expect(await later.take(terminal)).toBeLessThan(100_100);
  });

  test('leases from days ago → deleted', async () => {
    await leased(10, 40);
    await new StanLeases(database).take(terminal);
    const { rows } = await sql('SELECT first FROM stan_lease WHERE terminal = $1', [terminal]);
    expect(rows).toEqual([{ first: 10 }]);
  });
});

describe('STANs after a failover that lost leases', () => {
  let lost: TestDatabase;
  let promoted: Database;
  beforeAll(async () => {
    lost = await testDatabase();
    promoted = new Database(lost.url, { maxConnections: 2 });
  });
  afterAll(async () => {
    await promoted.close();
    await lost.drop();
  });

  /** The server is on this timeline, as if it had been promoted. */
  const onTimeline = (timeline: string) =>
    promoted.query({
      name: '',
      text: `CREATE OR REPLACE FUNCTION database_lineage() RETURNS text LANGUAGE sql STABLE AS
        $$ SELECT '7251/${timeline}' $$`,
    });

  // catches(ISO 8583: a terminal whose counter a failover lost begins somewhere else)
  test('a terminal that the database has never seen → begins where no earlier STAN was', async () => {
    const first: number[] = [];
    for (const timeline of ['00000001', '00000002', '0000000A', '']) {
      await onTimeline(timeline);
      first.push(await new StanLeases(promoted).take(`${terminal}${timeline}`.slice(0, 8) + first.length));
    }
    expect(first).toEqual([1, 100_001, 900_001, 1]);
  });

  test('after several failovers, with a server that knows only of the last → past everything that was leased in each of them', async () => {
    const taken: number[] = [];
    // Leases of timeline 2 never arrived here.
    for (const timeline of ['00000001', '00000003', '00000004']) {
      await onTimeline(timeline);
      taken.push(await new StanLeases(promoted).take(terminal));
    }
    expect(taken).toEqual([1, 200_017, 300_033]);
  });
});
