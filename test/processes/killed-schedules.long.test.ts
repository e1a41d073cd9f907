// A gateway that kills itself at each point of a payment of a schedule, the first one of a date and one that is tried again: whoever goes on
// with it makes one payment of each try.
import { beforeAll, describe, expect, test } from 'vitest';
import { POINTS, type Point } from '../../src/payments/pipeline/create.js';
import { expectBooksToAgree } from '../../testkit/books-agree.js';
import type { Client } from '../../testkit/client.js';
import { type Installation, installation } from '../../testkit/cloned-installation.js';
import { runHere } from '../../testkit/command-here.js';
import { eventually } from '../../testkit/gateway-process.js';
import { createSchedule, datesOf, sydneyToday, tokenFor } from '../../testkit/schedules.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';

const TODAY = sydneyToday();
const TOMORROW = sydneyToday(Date.now() + 86_400_000);

let shared: Installation;
let api: Client;
const first = new Map<Point, string>();
const again = new Map<Point, string>();

/** The gateway's clock goes on while no gateway runs. */
async function advance(duration: string): Promise<void> {
  const { databaseUrl, dataDir } = shared;
  const settings = { DATABASE_URL: databaseUrl, TOLLGATE_DATA_DIR: dataDir };
  const { code, stderr } = await runHere(['clock', 'advance', duration], settings);
  expect([code, stderr]).toEqual([0, '']);
}

/** What was made for a date: how its correlation ID ends, and what came of it. */
async function paymentsOf(id: string): Promise<string[]> {
  const rows = await shared.sql<{ payment: string }>(
    `SELECT concat_ws(' ', substr(correlation_id, length('schedule:' || $1) + 2), status) AS payment FROM transaction
     WHERE correlation_id LIKE 'schedule:' || $1 || ':%' ORDER BY correlation_id`,
    [id],
  );
  return rows.map(({ payment }) => payment);
}

beforeAll(async () => {
  shared = await installation();
  const making = await shared.start();
  const [token, declined] = [await tokenFor(making.api), await tokenFor(making.api, DECLINED_CARD)];
  for (const point of POINTS) {
    const every = { every: { months: 1 } };
    const made = await createSchedule(making.api, token, { ...every, first_date: TOMORROW });
    const tried = await createSchedule(making.api, declined, { ...every, first_date: TODAY });
    first.set(point, made.body.id);
    again.set(point, tried.body.id);
  }
  for (const id of again.values())
    await eventually(async () => (await datesOf(making.api, id))[0] === `${TODAY} retrying` || undefined);
  await making.stop();
  await advance('25h');
  for (const schedules of [first, again]) {
    for (const [point, id] of schedules) {
      // One after the other, and none that was left by the one before.
      await shared.sql(`UPDATE schedule SET due_at = NULL`);
      const doomed = await shared.start({ CRASH_AT: point, PROCESS_TIMEOUT_MS: '600000' });
      await shared.sql(`UPDATE schedule SET due_at = gateway_now() WHERE id = $1`, [id]);
      expect((await doomed.ended).signal).toBe('SIGKILL');
    }
  }
  // As though the time had passed after which others take over.
  await shared.sql(`UPDATE process SET seen_at = now() - interval '11 minutes'`);
  await shared.sql(`UPDATE schedule SET due_at = gateway_now(), held_until = NULL`);
  api = (await shared.start()).api;
});

const until = (id: string, date: string) => expect.poll(() => datesOf(api, id)).toEqual([date]);

describe('the first payment of a date', () => {
  test.each(['received', 'answered', 'recorded'] as const)('killed when %s → paid, once', async (point) => {
    const id = first.get(point) as string;
    await until(id, `${TOMORROW} paid`);
    expect(await paymentsOf(id)).toEqual([`${TOMORROW} approved`]);
  });

  test('killed when claimed → it came to nothing, and is tried again the same day', async () => {
    const id = first.get('claimed') as string;
    await until(id, `${TOMORROW} retrying`);
    expect(await paymentsOf(id)).toEqual([`${TOMORROW} error`]);
  });
});

describe('a payment that is tried again', () => {
  test.each(['received', 'answered', 'recorded'] as const)(
    'killed when %s → it is one try, and the next is days later',
    async (point) => {
      const id = again.get(point) as string;
      await until(id, `${TODAY} retrying`);
      await expect.poll(() => paymentsOf(id)).toEqual([`${TODAY} declined`, `${TODAY}:2 declined`]);
    },
  );

  test('killed when claimed → it came to nothing, and is tried again the same day', async () => {
    const id = again.get('claimed') as string;
    await until(id, `${TODAY} retrying`);
    await expect.poll(() => paymentsOf(id)).toEqual([`${TODAY} declined`, `${TODAY}:2 error`]);
  });
});

test('an hour later → what came to nothing is paid, or declined once more; nothing else is', async () => {
  const others = [first, again].flatMap((all) =>
    [...all].filter(([point]) => point !== 'claimed').map(([, id]) => id),
  );
  const before = await Promise.all(others.map(paymentsOf));
  await advance('1h');
  const [paid, declined] = [first.get('claimed') as string, again.get('claimed') as string];
  await until(paid, `${TOMORROW} paid`);
  expect(await paymentsOf(paid)).toEqual([`${TOMORROW} error`, `${TOMORROW}:2 approved`]);
  await expect
    .poll(() => paymentsOf(declined))
    .toEqual([`${TODAY} declined`, `${TODAY}:2 error`, `${TODAY}:3 declined`]);
  expect(await Promise.all(others.map(paymentsOf))).toEqual(before);
});

test('a process that died between the outcome and letting go → the next one pays nothing', async () => {
  const ids = [...first.values()];
  const before = await Promise.all(ids.map(paymentsOf));
  await shared.sql(`UPDATE schedule SET due_at = gateway_now(), held_until = now()`);
  const isLookedAt = `SELECT 1 FROM schedule WHERE due_at <= gateway_now()`;
  await expect.poll(async () => (await shared.sql(isLookedAt)).length).toBe(0);
  expect(await Promise.all(ids.map(paymentsOf))).toEqual(before);
});

test('afterwards → the gateway’s books and the acquirer’s agree', () => expectBooksToAgree(shared));
