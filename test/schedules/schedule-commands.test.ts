// `tollgate schedule …`: what is due and what has failed, and pausing, resuming and cancelling.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { createSchedule, datesOf, sydneyToday, tokenFor } from '../../testkit/schedules.js';
import { scrape } from '../../testkit/scrape.js';
import { cardAnsweredWith } from '../../testkit/test-cards.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const tollgate = (line: string) =>
  runHere(['schedule', ...wordsOf(line)], {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
  });
const { json, text, refusal } = commands(tollgate);

test('list and show say what is due, and what has failed and why', async () => {
  const { api } = gateway;
  const first = sydneyToday();
  const stolen = await tokenFor(api, cardAnsweredWith('43'));
  const { id } = (await createSchedule(api, stolen, { first_date: first, every: { days: 30 } })).body;
  await expect.poll(() => datesOf(api, id)).toEqual([`${first} failed`]);
  const [listed] = await json('list --merchant 1 --limit 1');
  expect(listed).toMatchObject({
    id,
    status: 'active',
    amount_cents: 1_995,
    every: 'every 30 days',
    last_date: first,
    last_status: 'failed',
    reason: 'declined_43',
    audit: expect.any(Number),
  });
  const shown = await json(`show ${id} --merchant 1`);
  expect(shown).toMatchObject({ failed: 1, paid: 0, dates: [{ date: first, reason: 'declined_43' }] });
  expect(await text('list --merchant 3')).toBe('None.');
});

test('pause, resume, cancel → the journal says who; what does not fit is refused', async () => {
  const { id } = (
    await createSchedule(gateway.api, await tokenFor(gateway.api), { first_date: '2036-12-01' })
  ).body;
  expect(await text(`pause ${id} --merchant 1`)).toBe(`Nothing of ${id} is paid until it is resumed.`);
  expect(await refusal(`pause ${id} --merchant 1`)).toContain(`the schedule ${id} is paused`);
  expect(await text(`resume ${id} --merchant 1`)).toBe(`${id} goes on.`);
  expect(await text(`cancel ${id} --merchant 1`)).toBe(`Nothing of ${id} is paid any more.`);
  expect(await refusal(`resume ${id} --merchant 1`)).toContain(`the schedule ${id} is cancelled`);
  expect(await refusal(`show ${id} --merchant 2`)).toContain('this merchant has no schedule');
  const actions = await gateway.sql(`SELECT action FROM journal WHERE subject = $1 ORDER BY id`, [
    `schedule/${id}`,
  ]);
  expect(actions.map(({ action }) => action)).toEqual(
    ['added', 'paused', 'resumed', 'cancelled'].map((what) => `schedule.${what}`),
  );
});

test('one that has been due for two hours → metrics say how many are late, and how late', async () => {
  const { id } = (
    await createSchedule(gateway.api, await tokenFor(gateway.api), { first_date: '2036-12-01' })
  ).body;
  const late = async () => {
    const figures = await scrape(gateway.operatorsUrl);
    const names = ['tollgate_schedules_late', 'tollgate_schedule_due_longest_seconds'];
    return names.map((name) => Math.floor((figures.sum(name) ?? -1) / (name.endsWith('late') ? 1 : 3_600)));
  };
  expect(await late()).toEqual([0, 0]);
  // As though a process had it in hand that does not go on.
  await gateway.sql(
    `UPDATE schedule SET due_at = gateway_now() - interval '2 hours', held_until = now() + interval '1 hour' WHERE id = $1`,
    [id],
  );
  await expect.poll(late).toEqual([1, 2]);
});
