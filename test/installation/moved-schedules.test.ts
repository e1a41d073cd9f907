// Schedules move with their organisation: the destination goes on with the next date, and one that somebody has changed stays broken.
import { expect, test } from 'vitest';
import { createSchedule, datesOf, sydneyToday, tokenFor } from '../../testkit/schedules.js';
import { twoCells } from '../../testkit/two-cells.js';

const DAY_MS = 86_400_000;

test('an organisation moves → its schedules go on in the other cell, where each date is paid once', async () => {
  const cells = await twoCells({});
  const { one, two } = cells;
  try {
    const [first, second] = [sydneyToday(), sydneyToday(Date.now() + DAY_MS)];
    const made = async () =>
      (
        await createSchedule(one.api, await tokenFor(one.api), {
          first_date: first,
          every: { days: 1 },
          count: 2,
        })
      ).body.id as string;
    const [id, changed] = [await made(), await made()];
    for (const each of [id, changed])
      await expect.poll(() => datesOf(one.api, each)).toEqual([`${first} paid`]);
    await one.sql(`UPDATE schedule SET terms = replace(terms::text, '1995', '1')::json WHERE id = $1`, [
      changed,
    ]);
    const refused = await cells.command('one', 'organisation', 'move', '1', '--to', 'two');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`schedule/${changed}`)]);
    const named = ['--even-broken', `schedule/${changed}`];
    const moved = await cells.command('one', 'organisation', 'move', '1', '--to', 'two', ...named);
    expect(moved.code, moved.stderr).toBe(0);
    const api = two.as(one.owner);
    expect((await api.get(`/schedules/${id}`)).body).toMatchObject({ status: 'active', next_date: second });
    expect((await api.get(`/schedules/${changed}`)).status).toBe(503);
    await one.advance('24h');
    await two.advance('24h');
    await expect.poll(() => datesOf(api, id)).toEqual([`${first} paid`, `${second} paid`]);
    const payments = (gateway: typeof one) =>
      gateway.sql(`SELECT 1 FROM transaction WHERE correlation_id = $1`, [`schedule:${id}:${second}`]);
    expect([(await payments(one)).length, (await payments(two)).length]).toEqual([0, 1]);
  } finally {
    await cells.close();
  }
});
