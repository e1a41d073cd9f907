// The page of schedules in a browser: the calendar says what is due, what has failed and why, and leads to schedule and transaction.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityMistakes } from '../../testkit/accessibility.js';
import { inBrowser, WHY_NO_BROWSER } from '../../testkit/browser.js';
import { type ConsoleInBrowser, consoleInBrowser, rowOf } from '../../testkit/console-browser.js';
import { eventually } from '../../testkit/gateway-process.js';
import { createSchedule, datesOf, sydneyToday, tokenFor } from '../../testkit/schedules.js';
import { cardAnsweredWith, DECLINED_CARD } from '../../testkit/test-cards.js';

describe.skipIf(WHY_NO_BROWSER !== undefined)(inBrowser('the calendar of schedules'), () => {
  let desk: ConsoleInBrowser;
  let audit: number;

  beforeAll(async () => {
    desk = await consoleInBrowser();
    const { api } = desk.gateway;
    const token = await tokenFor(api);
    const day = (after: number) => sydneyToday(Date.now() + after * 86_400_000);
    const million = { total_amount: '123456789', currency: 'AUD' };
    const yen = { total_amount: '48000', currency: 'JPY' };
    await createSchedule(api, token, { first_date: day(1), reference: 'weekly' });
    await createSchedule(api, token, { first_date: day(2), every: { months: 1 }, amount_details: million });
    await createSchedule(api, token, { first_date: day(2), every: { months: 1 }, amount_details: yen });
    const paused = await createSchedule(api, token, { first_date: day(3), reference: 'on holiday' });
    await api.call(`/schedules/${paused.body.id}/pause`, { method: 'POST' });
    const stolen = { reference: 'a card that was stolen', first_date: day(0) };
    const failed = await createSchedule(api, await tokenFor(api, cardAnsweredWith('43')), stolen);
    const again = await createSchedule(api, await tokenFor(api, DECLINED_CARD), { first_date: day(0) });
    const come = (id: string, to: string) =>
      eventually(async () => (await datesOf(api, id))[0] === `${day(0)} ${to}` || undefined);
    await come(failed.body.id, 'failed');
    await come(again.body.id, 'retrying');
    audit = (await api.get(`/schedules/${failed.body.id}`)).body.dates[0].audit;
  });
  afterAll(() => desk?.close());

  test('what is due and what has failed and why → with links to the schedule and its transaction', async () => {
    const { page, load, complaints, close } = await desk.open();
    await load('/schedules?merchant=1');
    const days = page.locator('.weeks li');
    await days.first().waitFor();
    expect(await days.count()).toBe(28);
    const said = (await days.allInnerTexts()).join('\n');
    expect(said).toMatch(/A\$1,234,567\.89\s+1 due/);
    expect(said).toMatch(/¥48,000/);
    expect(said).toMatch(/2 due, 1 tried again/);
    expect(said).toMatch(/1 failed: declined 43/);
    const row = rowOf(page, 'Failed since last week', 'a card that was stolen');
    expect(await row.innerText()).toMatch(/declined 43: \w/);
    expect(await accessibilityMistakes(page)).toEqual([]);
    await row.getByRole('link', { name: String(audit), exact: true }).click();
    await page.getByRole('heading', { level: 1, name: `Transaction ${audit}` }).waitFor();
    await load('/schedules?merchant=1');
    await page.getByRole('link', { name: '1 schedule is paused' }).click();
    await rowOf(page, 'Schedules', 'on holiday').waitFor();
    await page.getByRole('link', { name: 'a card that was stolen' }).click();
    await page.getByRole('heading', { level: 1, name: 'Schedule a card that was stolen' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});
