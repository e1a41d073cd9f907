// The day on the console: every number equals the list behind its filter, for operators of one organisation and of all; and the
// live updates.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { addDays, sydneyDate, sydneyInstant } from '../../src/values/time.js';
import type { Json } from '../../testkit/client.js';
import { type ConsoleClient, signedIn } from '../../testkit/console.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { DECLINED_CARD, UNREACHABLE_CARD } from '../../testkit/test-cards.js';

let gateway: TestGateway;
let everybody: ConsoleClient;
let ours: ConsoleClient;
let theirs: ConsoleClient;

beforeAll(async () => {
  gateway = await testGateway();
  // At noon, so that everything here happens on one day.
  const noon = sydneyInstant(addDays(sydneyDate(Date.now()), 1), '12:00');
  await gateway.advance(`${Math.ceil((noon - Date.now()) / 1_000)}s`);
  everybody = await signedIn(gateway, { role: 'viewer' });
  ours = await signedIn(gateway, { role: 'viewer', organisation: 1 });
  theirs = await signedIn(gateway, { role: 'viewer', organisation: 2 });
  const { api } = gateway;
  const stranger = gateway.as(gateway.stranger);
  for (let index = 0; index < 3; index += 1) await api.purchase({ amount: 1_000 });
  await api.purchase({ amount: 2_000, currency: 'NZD', pan: '5555555555554444' });
  await api.purchase({ pan: DECLINED_CARD });
  await api.purchase({ pan: UNREACHABLE_CARD });
  await api.purchase({ bankAccount: {}, amount: 700 });
  const { body } = await api.preauthorise({ amount: 900 });
  await api.complete(body.audit, 800);
  const voided = await api.purchase({ amount: 400 });
  await api.void(voided.body.audit);
  await stranger.purchase({ merchant: 4, amount: 5 });
  await stranger.purchase({ merchant: 4, pan: DECLINED_CARD });
  await counted();
});
afterAll(() => gateway.close());

async function counted(): Promise<void> {
  await vi.waitFor(async () => {
    const [row] = await gateway.sql(
      `SELECT (SELECT count(*)::integer FROM event) AS waiting, s.position > f.position AS behind
       FROM event_sequencer s, figures_progress f`,
    );
    expect(row).toEqual({ waiting: 0, behind: false });
  }, 300_000);
}

const today = async (client: ConsoleClient, query = '') => {
  const { status, body, text } = await client.get(`/today${query}`);
  expect(status, text).toBe(200);
  return body;
};

/** How many transactions a filter lists, and their sum. */
async function listedBy(client: ConsoleClient, filter: Json): Promise<{ count: number; cents: number }> {
  const query = new URLSearchParams(
    Object.entries(filter).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const { status, body, text } = await client.get(`/transactions?${query}`);
  expect(status, text).toBe(200);
  expect(body.next).toBeNull();
  const cents = body.results.reduce((sum: number, line: Json) => sum + line.amount_cents, 0);
  return { count: body.results.length, cents };
}

describe('the day', () => {
  test.each(['', '?mode=test', '?transaction_type=purchase'])(
    'for all, our and their organisation, %s → every number matches its filter',
    async (query) => {
      for (const client of [everybody, ours, theirs]) {
        const day = await today(client, query);
        const rates = [...day.acquirers, ...day.card_types].flatMap(({ approved, declined }: Json) => [
          approved,
          declined,
        ]);
        const numbers = [...day.statuses, ...day.volumes, ...day.response_codes, ...rates];
        expect(numbers.length).toBeGreaterThan(8);
        for (const number of numbers) {
          const list = await listedBy(client, number.filter);
          expect({ ...number.filter, count: number.count }).toEqual({ ...number.filter, count: list.count });
          if ('cents' in number) expect(number.cents).toBe(list.cents);
        }
      }
    },
    60_000,
  );

  // catches(console: the figures of an operator keep within the organisation)
  test('statuses → match the transactions, for each organisation and for all', async () => {
    const of = async (client: ConsoleClient) =>
      Object.fromEntries((await today(client)).statuses.map(({ status, count }: Json) => [status, count]));
    expect(await of(ours)).toEqual({ approved: 7, declined: 1, unknown: 0, pending: 1, error: 1, voided: 1 });
    expect(await of(theirs)).toEqual({
      approved: 1,
      declined: 1,
      unknown: 0,
      pending: 0,
      error: 0,
      voided: 0,
    });
    expect(await of(everybody)).toEqual({
      approved: 8,
      declined: 2,
      unknown: 0,
      pending: 1,
      error: 1,
      voided: 1,
    });
  });

  test('a point of a series → the transactions of its minute or hour', async () => {
    for (const client of [everybody, theirs]) {
      const day = await today(client);
      for (const { day: series } of [day.minutes, day.hours]) {
        const place = series.approved.findIndex((count: number) => count > 0);
        const fromMs = Date.parse(series.from) + place * series.step_seconds * 1_000;
        const filter = {
          status: 'approved',
          from: new Date(fromMs).toISOString(),
          until: new Date(fromMs + series.step_seconds * 1_000 - 1).toISOString(),
        };
        expect(series.approved[place]).toBe((await listedBy(client, filter)).count);
      }
      const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0);
      const approved = day.statuses.find(({ status }: Json) => status === 'approved').count;
      expect([sum(day.minutes.day.approved), sum(day.hours.day.approved)]).toEqual([approved, approved]);
    }
    const [aud, nzd] = (await today(ours)).hours.day.volume;
    expect([aud.currency, nzd.currency]).toEqual(['AUD', 'NZD']);
    expect(aud.cents.reduce((all: number, one: number) => all + one, 0)).toBe(3_800);
  });

  test('rates → the approved share of decided transactions, by acquirer and by card', async () => {
    const { acquirers, card_types } = await today(theirs);
    expect(acquirers).toEqual([expect.objectContaining({ name: 'simulator', rate: 0.5, others: 0 })]);
    expect(card_types).toEqual([expect.objectContaining({ name: 'visa', rate: 0.5 })]);
    const ofOurs = (await today(ours)).card_types.map(({ name }: Json) => name);
    expect(ofOurs).toEqual(['bankaccount', 'mastercard', 'visa']);
  });

  test('latency, lags and the clock → of the acquirers that were asked, without requests that still wait', async () => {
    const day = await today(everybody);
    expect(day.latency.map(({ name }: Json) => name)).toContain('simulator');
    expect(day.latency.find(({ name }: Json) => name === 'simulator')).toMatchObject({
      count: expect.any(Number),
      p50_ms: expect.any(Number),
    });
    expect(day.lags).toMatchObject({ webhooks_waiting: 0, webhooks_failing: 0 });
    expect(Date.parse(day.counted_until)).toBeLessThanOrEqual(Date.parse(day.now));
  });

  test('a restored database → shows what is lost, until it is reconciled', async () => {
    expect((await today(everybody)).lost_time).toBeNull();
    await gateway.sql(
      `UPDATE gateway SET lost_from = '2026-11-15T00:00:00Z', lost_until = '2026-11-15T01:00:00Z'`,
    );
    const lost = { from: '2026-11-15T11:00:00.000+11:00', until: '2026-11-15T12:00:00.000+11:00' };
    expect((await today(everybody)).lost_time).toEqual(lost);
    expect((await today(ours)).lost_time).toEqual(lost);
    await gateway.sql('UPDATE gateway SET lost_from = NULL, lost_until = NULL');
  });

  test('a future day, or one before the gateway counted → empty, without a comparison', async () => {
    const { statuses, minutes } = await today(everybody, '?date=2001-02-03');
    expect(statuses.every(({ count }: Json) => count === 0)).toBe(true);
    expect(minutes).toEqual({ day: null, week_before: null });
    expect((await everybody.get('/today?date=2026-02-30')).status).toBe(422);
  });

  test('a week later → compared with the same part of the day a week before', async () => {
    await gateway.advance('7d');
    await vi.waitFor(async () => expect((await today(ours)).statuses[0].count).toBe(0), 10_000);
    const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0);
    // Direct debits of that day are cleared by now, one after the other.
    await vi.waitFor(async () => {
      const { minutes, hours } = await today(ours);
      const approved = await approvedAWeekAgo();
      expect([sum(minutes.week_before.approved), sum(hours.week_before.approved)]).toEqual([
        approved,
        approved,
      ]);
    }, 300_000);
  });
});

async function approvedAWeekAgo(): Promise<number> {
  const [row] = await gateway.sql<{ count: number }>(
    `SELECT count(*)::integer AS count FROM transaction WHERE organisation_id = 1 AND status = 'approved'`,
  );
  return row?.count as number;
}

/** Reads a stream of server-sent events until its reader is satisfied. */
async function watch(
  client: ConsoleClient,
  path: string,
  enough: (events: Json[]) => boolean,
): Promise<Json[]> {
  const gone = new AbortController();
  const response = await fetch(`${gateway.operatorsUrl}/console/api${path}`, {
    headers: { cookie: client.cookie },
    signal: gone.signal,
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  const events: Json[] = [];
  let text = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    const parts = text.split('\n\n');
    text = parts.pop() as string;
    for (const part of parts) if (part.startsWith('data: ')) events.push(JSON.parse(part.slice(6)));
    if (enough(events)) break;
  }
  gone.abort();
  return events;
}

describe('live', () => {
  // catches(console: a stream keeps within the organisation)
  test('a purchase while two operators watch → the one who may see it gets an update, the other does not', async () => {
    const first = async (client: ConsoleClient) =>
      (await watch(client, '/live', (events) => events.length > 0))[0];
    const [before, otherBefore] = [await first(ours), await first(theirs)];
    const sees = watch(ours, '/live', (events) => (events.at(-1)?.approved ?? 0) > before.approved);
    const other = watch(theirs, '/live', (events) => events.length >= 3);
    await gateway.api.purchase({ amount: 1 });
    const events = await sees;
    const { declined } = before;
    expect(events.at(-1)).toMatchObject({ approved: before.approved + 1, declined, in_doubt: 0 });
    expect(events.at(-1).changed).toBeGreaterThanOrEqual(before.changed);
    for (const { approved, changed } of await other)
      expect({ approved, changed }).toEqual({ approved: otherBefore.approved, changed: otherBefore.changed });
  });

  test('a session that ends → its stream ends', async () => {
    const short = await signedIn(gateway, { role: 'viewer' });
    const ended = watch(short, '/live', () => false).catch(() => []);
    await vi.waitFor(async () => expect((await short.post('/sign-out')).status).toBe(204), {
      timeout: 300_000,
    });
    await ended;
  });

  test('more streams than a session may have → refused, with when to retry', async () => {
    const gone = new AbortController();
    const opened = await Promise.all(
      Array.from({ length: 5 }, () =>
        fetch(`${gateway.operatorsUrl}/console/api/live`, {
          headers: { cookie: everybody.cookie },
          signal: gone.signal,
        }),
      ),
    );
    expect(opened.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 429]);
    gone.abort();
  });
});
