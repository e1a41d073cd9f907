// Dead, slow, rude or missing receivers: what waits, when it is retried, and what is logged.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { startReceiver, type WebhookReceiver } from '../../testkit/webhook-receiver.js';
import { type TestWebhooks, until, WEBHOOK_SETTINGS, webhooksOf } from '../../testkit/webhooks.js';

let gateway: TestGateway;
let webhooks: TestWebhooks;

beforeAll(async () => {
  gateway = await testGateway({ settings: WEBHOOK_SETTINGS });
  webhooks = webhooksOf(gateway);
});
afterAll(async () => {
  await webhooks.close();
  await gateway.close();
});

async function purchase(): Promise<string> {
  return `evt_1_transaction_${(await gateway.api.purchase()).body.audit}_1`;
}

/** Makes everything that waits for an endpoint due now. */
async function pausesAreOver(id: number): Promise<void> {
  await gateway.sql(
    'UPDATE webhook_delivery SET next_at = now() WHERE endpoint_id = $1 AND next_at IS NOT NULL',
    [id],
  );
  await gateway.sql(
    'UPDATE webhook_endpoint SET wake_at = now(), paused_until = NULL WHERE id = $1 AND leased_until IS NULL',
    [id],
  );
}

/** Makes attempt after attempt until a condition holds. */
function withoutPauses(id: number, condition: () => unknown): Promise<void> {
  return until(async () => {
    await pausesAreOver(id);
    return condition();
  });
}

/** How many of the attempts for an event count. */
async function attemptsFor(id: number, event: string): Promise<number> {
  const made = await webhooks.attempts(id);
  return made.filter((each) => each.event === event && each.attempt > 0).length;
}

const idsOf = (shop: WebhookReceiver) => shop.received.map(({ id }) => id);
const once = (ids: readonly string[]) => [...new Set(ids)];
const linesWith = (message: string, id: number) =>
  gateway
    .logged()
    .split('\n')
    .filter((line) => line.includes(`"${message}"`) && line.includes(`"endpoint":${id},`));

test('nothing gets through → one attempt at a time; once one succeeds, everything follows, in order and signed', async () => {
  const { id, shop } = await webhooks.endpoint();
  shop.behave = () => 500;
  const events: string[] = [];
  for (let count = 0; count < 30; count += 1) events.push(await purchase());
  await until(async () => (await webhooks.view(id)).state === 'failing');
  await until(() => linesWith('webhook endpoint is failing', id).length === 1);
  // Only a few: ten for one event, and the endpoint would be disabled.
  await withoutPauses(id, () => shop.received.length > 10);
  // Attempted events wait; the rest have not even been read.
  expect(once(idsOf(shop)).length).toBeLessThan(events.length);
  shop.received.length = 0;
  shop.behave = () => 204;
  await withoutPauses(id, () => once(idsOf(shop)).length === events.length);
  // One under way may have been refused a moment before: it comes again.
  expect(once(idsOf(shop)).sort()).toEqual([...events].sort());
  expect(shop.received.every(({ genuine }) => genuine)).toBe(true);
  expect(await webhooks.view(id)).toMatchObject({ state: 'enabled', waiting: 0 });
  expect(linesWith('webhook endpoint delivers again', id)).toHaveLength(1);
});

test('nothing gets through, and several events of a subject are untried → only the first of them has a next attempt', async () => {
  const { id, shop } = await webhooks.endpoint();
  shop.behave = () => 500;
  await gateway.sql(
    `INSERT INTO event (created_at, organisation_id, merchant_id, subject, version, type, data)
     SELECT now(), 1, 1, 910000 + subject, version, 'customer.updated', '{"name":"A","reference":"B"}'
     FROM generate_series(1, 30) subject, generate_series(1, 3) version ORDER BY subject, version`,
  );
  await until(async () => (await webhooks.view(id)).state === 'failing');
  const rows = await gateway.sql<{ times: number }>(
    `SELECT count(next_at)::integer AS times FROM webhook_delivery WHERE endpoint_id = $1 GROUP BY subject`,
    [id],
  );
  expect(new Set(rows.map(({ times }) => times))).toEqual(new Set([1]));
});

test('503 with Retry-After from a failing endpoint → nothing else is sent meanwhile', async () => {
  const { id, shop } = await webhooks.endpoint();
  shop.behave = () => 500;
  for (let count = 0; count < 12; count += 1) await purchase();
  await until(async () => (await webhooks.view(id)).state === 'failing');
  shop.behave = (_, response) => {
    response.writeHead(503, { 'retry-after': '600' }).end();
    return undefined;
  };
  const [before] = await Promise.all([shop.received.length, pausesAreOver(id)]);
  await until(() => shop.received.length > before);
  const [paused] = await gateway.sql<{ long: boolean }>(
    `SELECT paused_until > now() + interval '9 minutes' AS long FROM webhook_endpoint WHERE id = $1 AND leased_until IS NULL`,
    [id],
  );
  await until(async () => {
    const [row] = await gateway.sql<{ long: boolean }>(
      `SELECT paused_until > now() + interval '9 minutes' AS long FROM webhook_endpoint WHERE id = $1`,
      [id],
    );
    return row?.long;
  });
  expect(paused?.long ?? true).toBe(true);
});

test('nothing gets through for ten attempts → disabled, with an error in the log and a journal entry; enabled again, nothing is lost', async () => {
  const { id, shop } = await webhooks.endpoint();
  shop.behave = () => 503;
  const event = await purchase();
  await withoutPauses(id, async () => (await webhooks.view(id)).state === 'disabled');
  expect(await webhooks.view(id)).toMatchObject({ because: 'failing', waiting: 1 });
  expect(idsOf(shop)).toEqual(Array.from({ length: 10 }, () => event));
  expect(linesWith('webhook endpoint disabled', id)).toHaveLength(1);
  expect(linesWith('webhook endpoint disabled', id)[0]).toContain('"level":50');
  const told = await gateway.sql(
    `SELECT actor, detail FROM journal WHERE action = 'webhook.disabled' AND detail LIKE $1`,
    [`endpoint ${id},%`],
  );
  expect(told).toEqual([{ actor: 'gateway:webhooks', detail: `endpoint ${id}, failing` }]);
  const later = await purchase();
  shop.behave = () => 204;
  await webhooks.enable(id);
  await until(() => shop.received.length === 12);
  expect(idsOf(shop).slice(10)).toEqual([event, later]);
  expect(await webhooks.view(id)).toMatchObject({ state: 'enabled', because: null, since: null });
});

// catches(webhooks: what is new waits behind what failed about the same subject)
test('one event is refused ten times while others get through → given up, and later events continue; a replay sends it again', async () => {
  const { id, shop } = await webhooks.endpoint();
  const [, , , audit] = (await purchase()).split('_');
  await until(() => shop.received.length === 1);
  const refused = `evt_1_transaction_${audit}_2`;
  shop.behave = ({ id: event }) => (event === refused ? 422 : 204);
  await gateway.api.void(Number(audit));
  await until(() => idsOf(shop).includes(refused));
  await until(async () => (await webhooks.view(id)).waiting === 1);
  // Events of the same subject wait behind it, and it is not due itself.
  await gateway.sql(
    `UPDATE webhook_delivery SET next_at = now() + interval '1 hour' WHERE endpoint_id = $1`,
    [id],
  );
  await gateway.sql(
    `INSERT INTO event (created_at, organisation_id, merchant_id, subject, version, type)
     SELECT now(), 1, 1, $1, version, 'transaction.voided' FROM generate_series(3, 4) version`,
    [Number(audit)],
  );
  await until(async () => (await webhooks.view(id)).waiting === 3);
  await purchase();
  await withoutPauses(id, async () => (await attemptsFor(id, refused)) >= 9);
  const between = await purchase();
  await until(() => idsOf(shop).includes(between));
  await withoutPauses(id, async () => (await webhooks.view(id)).waiting === 0);
  expect(await attemptsFor(id, refused)).toBe(10);
  const ofSubject = () => idsOf(shop).filter((event) => event.startsWith(`evt_1_transaction_${audit}_`));
  expect(ofSubject().slice(-2)).toEqual([3, 4].map((version) => `evt_1_transaction_${audit}_${version}`));
  expect(linesWith('webhook given up', id)).toHaveLength(1);
  expect((await webhooks.view(id)).state).toBe('enabled');
  shop.behave = () => 204;
  shop.received.length = 0;
  await webhooks.replay(id, refused);
  await until(() => idsOf(shop).includes(`evt_1_transaction_${audit}_4`));
  expect(ofSubject()).toEqual([2, 3, 4].map((version) => `evt_1_transaction_${audit}_${version}`));
});

test('410 → disabled at once, and the event waits', async () => {
  const { id, shop } = await webhooks.endpoint();
  shop.behave = () => 410;
  const event = await purchase();
  await until(async () => (await webhooks.view(id)).state === 'disabled');
  expect(await webhooks.view(id)).toMatchObject({ because: 'gone', waiting: 1 });
  expect(linesWith('webhook endpoint disabled', id)).toHaveLength(1);
  shop.behave = () => 204;
  await webhooks.enable(id);
  await until(() => shop.received.length === 2);
  expect(idsOf(shop)).toEqual([event, event]);
});

test.each([
  ['in seconds', '600', 600],
  ['as a date', () => new Date(Date.now() + 600_000).toUTCString(), 600],
  ['that is longer than anybody waits', '999999999', 86_400],
])('Retry-After %s → that pause, and nothing else is sent meanwhile', async (_, wish, seconds) => {
  const { id, shop } = await webhooks.endpoint();
  const retryAfter = typeof wish === 'string' ? wish : wish();
  shop.behave = (_got, response) => {
    response.writeHead(429, { 'retry-after': retryAfter }).end();
    return undefined;
  };
  await purchase();
  await until(async () => (await webhooks.view(id)).waiting === 1);
  const state = async () => {
    const [row] = await gateway.sql<{ next: number; paused: number }>(
      `SELECT extract(epoch FROM d.next_at - now())::float8 AS next, extract(epoch FROM e.paused_until - now())::float8 AS paused
       FROM webhook_endpoint e JOIN webhook_delivery d ON d.endpoint_id = e.id WHERE e.id = $1`,
      [id],
    );
    return row;
  };
  await until(async () => (await state())?.paused);
  const { next, paused } = (await state()) ?? expect.fail();
  expect(Math.abs(next - seconds)).toBeLessThan(30);
  expect(Math.abs(paused - Math.min(seconds, 3_600))).toBeLessThan(30);
  const second = await purchase();
  await gateway.api.purchase({ merchant: 2 });
  shop.behave = () => 204;
  expect(idsOf(shop)).not.toContain(second);
  await webhooks.enable(id);
  await until(() => idsOf(shop).includes(second));
});

test('one slow receiver and one dead one → a third gets everything meanwhile', async () => {
  const [slow, dead, fast] = [
    await webhooks.endpoint(),
    await webhooks.endpoint(),
    await webhooks.endpoint(),
  ];
  const open: (() => void)[] = [];
  slow.shop.behave = (_, response) => {
    open.push(() => response.writeHead(204).end());
    return undefined;
  };
  await dead.shop.close();
  const events = await Promise.all(Array.from({ length: 40 }, purchase));
  await until(() => once(idsOf(fast.shop)).length === events.length);
  // None of the slow endpoint's requests has been answered.
  expect(slow.shop.received.length).toBeLessThanOrEqual(16);
  await until(async () => (await webhooks.view(dead.id)).waiting > 0);
  slow.shop.behave = () => 204;
  for (const answer of open) answer();
  await withoutPauses(slow.id, () => once(idsOf(slow.shop)).length === events.length);
});

test('disabled by the operator → nothing is sent; enabled → all events since then are', async () => {
  const { id, shop } = await webhooks.endpoint();
  const first = await purchase();
  await until(() => shop.received.length === 1);
  await webhooks.disable(id);
  const meanwhile = [await purchase(), await purchase()];
  await gateway.api.purchase({ merchant: 2 });
  expect(idsOf(shop)).toEqual([first]);
  await webhooks.enable(id);
  await until(() => shop.received.length === 3);
  expect(idsOf(shop).slice(1).sort()).toEqual(meanwhile.sort());
});

test('removed during deliveries → those end, and no more are sent', async () => {
  const shop = await startReceiver();
  onTestFinished(() => shop.close());
  const { id } = await webhooks.add(shop.url);
  shop.behave = () => undefined;
  await purchase();
  await until(() => shop.received.length === 1);
  await webhooks.remove(id);
  await until(() => shop.underWay() === 0);
  expect(await gateway.sql('SELECT 1 FROM webhook_delivery WHERE endpoint_id = $1', [id])).toEqual([]);
});
