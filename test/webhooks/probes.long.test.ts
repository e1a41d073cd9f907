// Failing endpoints are probed: one that works again is served soon, and its waiting events lose no attempt.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import type { WebhookReceiver } from '../../testkit/webhook-receiver.js';
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

const idsOf = (shop: WebhookReceiver) => shop.received.map(({ id }) => id);

async function purchase(): Promise<{ audit: number; event: string }> {
  const { audit } = (await gateway.api.purchase()).body;
  return { audit, event: `evt_1_transaction_${audit}_1` };
}

/** No process is serving it. */
const isLeft = async (id: number) =>
  (await gateway.sql('SELECT FROM webhook_endpoint WHERE id = $1 AND leased_until IS NULL', [id])).length > 0;

/** As after a quarter of an hour: waiting events have been tried four times, and have hours to wait. */
async function awayForLong(id: number, events: number): Promise<void> {
  await until(async () => (await webhooks.view(id)).waiting === events && (await isLeft(id)));
  await gateway.sql(
    `WITH waits AS (UPDATE webhook_delivery SET attempts = 4, next_at = now() + interval '5 hours'
       WHERE endpoint_id = $1 AND next_at IS NOT NULL)
     UPDATE webhook_endpoint SET wake_at = NULL WHERE id = $1`,
    [id],
  );
}

/** The minute until the next probe is over. */
async function minuteIsOver(id: number): Promise<void> {
  await until(() => isLeft(id));
  await gateway.sql(
    `UPDATE webhook_endpoint SET wake_at = now(), paused_until = NULL, probe_at = now() WHERE id = $1`,
    [id],
  );
}

const waitingOf = (id: number) =>
  gateway.sql<{ attempts: number; hours: number }>(
    `SELECT attempts, round(extract(epoch FROM next_at - now()) / 3600)::integer AS hours FROM webhook_delivery
     WHERE endpoint_id = $1 AND next_at IS NOT NULL`,
    [id],
  );

/** A failing endpoint: events of several payments, with two about one of them. */
async function awayEndpoint(payments: number) {
  const { id, shop } = await webhooks.endpoint();
  shop.behave = () => 500;
  const events: string[] = [];
  for (let count = 0; count < payments; count += 1) events.push((await purchase()).event);
  const { audit, event } = await purchase();
  const voided = (await gateway.api.void(audit)).body;
  // The void changes the payment, and has an event of its own.
  events.push(event, `evt_1_transaction_${audit}_2`, `evt_1_transaction_${voided.audit}_1`);
  await awayForLong(id, events.length);
  shop.received.length = 0;
  return { id, shop, events, audit };
}

// catches(webhooks: a probe counts as no attempt)
test('an endpoint is away → after a minute it gets one probe, which does not count as an attempt or change its next one', async () => {
  const { id, shop } = await awayEndpoint(1);
  await minuteIsOver(id);
  await until(async () => shop.received.length > 0 && (await isLeft(id)));
  expect(shop.received).toHaveLength(1);
  for (const { attempts, hours } of await waitingOf(id)) expect([attempts, hours]).toEqual([4, 5]);
  const [last] = (await webhooks.attempts(id)).slice(-1);
  expect(last).toMatchObject({ event: idsOf(shop)[0], attempt: 0, result: 'refused' });
  // The next one comes a minute later.
  const [next] = await gateway.sql<{ soon: boolean; woken: boolean }>(
    `SELECT probe_at <= now() + interval '1 minute' AS soon, wake_at = probe_at AS woken FROM webhook_endpoint WHERE id = $1`,
    [id],
  );
  expect(next).toEqual({ soon: true, woken: true });
});

test('an endpoint is back → after the next probe everything follows, in order for each subject', async () => {
  const { id, shop, events, audit } = await awayEndpoint(2);
  shop.behave = () => 204;
  await minuteIsOver(id);
  await until(() => new Set(idsOf(shop)).size === events.length);
  expect(idsOf(shop).sort()).toEqual([...events].sort());
  const ofSubject = idsOf(shop).filter((event) => event.startsWith(`evt_1_transaction_${audit}_`));
  expect(ofSubject).toEqual([1, 2].map((version) => `evt_1_transaction_${audit}_${version}`));
  await until(async () => (await webhooks.view(id)).waiting === 0);
  expect((await webhooks.view(id)).state).toBe('enabled');
});

test('an endpoint is back and accepts a new event → waiting events follow at once', async () => {
  const { shop, events } = await awayEndpoint(1);
  shop.behave = () => 204;
  const fresh = await purchase();
  await until(() => new Set(idsOf(shop)).size === events.length + 1);
  expect(idsOf(shop)[0]).toBe(fresh.event);
});

test('one event is refused while others get through → retried once, and not every minute', async () => {
  const { id, shop } = await webhooks.endpoint();
  shop.behave = () => 422;
  const { event } = await purchase();
  await awayForLong(id, 1);
  shop.behave = ({ id: sent }) => (sent === event ? 422 : 204);
  shop.received.length = 0;
  const { event: other } = await purchase();
  await until(async () => idsOf(shop).length === 2 && (await isLeft(id)));
  expect(idsOf(shop)).toEqual([other, event]);
  expect(await waitingOf(id)).toEqual([{ attempts: 4, hours: 5 }]);
  const [row] = await gateway.sql('SELECT probe_at FROM webhook_endpoint WHERE id = $1', [id]);
  expect(row).toEqual({ probe_at: null });
  expect((await webhooks.view(id)).state).toBe('enabled');
});

test('429 with Retry-After to a probe → no further probe for that long', async () => {
  const { id, shop } = await awayEndpoint(1);
  shop.behave = (_, response) => {
    response.writeHead(429, { 'retry-after': '600' }).end();
    return undefined;
  };
  await minuteIsOver(id);
  await until(async () => shop.received.length > 0 && (await isLeft(id)));
  const [row] = await gateway.sql(
    `SELECT paused_until > now() + interval '9 minutes' AS paused FROM webhook_endpoint WHERE id = $1`,
    [id],
  );
  expect(row).toEqual({ paused: true });
});

test('several processes → one probe', async () => {
  const other = await testGateway({ settings: WEBHOOK_SETTINGS, shareWith: gateway });
  const { id, shop } = await awayEndpoint(1);
  await minuteIsOver(id);
  await until(async () => shop.received.length > 0 && (await isLeft(id)));
  // Both have polled since: a new event of another endpoint has been delivered.
  const second = await webhooks.endpoint({ merchant: 2 });
  for (let count = 0; count < 3; count += 1) await gateway.api.purchase({ merchant: 2 });
  await until(() => second.shop.received.length === 3);
  expect(shop.received).toHaveLength(1);
  await other.close();
});
