// What happens on the days of a schedule: paid once, tried again, failed, paused, and caught up in order.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../testkit/client.js';
import { runHere } from '../../testkit/command-here.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { createSchedule, datesOf, sydneyToday, tokenFor } from '../../testkit/schedules.js';
import { cardAnsweredWith, DECLINED_CARD } from '../../testkit/test-cards.js';
import { bankAccount, vaultOf } from '../../testkit/vault-client.js';

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
const shown = async (id: string) => (await api.get(`/schedules/${id}`)).body;
const until = (id: string, ...dates: string[]) => expect.poll(() => datesOf(api, id)).toEqual(dates);
const act = (id: string, what: string) => api.call(`/schedules/${id}/${what}`, { method: 'POST' });
const eventsOf = async (id: string) => {
  const { results } = (await api.get('/events?limit=100')).body;
  return results.filter(({ data }: { data: { schedule_id?: string } }) => data.schedule_id === id);
};

test('a date whose day has come → paid once, as a purchase by the merchant with the token', async () => {
  const { customerId, virtualPan } = await vaultOf(api).newToken();
  const first = day();
  const { id } = (await createSchedule(api, virtualPan, { first_date: first, count: 1 })).body;
  await until(id, `${first} paid`);
  const { status, dates, counts, _links } = await shown(id);
  expect([status, counts]).toEqual(['ended', { paid: 1, failed: 0, skipped: 0 }]);
  const { audit } = dates[0];
  expect(_links.transaction).toEqual({ href: `/v1/transactions/${audit}` });
  const paid = (await api.get(`/transactions/${audit}`)).body;
  expect(paid).toMatchObject({
    kvps: { 'GATEWAY.REQUEST.KVP.SCHEDULE': id, 'GATEWAY.REQUEST.KVP.SCHEDULE.DATE': first },
    transaction: {
      transaction_type: 'purchase',
      reference: 'subscription-1',
      amount_details: { total_amount: '1995', currency: 'AUD' },
    },
    status: { transaction_status_code: 'approved' },
  });
  // Nobody called from anywhere, and the entry is genuine all the same.
  const journal = await runHere(['journal', 'verify'], {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
  });
  expect(journal.code, journal.stderr + journal.stdout).toBe(0);
  const search = `/transactions?merchant_id=1&correlation_id_lookup=schedule:${id}:${first}`;
  expect((await api.get(search)).body.results).toHaveLength(1);
  const [ended] = await eventsOf(id);
  expect(ended).toMatchObject({
    type: 'schedule.ended',
    data: { schedule_id: id, schedule_status: 'ended' },
  });
  expect((await api.get(`/transactions/history?customer_id=${customerId}`)).body.results).toHaveLength(1);
});

test('yen of a test merchant are paid as yen', async () => {
  const amount_details = { total_amount: '500', currency: 'JPY' };
  const first = day();
  const { id } = (
    await createSchedule(api, await tokenFor(api), { amount_details, first_date: first, count: 1 })
  ).body;
  await until(id, `${first} paid`);
  const [{ audit }] = (await shown(id)).dates;
  expect((await api.get(`/transactions/${audit}`)).body.transaction.amount_details).toEqual(amount_details);
});

// catches(schedule: nothing is paid before its day)
test('the clock jumps over a week → each date is paid, in order, and an hour apart', async () => {
  const first = day(1);
  const { id } = (
    await createSchedule(api, await tokenFor(api), { first_date: first, every: { days: 2 }, count: 4 })
  ).body;
  expect(await datesOf(api, id)).toEqual([]);
  await advance(7 * 24);
  const dates = [first, day(-4), day(-2), day()];
  const paid: string[] = [];
  for (const date of dates) {
    paid.push(`${date} paid`);
    await until(id, ...paid);
    await advance(1);
  }
  const times = await gateway.sql<{ at: Date }>(
    `SELECT created_at AS at FROM transaction WHERE correlation_id LIKE $1 ORDER BY created_at`,
    [`schedule:${id}:%`],
  );
  const [one, two, three] = times.map(({ at }) => at.getTime()) as [number, number, number];
  expect([two - one >= 3_600_000, three - two >= 3_600_000]).toEqual([true, true]);
});

describe('declined', () => {
  test('again after 1, 3 and 7 days, then failed, and the event says why; the next date waits, and comes', async () => {
    const first = day();
    const { id } = (
      await createSchedule(api, await tokenFor(api, DECLINED_CARD), {
        first_date: first,
        every: { weeks: 2 },
      })
    ).body;
    for (const days of [1, 2, 4]) {
      await until(id, `${first} retrying`);
      const { dates } = await shown(id);
      expect(dates[0]).toMatchObject({ reason: 'declined_05', next_try: expect.stringContaining(day(days)) });
      const attempts = () =>
        gateway.sql(`SELECT 1 FROM transaction WHERE correlation_id LIKE $1`, [`schedule:${id}:%`]);
      const before = (await attempts()).length;
      await advance(days * 24);
      await expect.poll(async () => (await attempts()).length).toBe(before + 1);
    }
    await until(id, `${first} failed`);
    const [failed] = await eventsOf(id);
    expect(failed).toMatchObject({
      type: 'schedule.payment_failed',
      data: { schedule_id: id, date: first, reason: 'declined_05', audit: expect.any(Number) },
    });
    const ids = await gateway.sql<{ id: string }>(
      `SELECT correlation_id AS id FROM transaction WHERE correlation_id LIKE $1 ORDER BY audit`,
      [`schedule:${id}:%`],
    );
    const name = `schedule:${id}:${first}`;
    expect(ids.map((each) => each.id)).toEqual([name, `${name}:2`, `${name}:3`, `${name}:4`]);
    expect(await shown(id)).toMatchObject({ status: 'active', next_date: day(7) });
    await act(id, 'cancel');
  });

  test('with a code after which a card is not tried again → failed at once; on_failure pause pauses', async () => {
    const first = day();
    const stolen = await tokenFor(api, cardAnsweredWith('43'));
    const { id } = (await createSchedule(api, stolen, { first_date: first, on_failure: 'pause' })).body;
    await until(id, `${first} failed`);
    expect(await shown(id)).toMatchObject({ status: 'paused', dates: [{ reason: 'declined_43' }] });
    const types = (await eventsOf(id)).map(
      ({ type, version }: { type: string; version: number }) => `${version} ${type}`,
    );
    expect(types).toEqual(['1 schedule.payment_failed', '2 schedule.paused']);
    const [entry] = await gateway.sql(
      `SELECT actor FROM journal WHERE action = 'schedule.paused' AND subject = $1`,
      [`schedule/${id}`],
    );
    expect(entry).toEqual({ actor: 'gateway:schedules' });
  });

  // catches(schedule: what is cancelled is not tried again)
  test('cancelled while it waits to be tried again → skipped', async () => {
    const first = day();
    const { id } = (await createSchedule(api, await tokenFor(api, DECLINED_CARD), { first_date: first }))
      .body;
    await until(id, `${first} retrying`);
    await act(id, 'cancel');
    await until(id, `${first} skipped`);
  });
});

test('the token is removed → failed with the reason, and no payment', async () => {
  const { customerId, id: tokenId, virtualPan } = await vaultOf(api).newToken();
  const first = day(1);
  const { id } = (await createSchedule(api, virtualPan, { first_date: first })).body;
  await vaultOf(api).deleteToken(customerId, tokenId);
  await advance(24);
  await until(id, `${first} failed`);
  expect((await shown(id)).dates).toEqual([{ date: first, status: 'failed', reason: 'token_not_usable' }]);
  await act(id, 'cancel');
});

const tollgate = async (line: string) => {
  const settings = { DATABASE_URL: gateway.databaseUrl, TOLLGATE_DATA_DIR: gateway.dataDir };
  const { code, stderr } = await runHere(line.split(' '), settings);
  expect([code, stderr]).toEqual([0, '']);
};
const paymentsOf = async (id: string) =>
  (
    await gateway.sql<{ id: string }>(
      `SELECT correlation_id AS id FROM transaction WHERE correlation_id LIKE $1 ORDER BY created_at`,
      [`schedule:${id}:%`],
    )
  ).map((each) => each.id);

test('the merchant is suspended → its dates wait; resumed → each is paid once, in order', async () => {
  const first = day(1);
  const { id } = (
    await createSchedule(api, await tokenFor(api), { first_date: first, every: { days: 1 }, count: 2 })
  ).body;
  await tollgate('merchant suspend 1');
  await advance(24);
  const status = `SELECT status FROM schedule_date WHERE schedule = (SELECT number FROM schedule WHERE id = $1)`;
  await expect.poll(() => gateway.sql(status, [id])).toEqual([{ status: 'processing' }]);
  await advance(24);
  expect(await paymentsOf(id)).toEqual([]);
  await tollgate('merchant resume 1');
  await advance(1);
  await until(id, `${first} paid`, `${day()} paid`);
  expect(await paymentsOf(id)).toEqual([`schedule:${id}:${first}`, `schedule:${id}:${day()}`]);
});

test('a limit blocks its card → no transaction, and it is tried again the same day; then it is paid once', async () => {
  const virtualPan = await tokenFor(api, cardAnsweredWith('00'));
  await tollgate('limit set --merchant 1 --per card --attempts 1 --within 30m --mode block');
  await expect.poll(async () => (await api.purchase({ pan: virtualPan })).status).toBe(422);
  const first = day();
  const { id } = (await createSchedule(api, virtualPan, { first_date: first, count: 1 })).body;
  const refusals = `SELECT refusals FROM schedule_date WHERE schedule = (SELECT number FROM schedule WHERE id = $1)`;
  await expect.poll(() => gateway.sql(refusals, [id])).toEqual([{ refusals: 1 }]);
  expect([await datesOf(api, id), await paymentsOf(id)]).toEqual([[`${first} processing`], []]);
  await advance(1);
  await until(id, `${first} paid`);
  expect(await paymentsOf(id)).toEqual([`schedule:${id}:${first}`]);
  await tollgate('limit off --merchant 1 --per card');
});

// catches(schedule: what passed while it was paused is not paid)
test('paused → nothing is paid; resumed → what has passed is skipped, and today is paid', async () => {
  const first = day(1);
  const { id } = (
    await createSchedule(api, await tokenFor(api), { first_date: first, every: { days: 1 }, count: 3 })
  ).body;
  await act(id, 'pause');
  await advance(48);
  expect(await datesOf(api, id)).toEqual([]);
  expect((await act(id, 'resume')).body.status).toBe('active');
  await until(id, `${first} skipped`, `${day()} paid`);
  await act(id, 'cancel');
});

test('a changed amount is what is paid', async () => {
  const first = day(1);
  const { id } = (await createSchedule(api, await tokenFor(api), { first_date: first, count: 1 })).body;
  const amount_details = { total_amount: '777', currency: 'AUD' };
  await api.call(`/schedules/${id}`, {
    method: 'PATCH',
    body: { schedule: { amount_details, next_date: day(2) } },
  });
  await advance(24);
  expect(await datesOf(api, id)).toEqual([]);
  await advance(24);
  await until(id, `${day()} paid`);
  const [{ audit }] = (await shown(id)).dates;
  expect((await api.get(`/transactions/${audit}`)).body.transaction.amount_details).toEqual(amount_details);
});

describe('a bank account', () => {
  test('pending, and the next date does not wait for it; cleared → paid; returned → tried again', async () => {
    const good = await tokenFor(api, undefined, { account: bankAccount() });
    const bad = await tokenFor(api, undefined, { account: bankAccount({ 'BANK.ACCOUNT_NUMBER': '900006' }) });
    const [paying, failing] = (await Promise.all(
      [good, bad].map(
        async (token) =>
          (
            await createSchedule(api, token, { first_date: day(), count: 1 })
          ).body.id as string,
      ),
    )) as [string, string];
    // Until banks are open.
    for (let days = 0; days < 5 && (await datesOf(api, paying)).length === 0; days += 1) {
      await advance(24);
      await expect
        .poll(() => datesOf(api, paying), { timeout: 6_000 })
        .not.toEqual([])
        .catch(() => {});
    }
    for (let days = 0; days < 8; days += 1) await advance(24);
    await expect.poll(async () => (await shown(paying)).counts.paid).toBe(1);
    const made = () =>
      gateway.sql<{ status: string; code: string | null }>(
        `SELECT status, response_code AS code FROM transaction WHERE correlation_id LIKE $1 ORDER BY audit`,
        [`schedule:${failing}:%`],
      );
    await expect.poll(async () => (await made()).length).toBeGreaterThan(1);
    expect((await made())[0]).toEqual({ status: 'declined', code: '6' });
    await act(failing, 'cancel');
  });
});
