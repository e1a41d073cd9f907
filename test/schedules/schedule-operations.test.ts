// Schedules in the interface: made once, found again, changed, paused, resumed and cancelled, and nobody else's.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { createSchedule, scheduleBody, sydneyToday, tokenFor } from '../../testkit/schedules.js';
import { bankAccount, vaultOf } from '../../testkit/vault-client.js';

let gateway: TestGateway;
let api: Client;
let virtualPan: string;
/** Long after every test. */
const later = { first_date: '2031-01-31', every: { months: 1 } };

beforeAll(async () => {
  gateway = await testGateway();
  api = gateway.api;
  virtualPan = await tokenFor(api);
});
afterAll(() => gateway.close());

describe('creating', () => {
  test('201 with the next date; a look-up and a search show the same', async () => {
    const correlationId = randomUUID();
    const token = await vaultOf(api).newToken();
    const made = await api.post(
      '/schedules',
      scheduleBody(token.virtualPan, { ...later, count: 3 }),
      correlationId,
    );
    expect(made.status, made.text).toBe(201);
    const { id } = made.body;
    expect(id).toMatch(/^sc_[b-z]{28}$/);
    const self = `/v1/schedules/${id}`;
    expect(made.body).toEqual({
      id,
      status: 'active',
      created: expect.any(String),
      merchant: { id: 1 },
      schedule: {
        reference: 'subscription-1',
        virtual_pan: token.virtualPan,
        amount_details: { total_amount: '1995', currency: 'AUD' },
        ...later,
        count: 3,
        on_failure: 'continue',
      },
      customer_id: token.customerId,
      next_date: '2031-01-31',
      dates: [],
      counts: { paid: 0, failed: 0, skipped: 0 },
      _links: {
        self: { href: self },
        customer: { href: `/v1/customers/${token.customerId}?merchant_id=1` },
        token: { href: `/v1/customers/${token.customerId}/tokens/${token.id}?merchant_id=1` },
        pause: { href: `${self}/pause` },
        cancel: { href: `${self}/cancel` },
      },
    });
    expect(made.headers.get('location')).toBe(self);
    expect((await api.get(`/schedules/${id}`)).body).toEqual(made.body);
    const { dates: _dates, counts: _counts, ...listed } = made.body;
    const found = await api.get(`/schedules?correlation_id_lookup=${correlationId}`);
    expect(found.body.results).toEqual([listed]);
    expect((await api.get(`/schedules?customer_id=${token.customerId}`)).body.results).toEqual([listed]);
    expect((await api.get(`/schedules?customer_id=${token.customerId}&status=paused`)).body.results).toEqual(
      [],
    );
  });

  // catches(schedule: a correlation ID makes one)
  test('the same correlation ID again, also at the same moment → 409 with a link to the first', async () => {
    const correlationId = randomUUID();
    const body = scheduleBody(virtualPan, later);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => api.post('/schedules', body, correlationId)),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    for (const refused of answers.filter((answer) => answer !== made[0])) {
      expect([refused.status, refused.code]).toEqual([409, 'correlation_id_already_used']);
      expect(refused.body._links).toEqual({ schedule: { href: `/v1/schedules/${made[0]?.body.id}` } });
    }
  });

  test('every wrong field is named', async () => {
    const wrong = await api.post('/schedules', {
      merchant: { id: 1 },
      schedule: {
        reference: '',
        virtual_pan: '4111111111111111',
        amount_details: { total_amount: '0', currency: 'XXX' },
        first_date: '2026-02-30',
        every: { days: 0, months: 1 },
        count: 3,
        until: '2031-01-01',
        on_failure: 'stop',
      },
    });
    expect(wrong.status).toBe(422);
    expect(new Set(wrong.errors.map((error) => error.split('/').slice(2).join('/')))).toEqual(
      new Set([
        'reference',
        'virtual_pan',
        'amount_details/total_amount',
        'amount_details/currency',
        'first_date',
        'every/days',
        'every',
        'until',
        'on_failure',
      ]),
    );
  });

  test.each([
    ['a day that is over', { first_date: '2020-01-01' }, 'field_out_of_range body/schedule/first_date'],
    ['no interval', { every: {} }, 'field_missing body/schedule/every'],
    [
      'an end before the beginning',
      { ...later, until: '2031-01-30' },
      'field_out_of_range body/schedule/until',
    ],
    ['an unknown token', { virtual_pan: '9217664744023758' }, 'token_not_usable body/schedule/virtual_pan'],
  ])('%s → 422', async (_, details, error) => {
    expect((await createSchedule(api, virtualPan, details)).errors).toEqual([error]);
  });

  test('a bank account in another currency than the banks take → 422', async () => {
    const account = await tokenFor(api, undefined, { account: bankAccount() });
    const amount_details = { total_amount: '1995', currency: 'NZD' };
    const refused = await createSchedule(api, account, { ...later, amount_details });
    expect(refused.errors).toEqual(['field_out_of_range body/schedule/amount_details/currency']);
  });
});

// catches(schedule: a merchant sees its own)
test('somebody else’s → 404, as one that does not exist', async () => {
  const { id } = (await createSchedule(api, virtualPan, later)).body;
  const stranger = gateway.as(gateway.stranger);
  for (const path of [`/schedules/${id}`, '/schedules/sc_none'])
    expect((await stranger.get(path)).errors).toEqual(['schedule_not_found path/id']);
  for (const what of ['pause', 'resume', 'cancel'])
    expect((await stranger.call(`/schedules/${id}/${what}`, { method: 'POST' })).code).toBe(
      'schedule_not_found',
    );
  expect((await api.get(`/schedules/${id}`)).body.status).toBe('active');
});

test('lists come in pages, the newest first', async () => {
  const { customerId, virtualPan: paying } = await vaultOf(api).newToken();
  const made: string[] = [];
  for (let each = 0; each < 5; each += 1) made.unshift((await createSchedule(api, paying, later)).body.id);
  const listed: string[] = [];
  let path: string | undefined = `/schedules?customer_id=${customerId}&limit=2`;
  while (path !== undefined) {
    const page: { body: { results: { id: string }[]; _links: { next?: { href: string } } } } =
      await api.get(path);
    expect(page.body.results.length).toBeLessThanOrEqual(2);
    listed.push(...page.body.results.map(({ id }) => id));
    path = page.body._links.next?.href.replace('/v1', '');
  }
  expect(listed).toEqual(made);
});

describe('changing', () => {
  test('amount and next date; later dates count from the new one; the journal says who', async () => {
    const { id } = (await createSchedule(api, virtualPan, later)).body;
    const amount_details = { total_amount: '2495', currency: 'AUD' };
    const changed = await api.call(`/schedules/${id}`, {
      method: 'PATCH',
      body: { schedule: { amount_details, next_date: '2031-02-05' } },
    });
    expect(changed.status, changed.text).toBe(200);
    expect(changed.body).toMatchObject({ next_date: '2031-02-05', schedule: { amount_details } });
    const entries = await gateway.sql(
      `SELECT action, actor, detail FROM journal WHERE subject = $1 ORDER BY id`,
      [`schedule/${id}`],
    );
    expect(entries).toEqual([
      {
        action: 'schedule.added',
        actor: 'user:owner',
        detail: `${id}, 19.95 AUD every month, next 2031-01-31`,
      },
      {
        action: 'schedule.changed',
        actor: 'user:owner',
        detail: `${id}, 24.95 AUD every month, next 2031-02-05`,
      },
    ]);
  });

  test.each([
    [
      'another currency',
      { amount_details: { total_amount: '1', currency: 'NZD' } },
      'field_out_of_range body/schedule/amount_details/currency',
    ],
    ['a day that is over', { next_date: '2020-01-01' }, 'field_out_of_range body/schedule/next_date'],
    ['nothing', {}, 'field_missing body/schedule'],
  ])('%s → 422', async (_, schedule, error) => {
    const { id } = (await createSchedule(api, virtualPan, later)).body;
    const refused = await api.call(`/schedules/${id}`, { method: 'PATCH', body: { schedule } });
    expect(refused.errors).toEqual([error]);
  });

  test('paused, resumed, cancelled; what does not fit is 422 schedule_not_open; the feed tells of it', async () => {
    const { id } = (
      await createSchedule(api, virtualPan, { first_date: sydneyToday(Date.now() + 86_400_000 * 30) })
    ).body;
    const act = (what: string) => api.call(`/schedules/${id}/${what}`, { method: 'POST' });
    const seen: unknown[] = [];
    for (const what of ['resume', 'pause', 'pause', 'resume', 'cancel', 'cancel', 'resume'])
      seen.push(await act(what).then(({ status, body, code }) => (status === 200 ? body.status : code)));
    const no = 'schedule_not_open';
    expect(seen).toEqual([no, 'paused', no, 'active', 'cancelled', no, no]);
    const { body } = await api.get(`/schedules/${id}`);
    expect([body.next_date, Object.keys(body._links)]).toEqual([undefined, ['self', 'customer', 'token']]);
    const { results } = (await api.get('/events')).body;
    expect(
      results
        .filter(({ data }: { data: { schedule_id?: string } }) => data.schedule_id === id)
        .map(({ type, version }: { type: string; version: number }) => `${type} ${version}`),
    ).toEqual(['schedule.paused 1', 'schedule.ended 2']);
  });
});
