// The calendar of a merchant's schedules: what is due by day and currency, what is tried again, what has failed and why, what is paused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type ConsoleClient, tokenFor as operatorToken, signedIn } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { createSchedule, datesOf, sydneyToday, tokenFor } from '../../testkit/schedules.js';
import { cardAnsweredWith, DECLINED_CARD } from '../../testkit/test-cards.js';
import { bankAccount, vaultOf } from '../../testkit/vault-client.js';

interface Due {
  readonly currency: string;
  readonly count: number;
  readonly again: number;
  readonly cents: string;
}

interface Day {
  readonly day: string;
  readonly due: readonly Due[];
  readonly failed: readonly { readonly reason: string; readonly count: number }[];
}

const DAY_MS = 86_400_000;
const day = (after: number) => sydneyToday(Date.now() + after * DAY_MS);

let gateway: TestGateway;
let ada: ConsoleClient;
beforeAll(async () => {
  gateway = await testGateway();
  ada = await signedIn(gateway, { name: 'ada', role: 'viewer' });
});
afterAll(() => gateway.close());

const calendar = async (merchant = 1) => (await ada.get(`/schedules/calendar?merchant=${merchant}`)).body;
/** Days on which something is due: `2026-11-19 AUD 3 1995`. */
const dueDays = async () =>
  ((await calendar()).days as Day[]).flatMap((each) =>
    each.due.map(({ currency, count, cents }) => `${each.day} ${currency} ${count} ${cents}`),
  );

describe('what is due', () => {
  test('every date of four weeks, by currency, as often as it comes, and not beyond its end', async () => {
    const { api } = gateway;
    const token = await tokenFor(api);
    const yen = { total_amount: '500', currency: 'JPY' };
    await createSchedule(api, token, { first_date: day(1), every: { days: 2 }, count: 3 });
    await createSchedule(api, token, { first_date: day(3), every: { weeks: 1 }, until: day(4) });
    await createSchedule(api, token, { first_date: day(3), every: { months: 1 }, amount_details: yen });
    await createSchedule(api, token, { first_date: day(60) });
    expect(await dueDays()).toEqual([
      `${day(1)} AUD 1 1995`,
      `${day(3)} AUD 2 3990`,
      `${day(3)} JPY 1 500`,
      `${day(5)} AUD 1 1995`,
    ]);
    const { days, today } = await calendar();
    expect([days.length, today]).toEqual([28, day(0)]);
    expect(new Date(days[0].day).getUTCDay()).toBe(1);
    expect((await calendar(2)).days.flatMap(({ due }: Day) => due)).toEqual([]);
  });

  test('a changed amount and date, a pause and the end → the calendar follows', async () => {
    const { api } = gateway;
    const before = await dueDays();
    const { id } = (
      await createSchedule(api, await tokenFor(api), { first_date: day(6), every: { months: 1 } })
    ).body;
    expect(await dueDays()).toEqual([...before, `${day(6)} AUD 1 1995`]);
    const change = { amount_details: { total_amount: '777', currency: 'AUD' }, next_date: day(7) };
    await api.call(`/schedules/${id}`, { method: 'PATCH', body: { schedule: change } });
    expect(await dueDays()).toEqual([...before, `${day(7)} AUD 1 777`]);
    await api.call(`/schedules/${id}/pause`, { method: 'POST' });
    expect([await dueDays(), (await calendar()).paused]).toEqual([before, 1]);
    await api.call(`/schedules/${id}/resume`, { method: 'POST' });
    expect([await dueDays(), (await calendar()).paused]).toEqual([[...before, `${day(7)} AUD 1 777`], 0]);
    await api.call(`/schedules/${id}/cancel`, { method: 'POST' });
    expect(await dueDays()).toEqual(before);
  });

  test('a bank account is debited on the next day that banks are open', async () => {
    const { api } = gateway;
    const token = await tokenFor(api, undefined, { account: bankAccount() });
    const saturday = [1, 2, 3, 4, 5, 6, 7]
      .map(day)
      .find((each) => new Date(each).getUTCDay() === 6) as string;
    const dollars = { total_amount: '4321', currency: 'AUD' };
    const details = { first_date: saturday, every: { months: 1 }, amount_details: dollars };
    const { id } = (await createSchedule(api, token, details)).body;
    const { days } = await calendar();
    const found = (days as Day[]).find(({ due }) => due.some(({ cents }) => BigInt(cents) >= 4_321n))?.day;
    expect(new Date(found ?? saturday).getUTCDay()).not.toBe(6);
    expect([found !== undefined && found > saturday]).toEqual([true]);
    await api.call(`/schedules/${id}/cancel`, { method: 'POST' });
  });
});

test('declined → tried again tomorrow; failed → by reason, with what the acquirer said and its transaction', async () => {
  const { api } = gateway;
  const first = day(0);
  const declined = await createSchedule(api, await tokenFor(api, DECLINED_CARD), {
    first_date: first,
    every: { months: 1 },
  });
  const stolen = await createSchedule(api, await tokenFor(api, cardAnsweredWith('43')), {
    first_date: first,
    reference: 'stolen',
    every: { months: 1 },
  });
  const { customerId, id: tokenId, virtualPan } = await vaultOf(api).newToken();
  const gone = await createSchedule(api, virtualPan, { first_date: day(1), every: { months: 1 } });
  await vaultOf(api).deleteToken(customerId, tokenId);
  await expect.poll(() => datesOf(api, declined.body.id)).toEqual([`${first} retrying`]);
  await expect.poll(() => datesOf(api, stolen.body.id)).toEqual([`${first} failed`]);
  const { days, failures, organisation } = await calendar();
  const on = (date: string) => (days as Day[]).find((each) => each.day === date) as Day;
  expect(on(day(1)).due).toEqual([{ currency: 'AUD', count: 3, again: 1, cents: '5985' }]);
  expect(on(first).failed).toEqual([{ reason: 'declined_43', count: 1 }]);
  const { audit } = (await api.get(`/schedules/${stolen.body.id}`)).body.dates[0];
  expect([failures, organisation]).toEqual([
    [
      {
        id: stolen.body.id,
        reference: 'stolen',
        date: first,
        failed: expect.any(String),
        reason: 'declined_43',
        message: expect.stringMatching(/\w/),
        audit,
      },
    ],
    1,
  ]);
  for (const { body } of [declined, stolen, gone])
    await api.call(`/schedules/${body.id}/cancel`, { method: 'POST' });
});

test('the command says the same; and a merchant of another organisation stays unseen', async () => {
  const { json, text } = commands(async (line) =>
    runHere(['schedule', ...wordsOf(line)], {
      DATABASE_URL: gateway.databaseUrl,
      TOLLGATE_DATA_DIR: gateway.dataDir,
      TOLLGATE_OPERATOR_TOKEN: await operatorToken(gateway, 'ada'),
    }),
  );
  expect((await json('calendar --merchant 1')).days).toEqual((await calendar()).days);
  expect(await text('calendar --merchant 1')).toContain(day(3));
  const other = await signedIn(gateway, { organisation: 2 });
  expect((await other.get('/schedules/calendar?merchant=1')).status).toBe(404);
});
