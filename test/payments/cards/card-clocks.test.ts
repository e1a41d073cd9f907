// Which clock ends a card, and the effect of a wrong clock.
import { expect, test, vi } from 'vitest';
import type { CardDestruction } from '../../../src/payments/cards/card-destruction.js';
import { Database } from '../../../src/postgres/database.js';
import {
  auditOf,
  destructionOn,
  hasCard,
  OLD_PURCHASES,
  reviewedAtOnce,
} from '../../../testkit/card-reviews.js';
import { addCast, testDatabase, testGateway } from '../../../testkit/gateway.js';

const DAY_MS = 86_400_000;

/** Everything due: one run ends after a while, on slow cores after one merchant. */
async function workedOff(database: Database, destruction: CardDestruction): Promise<void> {
  const due = { name: '', text: 'SELECT FROM card_review WHERE next_at <= gateway_now()' };
  do await destruction.run();
  while ((await database.query(due)).rows.length > 0);
}

// catches(card: not destroyed within ten minutes of its end)
test('card of a preauthorisation → kept until ten minutes after it ends, for completions that a slow clock still allowed', async () => {
  const gateway = await testGateway();
  const audit = auditOf(await gateway.api.preauthorise());
  await gateway.advance('1h');
  await reviewedAtOnce(gateway);
  const endsIn = (interval: string) =>
    gateway.sql(
      'UPDATE transaction SET completable_until = gateway_now() + $2::interval, voidable_until = NULL WHERE audit = $1',
      [audit, interval],
    );
  const lookNow = () => gateway.sql('UPDATE card_held SET look_at = gateway_now()');
  for (const [interval, kept] of [
    ['1 minute', true],
    ['-9 minutes', true],
    ['-11 minutes', false],
  ] as const) {
    await endsIn(interval);
    await lookNow();
    await reviewedAtOnce(gateway);
    expect([interval, await hasCard(gateway, audit)]).toEqual([interval, kept]);
  }
});

// catches(card destruction: not while the clocks differ)
test('the database’s clock is days ahead of the gateway’s → nothing is destroyed, since either may be wrong', async () => {
  const own = await testDatabase();
  const database = new Database(own.url, { maxConnections: 1 });
  try {
    await addCast(own.url);
    await database.query({ name: '', text: OLD_PURCHASES }, [1, 1, 1, '121 days', null]);
    const left = async () =>
      (
        await database.query({
          name: '',
          text: 'SELECT FROM transaction WHERE payment_details_sealed IS NOT NULL',
        })
      ).rows;
    for (const aheadMs of [-2 * DAY_MS, 2 * DAY_MS]) {
      await destructionOn(database, aheadMs).run();
      expect(await left()).toHaveLength(1);
    }
    await workedOff(database, destructionOn(database));
    expect(await left()).toEqual([]);
  } finally {
    await database.close();
    await own.drop();
  }
});

// catches(card destruction: not when the clocks differ by the time of the turn)
test('the database’s clock differs when the turn comes, as after a failover → nothing is destroyed', async () => {
  const own = await testDatabase();
  const database = new Database(own.url, { maxConnections: 1 });
  const sql = async (text: string, values: unknown[] = []) =>
    (await database.query({ name: '', text }, values)).rows;
  try {
    await addCast(own.url);
    await sql(OLD_PURCHASES, [1, 1, 1, '100 days', null]);
    await workedOff(database, destructionOn(database));
    await sql(`UPDATE card_review SET next_at = '-infinity'`);
    const transaction = database.transaction.bind(database);
    const turn = vi.spyOn(database, 'transaction').mockImplementation(async (work) => {
      await sql('UPDATE gateway SET advanced_ms = $1', [30 * DAY_MS]);
      return transaction(work);
    });
    await destructionOn(database).run();
    expect(turn).toHaveBeenCalledOnce();
    expect(await sql('SELECT FROM transaction WHERE payment_details_sealed IS NOT NULL')).toHaveLength(1);
    turn.mockRestore();
    // By that clock the card had ended.
    await workedOff(database, destructionOn(database, 30 * DAY_MS));
    expect(await sql('SELECT FROM transaction WHERE payment_details_sealed IS NOT NULL')).toEqual([]);
  } finally {
    await database.close();
    await own.drop();
  }
});

// catches(card destruction: clocks that differ are told of, though nothing is due)
test('clocks that differ for a minute → logged, even if no card is due, and again after an hour', async () => {
  const own = await testDatabase();
  const database = new Database(own.url, { maxConnections: 1 });
  const [wallMs, steadyMs] = [Date.now, performance.now.bind(performance)];
  const told: number[] = [];
  try {
    await addCast(own.url);
    await workedOff(database, destructionOn(database));
    const destruction = destructionOn(database, -2 * DAY_MS, {
      onClocksApart: (seconds) => told.push(Math.round(seconds / 86_400)),
    });
    for (const [minutes, times] of [
      [0, 0],
      [0.9, 0],
      [1.1, 1],
      [60, 1],
      [61.2, 2],
    ] as const) {
      vi.spyOn(Date, 'now').mockImplementation(() => wallMs() + minutes * 60_000);
      vi.spyOn(performance, 'now').mockImplementation(() => steadyMs() + minutes * 60_000);
      await destruction.run();
      expect([minutes, told]).toEqual([minutes, Array(times).fill(2)]);
    }
  } finally {
    vi.restoreAllMocks();
    await database.close();
    await own.drop();
  }
});

// catches(card destruction: not after the clock has jumped)
test('the clock of database and gateway jumps ahead → nothing is destroyed for a day; then the new time counts', async () => {
  const own = await testDatabase();
  const database = new Database(own.url, { maxConnections: 1 });
  const sql = async (text: string, values: unknown[] = []) =>
    (await database.query({ name: '', text }, values)).rows;
  const left = async () =>
    (await sql('SELECT FROM transaction WHERE payment_details_sealed IS NOT NULL')).length;
  const [wallMs, steadyMs] = [Date.now, performance.now.bind(performance)];
  const clocks = async (aheadMs: number, passedMs: number) => {
    vi.spyOn(Date, 'now').mockImplementation(() => wallMs() + aheadMs);
    vi.spyOn(performance, 'now').mockImplementation(() => steadyMs() + passedMs);
    await sql('UPDATE gateway SET advanced_ms = $1', [Math.round(aheadMs)]);
  };
  try {
    await addCast(own.url);
    await sql(OLD_PURCHASES, [1, 1, 1, '100 days', null]);
    const destruction = destructionOn(database);
    await destruction.run();
    await clocks(21 * DAY_MS, 0);
    await destruction.run();
    expect(await left()).toBe(1);
    await clocks(21.9 * DAY_MS, 0.9 * DAY_MS);
    await destruction.run();
    expect(await left()).toBe(1);
    await clocks(22.1 * DAY_MS, 1.1 * DAY_MS);
    await workedOff(database, destruction);
    expect(await left()).toBe(0);
  } finally {
    vi.restoreAllMocks();
    await database.close();
    await own.drop();
  }
});

test('a clock that was ahead and is set back → cards expire by the new time', async () => {
  const gateway = await testGateway();
  const hold = auditOf(await gateway.api.preauthorise());
  await gateway.advance('1h');
  await reviewedAtOnce(gateway);
  // As far ahead as a wrong clock may have scheduled them.
  await gateway.sql(`UPDATE card_review SET next_at = now() + interval '400 days'`);
  await gateway.sql(`UPDATE card_held SET look_at = now() + interval '400 days'`);
  await gateway.advance('8d');
  const database = new Database(gateway.databaseUrl, { maxConnections: 1 });
  try {
    // Such times are corrected at the start and then once a minute.
    await vi.waitFor(
      async () => {
        await destructionOn(database, 8 * DAY_MS + 3_600_000).run();
        expect(await hasCard(gateway, hold)).toBe(false);
      },
      { timeout: 300_000 },
    );
  } finally {
    await database.close();
  }
});
