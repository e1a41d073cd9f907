// Several processes, dying processes, wrong clocks: every event is delivered, one at a time for each subject.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import type { WebhookReceiver } from '../../testkit/webhook-receiver.js';
import { type TestWebhooks, until, WEBHOOK_SETTINGS, webhooksOf } from '../../testkit/webhooks.js';

/** An attempt that is cut off is made again: none is here, however slow the machine. */
const SETTINGS = { ...WEBHOOK_SETTINGS, WEBHOOK_TIMEOUT_MS: '30000' };

let first: TestGateway;
let second: TestGateway;
let webhooks: TestWebhooks;

beforeAll(async () => {
  first = await testGateway({ settings: SETTINGS });
  second = await testGateway({ settings: SETTINGS, shareWith: first });
  webhooks = webhooksOf(first);
});
afterAll(async () => {
  await webhooks.close();
  await second.close();
  await first.close();
});

const idsOf = (shop: WebhookReceiver) => shop.received.map(({ id }) => id);

test('two processes → each event once, and never two about one subject at a time', async () => {
  const { shop } = await webhooks.endpoint();
  const open = new Set<string>();
  let beside = 0;
  shop.behave = ({ id }, response) => {
    const subject = id.replace(/_\d+$/, '');
    if (open.has(subject)) beside += 1;
    open.add(subject);
    setTimeout(() => {
      open.delete(subject);
      response.writeHead(204).end();
    }, 5);
    return undefined;
  };
  await first.sql(
    `INSERT INTO event (created_at, organisation_id, merchant_id, subject, version, type, data)
     SELECT now(), 1, 1, 900000 + subject, version, 'customer.updated', '{"name":"A","reference":"B"}' FROM generate_series(1, 40) subject, generate_series(1, 5) version
     ORDER BY version, subject`,
  );
  await until(() => shop.received.length >= 200);
  expect(idsOf(shop)).toHaveLength(200);
  expect(new Set(idsOf(shop)).size).toBe(200);
  expect(beside).toBe(0);
  for (const subject of [900_001, 900_040]) {
    const versions = shop.received
      .filter(({ id }) => id.includes(`_${subject}_`))
      .map(({ body }) => body.version);
    expect(versions).toEqual([1, 2, 3, 4, 5]);
  }
});

// catches(webhooks: nobody takes an endpoint that another works for)
test('the holder of the lease is gone → another process continues when the lease expires, not before', async () => {
  const { id, shop } = await webhooks.endpoint();
  // As left by a process killed in mid-run. Further ahead it would count as written by a wrong clock.
  await first.sql(
    `UPDATE webhook_endpoint SET lease = lease + 1, leased_until = now() + interval '8 minutes', wake_at = now() + interval '8 minutes'
     WHERE id = $1`,
    [id],
  );
  const { audit } = (await first.api.purchase()).body;
  const other = await webhooks.endpoint();
  // Each poll finds the endpoint, and skips it.
  for (let times = 0; times < 4; times += 1) {
    const later = (await first.api.purchase()).body;
    await until(() => idsOf(other.shop).includes(`evt_1_transaction_${later.audit}_1`));
  }
  expect(shop.received).toEqual([]);
  await first.sql(`UPDATE webhook_endpoint SET leased_until = now(), wake_at = now() WHERE id = $1`, [id]);
  await until(() => shop.received.length === 5);
  expect(idsOf(shop)).toContain(`evt_1_transaction_${audit}_1`);
});

// catches(webhooks: only whoever has the lease records)
test('a lease that was taken over → its former holder records nothing, and the events are sent again', async () => {
  const { id, shop } = await webhooks.endpoint();
  const answers: (() => void)[] = [];
  shop.behave = (_, response) => {
    answers.push(() => response.writeHead(204).end());
    return undefined;
  };
  await first.api.purchase();
  await until(() => answers.length === 1);
  // As another process does it when the lease has ended.
  await first.sql(
    'UPDATE webhook_endpoint SET lease = lease + 1, leased_until = NULL, wake_at = now() WHERE id = $1',
    [id],
  );
  shop.behave = () => 204;
  for (const answer of answers) answer();
  await until(() => shop.received.length === 2);
  await until(async () => (await webhooks.attempts(id)).length === 1);
  expect(new Set(idsOf(shop)).size).toBe(1);
});

test('times written with a wrong clock → corrected, and delivered', async () => {
  const { id, shop } = await webhooks.endpoint();
  shop.behave = () => 500;
  await first.api.purchase();
  await until(async () => (await webhooks.view(id)).waiting === 1);
  await webhooks.disable(id);
  await first.sql(
    `UPDATE webhook_endpoint SET wake_at = now() + interval '40 days', paused_until = now() + interval '40 days',
       leased_until = now() + interval '40 days', disabled_at = NULL, disabled_because = NULL WHERE id = $1`,
    [id],
  );
  await first.sql(`UPDATE webhook_delivery SET next_at = now() + interval '40 days' WHERE endpoint_id = $1`, [
    id,
  ]);
  shop.behave = () => 204;
  // A process looks for such times when it starts, and now and then.
  const third = await testGateway({ settings: SETTINGS, shareWith: first });
  await until(async () => (await webhooks.view(id)).waiting === 0);
  await third.close();
});
