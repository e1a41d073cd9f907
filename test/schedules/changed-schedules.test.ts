// Whoever writes to the database makes no schedule pay more, twice, from elsewhere, or again after its end; and what crashes is found out.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { BEGIN_DATE, TRY_DATE } from '../../src/schedules/schedules.sql.js';
import type { Client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { createSchedule, datesOf, sydneyToday, tokenFor } from '../../testkit/schedules.js';
import { DECLINED_CARD } from '../../testkit/test-cards.js';

let gateway: TestGateway;
let api: Client;
const DAY_MS = 86_400_000;
let advancedMs = 0;
const day = (after = 0) => sydneyToday(Date.now() + advancedMs + after * DAY_MS);

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
});
afterAll(() => gateway.close());

const advance = async (hours: number) => {
  advancedMs += hours * 3_600_000;
  await gateway.advance(`${hours}h`);
};
const made = async (details: object = {}, card?: string): Promise<string> =>
  (await createSchedule(api, await tokenFor(api, card), details as never)).body.id;
const until = (id: string, ...dates: string[]) => expect.poll(() => datesOf(api, id)).toEqual(dates);
const payments = async (id: string) =>
  (
    await gateway.sql<{ id: string }>(
      `SELECT correlation_id AS id FROM transaction WHERE correlation_id LIKE $1`,
      [`schedule:${id}:%`],
    )
  ).map((each) => each.id);
/** As somebody who owns the tables. */
const bend = async (table: string, text: string, id: string) => {
  await gateway.sql(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
  await gateway.sql(text, [id]);
  await gateway.sql(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
};
const OF_SCHEDULE = `WHERE (organisation_id, schedule) = (SELECT organisation_id, number FROM schedule WHERE id = $1)`;
/** Another schedule that is due at the same time: once it is paid, the gateway has looked at the first, too. */
async function lookedAt(): Promise<void> {
  const first = day();
  const id = await made({ first_date: first, count: 1 });
  await until(id, `${first} paid`);
}

// catches(schedule: paid only as it was sealed)
// catches(schedule: sealed with what it pays)
test('an amount that was raised, and terms that were set back → nothing is paid, and nothing shown', async () => {
  const raised = await made({ first_date: day(1) });
  await gateway.sql(`UPDATE schedule SET terms = replace(terms::text, '1995', '9995')::json WHERE id = $1`, [
    raised,
  ]);
  const cancelled = await made({ first_date: day(1) });
  const [{ terms }] = (await gateway.sql<{ terms: string }>(
    `SELECT terms::text AS terms FROM schedule WHERE id = $1`,
    [cancelled],
  )) as [{ terms: string }];
  await api.call(`/schedules/${cancelled}/cancel`, { method: 'POST' });
  await gateway.sql(`UPDATE schedule SET terms = $2::json, due_at = now() WHERE id = $1`, [cancelled, terms]);
  await advance(24);
  await lookedAt();
  for (const id of [raised, cancelled]) {
    expect(await payments(id)).toEqual([]);
    const shown = await api.get(`/schedules/${id}`);
    expect([shown.status, shown.code]).toEqual([503, 'unavailable']);
    expect(gateway.logged()).toContain(`schedule/${id}`);
  }
  const listed = (await api.get('/schedules')).body.results.map(({ id }: { id: string }) => id);
  expect(listed).not.toContain(raised);
});

// catches(schedule: what was paid is not paid again)
test('a date that is said not to be paid → it is found to be, and not paid again', async () => {
  const first = day();
  const id = await made({ first_date: first });
  await until(id, `${first} paid`);
  await bend(
    'schedule_date',
    `UPDATE schedule_date SET status = 'retrying', decided_at = NULL, look_at = now() ${OF_SCHEDULE}`,
    id,
  );
  await gateway.sql(`UPDATE schedule SET due_at = now() WHERE id = $1`, [id]);
  await until(id, `${first} paid`);
  expect(await payments(id)).toEqual([`schedule:${id}:${first}`]);
});

// catches(schedule: a date that somebody has made up is not paid)
test('a date that the schedule does not have → it is not paid', async () => {
  const first = day();
  const id = await made({ first_date: first }, DECLINED_CARD);
  await until(id, `${first} retrying`);
  await bend(
    'schedule_date',
    `UPDATE schedule_date SET status = 'processing', due_on = due_on - 3, look_at = now() ${OF_SCHEDULE}`,
    id,
  );
  await gateway.sql(`UPDATE schedule SET due_at = now() WHERE id = $1`, [id]);
  await lookedAt();
  expect(await payments(id)).toEqual([`schedule:${id}:${first}`]);
});

// catches(schedule: a further payment is made beside those before it)
test('a payment of a date that is not found any more → no further one is made', async () => {
  const first = day();
  const id = await made({ first_date: first }, DECLINED_CARD);
  await until(id, `${first} retrying`);
  const hide = `UPDATE transaction SET correlation_id = 'hidden-' || correlation_id WHERE correlation_id = 'schedule:' || $1`;
  await bend('transaction', hide, `${id}:${first}`);
  await advance(48);
  await lookedAt();
  expect(await payments(id)).toEqual([]);
  expect(await datesOf(api, id)).toEqual([`${first} retrying`]);
});

// catches(schedule: what is paused or cancelled begins nothing)
test('paused or cancelled, and looked at when its day has come → nothing is begun', async () => {
  const ids = [await made({ first_date: day(1) }), await made({ first_date: day(1) })] as const;
  await api.call(`/schedules/${ids[0]}/pause`, { method: 'POST' });
  await api.call(`/schedules/${ids[1]}/cancel`, { method: 'POST' });
  await advance(24);
  await gateway.sql(`UPDATE schedule SET due_at = now() WHERE id = ANY ($1)`, [ids]);
  await lookedAt();
  expect(await Promise.all(ids.map((id) => datesOf(api, id)))).toEqual([[], []]);
});

// catches(schedule: what is paused is not tried again)
test('paused while it waits to be tried again, and looked at on that day → not tried again until it is resumed', async () => {
  const first = day();
  const id = await made({ first_date: first, every: { months: 1 } }, DECLINED_CARD);
  await until(id, `${first} retrying`);
  await api.call(`/schedules/${id}/pause`, { method: 'POST' });
  await advance(48);
  await gateway.sql(`UPDATE schedule SET due_at = now() WHERE id = $1`, [id]);
  await lookedAt();
  expect(await payments(id)).toEqual([`schedule:${id}:${first}`]);
  await api.call(`/schedules/${id}/resume`, { method: 'POST' });
  await advance(1);
  await expect.poll(() => payments(id)).toHaveLength(2);
});

// catches(schedule: a date is given up only behind a fence)
test('a date that its process has left before it was a payment → paid by another; cancelled before → skipped behind a fence', async () => {
  const first = day(1);
  const [left, cancelled] = [await made({ first_date: first, count: 1 }), await made({ first_date: first })];
  for (const id of [left, cancelled])
    await gateway.sql(
      `WITH begun AS (UPDATE schedule SET next_n = 2, due_at = NULL WHERE id = $1 RETURNING *)
       INSERT INTO schedule_date (organisation_id, schedule, n, due_on, begun_at, status, attempt)
       SELECT organisation_id, number, 1, $2::date, now(), 'processing', 1 FROM begun`,
      [id, first],
    );
  await api.call(`/schedules/${cancelled}/cancel`, { method: 'POST' });
  await advance(24);
  await gateway.sql(`UPDATE schedule SET due_at = now() WHERE id = $1`, [left]);
  await until(left, `${first} paid`);
  await until(cancelled, `${first} skipped`);
  expect(await payments(cancelled)).toEqual([]);
  const fences = await gateway.sql(`SELECT 1 FROM absence WHERE correlation_id = $1`, [
    `schedule:${cancelled}:${first}`,
  ]);
  expect(fences).toHaveLength(1);
});

// catches(schedule: nothing is begun once it was changed)
// catches(schedule: nothing is tried again once it was changed)
test('a process that has read a schedule before it was changed → begins and tries nothing', async () => {
  const first = day();
  const id = await made({ first_date: first }, DECLINED_CARD);
  await until(id, `${first} retrying`);
  const [row] = await gateway.sql<{ organisation: number; number: number; terms: string }>(
    `SELECT organisation_id AS organisation, number, terms::text AS terms FROM schedule WHERE id = $1`,
    [id],
  );
  const { organisation, number, terms } = row as { organisation: number; number: number; terms: string };
  await api.call(`/schedules/${id}/pause`, { method: 'POST' });
  const database = new Database(gateway.databaseUrl, { maxConnections: 1 });
  const begun = await database.query(BEGIN_DATE, [
    organisation,
    number,
    2,
    day(7),
    terms,
    'processing',
    null,
    null,
  ]);
  const tried = await database.query(TRY_DATE, [organisation, number, 1, 2, terms]);
  await database.close();
  expect([begun.count, tried.count]).toEqual([0, 0]);
});

// catches(schedule: nothing is paid while payments may be lost)
test('while a restored database is not reconciled → nothing is paid; afterwards it is', async () => {
  await gateway.sql(`UPDATE gateway SET lost_from = now() - interval '1 hour', lost_until = now()`);
  await expect.poll(() => gateway.logged()).toContain('the database was restored');
  const first = day();
  const id = await made({ first_date: first });
  // As long as two looks take: this is about nothing happening.
  await new Promise((resolve) => setTimeout(resolve, 4_500));
  expect(await payments(id)).toEqual([]);
  await gateway.sql('UPDATE gateway SET lost_from = NULL, lost_until = NULL');
  await until(id, `${first} paid`);
});

// catches(schema: no date of a schedule comes twice)
// catches(schema: a schedule that has ended stays so)
// catches(schema: a date of a schedule that is decided stays decided)
// catches(roles: nobody removes a schedule)
test('the database sets nothing back, opens nothing that has ended, and removes nothing', async () => {
  const first = day();
  const id = await made({ first_date: first, count: 1 });
  await until(id, `${first} paid`);
  await expect.poll(async () => (await api.get(`/schedules/${id}`)).body.status).toBe('ended');
  for (const text of [
    `UPDATE schedule SET next_n = next_n - 1 WHERE id = '${id}'`,
    `UPDATE schedule SET ended_at = NULL WHERE id = '${id}'`,
    `UPDATE schedule SET merchant_id = 2 WHERE id = '${id}'`,
    `UPDATE schedule_date SET reason = 'other' WHERE decided_at IS NOT NULL`,
    `DELETE FROM schedule_date`,
    `DELETE FROM schedule`,
  ])
    await expect(gateway.sql(text), text).rejects.toThrow();
  for (const login of ['tollgate_application', 'tollgate_operator'] as const)
    for (const text of [
      'DELETE FROM schedule',
      'DELETE FROM schedule_date',
      `UPDATE schedule SET merchant_id = 2`,
    ])
      await expect(gateway.sqlAs(login, text), text).rejects.toThrow('permission denied');
});
